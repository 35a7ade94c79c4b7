//! The simulated DynamoDB against the local cloud's: the same requests, the same answers.

use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region, SharedCredentialsProvider};
use fanfold_admin::handler::obey;
use fanfold_admin::order::Order;
use fanfold_core::fanout::{RANGES, Share};
use fanfold_core::{PostId, Relation, UserId};
use fanfold_store::clock::Deadline;
use fanfold_store::dynamo::posts::RequestKey;
use fanfold_store::dynamo::receipts::Plan;
use fanfold_store::feeds::{Reached, Reading};
use fanfold_store::http::UserRef;
use fanfold_store::valkey::Feed;
use serde_json::Value;

use super::apps::{Apps, GRAPH, PEOPLE, POSTS, USERS, id, identity};
use super::oracle::Truth;
use super::server::Server;
use crate::harness::dice::{Dice, fresh};
use crate::harness::{setting, world};

/// What handlers ask for in a few hundred random operations, answered by both.
#[tokio::test]
async fn the_simulated_tables_answer_as_the_local_clouds_do() {
    let server = Server::start();
    let apps = Apps::new(&server);
    apps.steps.set_free(true);
    apps.cloud.lock().record = Some(Vec::new());
    some_operations(&apps).await;
    let record = apps.cloud.lock().record.take().expect("a record");
    let suffix = format!("-{:x}", fresh());
    let credentials = Credentials::new("test", "test", None, None, "test");
    let sdk = fanfold_store::aws::SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .endpoint_url(setting("AWS_ENDPOINT_URL"))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .build();
    let dynamo = aws_sdk_dynamodb::Client::new(&sdk);
    for (table, sorted) in [(USERS, false), (POSTS, true), (GRAPH, true)] {
        world::create_table(&dynamo, &format!("{table}{suffix}"), sorted).await;
    }
    let (mut kinds, http) = (std::collections::BTreeMap::new(), reqwest::Client::new());
    for (target, request, answer) in record {
        if !target.starts_with("DynamoDB") {
            continue;
        }
        let call = http
            .post(setting("AWS_ENDPOINT_URL"))
            .header("X-Amz-Target", &target)
            .header("Content-Type", "application/x-amz-json-1.0")
            .body(tables(&request, &suffix).to_string());
        let said = call.send().await.expect("the local cloud answers");
        let status = said.status().as_u16();
        let said: Value = said.json().await.expect("JSON");
        let (ours, theirs) = (plain(&answer.1), plain(&tables(&said, "")));
        assert_eq!((answer.0, ours), (status, theirs), "{target} {request:#}");
        *kinds.entry(target).or_insert(0) += 1;
    }
    println!("answered alike: {kinds:?}");
    assert_eq!(kinds.len(), 7, "{kinds:?}");
}

/// Names tables for the local cloud; without a suffix, back again.
fn tables(value: &Value, suffix: &str) -> Value {
    match value {
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .map(|(name, value)| {
                    let table = [USERS, POSTS, GRAPH].into_iter().find(|table| {
                        name.strip_prefix(table)
                            .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
                            && value.get("N").is_none()
                    });
                    let value = match (name.as_str(), value.as_str()) {
                        ("TableName", Some(table)) => Value::String(format!("{table}{suffix}")),
                        _ => tables(value, suffix),
                    };
                    (table.map_or_else(|| name.clone(), |table| format!("{table}{suffix}")), value)
                })
                .collect(),
        ),
        Value::Array(values) => {
            Value::Array(values.iter().map(|value| tables(value, suffix)).collect())
        }
        other => other.clone(),
    }
}

/// What handlers look at: a batch has no order, and an error's text is nobody's business.
fn plain(answer: &Value) -> Value {
    let mut plain = answer.clone();
    let Some(fields) = plain.as_object_mut() else { return plain };
    for name in ["message", "Message", "Count", "ScannedCount", "ConsumedCapacity"] {
        fields.remove(name);
    }
    if let Some(kind) = fields.get("__type").and_then(Value::as_str) {
        let kind = kind.rsplit('#').next().unwrap_or_default().to_owned();
        fields.insert("__type".to_owned(), Value::String(kind));
    }
    if let Some(reasons) = fields.get_mut("CancellationReasons").and_then(Value::as_array_mut) {
        for reason in reasons {
            let code = reason["Code"].clone();
            *reason = code;
        }
    }
    for name in ["Attributes", "Item"] {
        for set in fields.get_mut(name).and_then(Value::as_object_mut).into_iter().flatten() {
            if let Some(set) = set.1.get_mut("NS").and_then(Value::as_array_mut) {
                set.sort_by_key(Value::to_string);
            }
        }
    }
    for item in fields.get_mut("Items").and_then(Value::as_array_mut).into_iter().flatten() {
        for set in item.as_object_mut().into_iter().flatten() {
            if let Some(set) = set.1.get_mut("NS").and_then(Value::as_array_mut) {
                set.sort_by_key(Value::to_string);
            }
        }
    }
    if let Some(tables) = fields.get_mut("Responses").and_then(Value::as_object_mut) {
        for items in tables.values_mut().filter_map(Value::as_array_mut) {
            items.sort_by_key(Value::to_string);
        }
    }
    plain
}

async fn receipts_and_pulled(apps: &Apps, dice: &mut Dice, author: UserId, now: u64) {
    let post = PostId::new(now - dice.below(40), 0, author);
    let reached = Reached { delivered: dice.below(9), ..Reached::default() };
    let (receipts, pulled) = (&apps.deliver.receipts, &apps.deliver.pulled);
    match dice.below(3) {
        0 => {
            receipts.done_at_once(post, 3, reached, now).await.expect("noted");
            receipts.pulled(post, 3, now).await.expect("noted");
        }
        1 => {
            let mark = dice.one_in(2).then_some(post);
            for shards in [2, 4] {
                let plan = Plan { shards, followers: 3, mark };
                match receipts.plan(post, plan, now).await.expect("an answer") {
                    Some(kept) => assert_eq!(kept.shards, 2),
                    None => return,
                }
            }
            // some twice, some in part
            for (shard, from, to) in
                [(0, 0, 9), (0, 0, 9), (0, 4, 20), (1, 0, RANGES), (0, 20, RANGES), (1, 3, 4)]
            {
                let share = Share { shard, from, to };
                receipts.done(post, share, reached, now).await.expect("noted");
            }
            assert!(receipts.receipt(post).await.expect("read").completed_at_ms.is_some());
        }
        _ => {
            let all = pulled.all().await.expect("read");
            pulled.mark(author, post, &all).await.expect("marked");
            pulled.promote(author, post).await.expect("promoted");
            if dice.one_in(2) {
                pulled.release(author).await.expect("released");
            }
        }
    }
}

async fn some_operations(apps: &Apps) {
    let (mut dice, now) = (Dice(3), 1_800_000_000_000);
    for name in PEOPLE {
        for again in [name, name] {
            let put = apps.users.users.put_profile(&identity(name), again, name).await;
            put.expect("a profile");
        }
    }
    let taken = apps.users.users.put_profile(&identity("elm"), "ash", "Elm").await;
    taken.expect("an answer");
    for n in 0..400u64 {
        // everybody comes and goes
        if n % 90 == 80 {
            let order = Order::DropUser { user: id(PEOPLE[(n / 90) as usize % 4]).to_string() };
            let mut dropping = apps.admin.clone();
            dropping.drop_settles_ms = 0;
            obey(&dropping, order, now + n, Deadline::NONE).await.expect("dropped");
        }
        let (who, whom) = (*dice.pick(&PEOPLE), *dice.pick(&PEOPLE));
        let (me, now) = (identity(who), now + n);
        match dice.below(10) {
            0 | 1 => {
                let key = dice.below(6).to_string();
                let key = dice.one_in(2).then(|| RequestKey::new(id(who), &key, "text"));
                // an answer that is no success is an answer, too
                let _post =
                    fanfold_posts::handler::publish(&apps.posts, &me, "text", key, now).await;
            }
            2 => {
                let posts: Vec<PostId> = Truth::of(&apps.cloud.lock()).posts.into_keys().collect();
                if !posts.is_empty() {
                    let post = *dice.pick(&posts);
                    let _deleted =
                        fanfold_posts::handler::delete(&apps.posts, &me, post, now).await;
                }
            }
            3 | 4 => {
                let relation = *dice.pick(&[Relation::Following, Relation::NotFollowing]);
                let user = UserRef::Id(id(whom));
                let relate = fanfold_users::handler::relate;
                let _related = relate(&apps.users, &me, &user, relation, now).await;
            }
            5 => {
                let reading = Reading::without_valkey(now);
                let (feed, count) = (Feed::home(id(who)), 1 + dice.below(9) as usize);
                apps.timeline.feeds.pull(feed, PostId::MAX, count, &reading).await.expect("a pull");
            }
            6 => {
                let users: Vec<_> = PEOPLE.into_iter().map(id).collect();
                apps.deliver.graph.still_following(id(whom), users.clone()).await.expect("some");
                apps.users.users.profiles(&users).await.expect("profiles");
            }
            7 => receipts_and_pulled(apps, &mut dice, id(who), now).await,
            _ => {
                let (mut after, count) = (None, 1 + dice.below(3) as i32);
                loop {
                    let page = apps.dispatch.graph.followers_page(id(whom), 0, after, count);
                    after = page.await.expect("followers").next;
                    if after.is_none() {
                        break;
                    }
                }
            }
        }
    }
}
