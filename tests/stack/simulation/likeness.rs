//! The simulated DynamoDB against the local cloud's: the same requests must get the same answers.

use std::time::Duration;

use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region, SharedCredentialsProvider};
use fanfold_core::fanout::{DeliveryCounts, RANGES, Share};
use fanfold_core::id::Identity;
use fanfold_core::{FeedId, Handle, Partition, PostId, Relation, Time, TimerName, UserId, UserRef};
use fanfold_engines::due::ItemDue;
use fanfold_engines::feed::PostSource as _;
use fanfold_engines::reading::ReadContext;
use fanfold_functions::admin::execute;
use fanfold_functions::admin::order::AdminOrder;
use fanfold_kinds::due::{self, look_ahead};
use fanfold_kinds::fanout::receipts::Plan;
use fanfold_kinds::scheduled::{self, NewScheduled, ScheduledEdit};
use fanfold_kinds::timers::{self, NewTimer};
use fanfold_runtime::clock::Deadline;
use fanfold_runtime::sqs::Announced;
use serde_json::Value;

use super::apps::{Apps, BOARDS, DUE, GRAPH, MARKS, PEOPLE, POSTS, START, USERS, id, identity};
use super::oracle::Truth;
use super::server::Server;
use crate::harness::dice::{Dice, fresh};
use crate::harness::{setting, world};

/// Sends the requests of a few hundred random operations to both, and compares the answers.
#[tokio::test]
async fn the_simulated_tables_answer_as_those_of_the_local_cloud() {
    let server = Server::start();
    let apps = Apps::new(&server);
    apps.steps.set_free(true);
    apps.cloud.lock().record = Some(Vec::new());
    random_operations(&apps).await;
    let record = apps.cloud.lock().record.take().expect("a record");
    let suffix = format!("-{:x}", fresh());
    let credentials = Credentials::new("test", "test", None, None, "test");
    let sdk = fanfold_runtime::aws::SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .endpoint_url(setting("AWS_ENDPOINT_URL"))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .build();
    let dynamo = aws_sdk_dynamodb::Client::new(&sdk);
    for (table, sorted) in
        [(USERS, false), (POSTS, true), (GRAPH, true), (DUE, true), (MARKS, true), (BOARDS, true)]
    {
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
            .body(rename_tables(&request, &suffix).to_string());
        let response = call.send().await.expect("the local cloud answers");
        let status = response.status().as_u16();
        let body: Value = response.json().await.expect("JSON");
        let (ours, theirs) = (comparable(&answer.1), comparable(&rename_tables(&body, "")));
        assert_eq!((answer.0, ours), (status, theirs), "{target} {request:#}");
        *kinds.entry(target).or_insert(0) += 1;
    }
    println!("equal answers: {kinds:?}");
    assert_eq!(kinds.len(), 7, "{kinds:?}");
}

/// Adds a suffix to the names of tables, for the local cloud. An empty suffix removes it again.
fn rename_tables(value: &Value, suffix: &str) -> Value {
    match value {
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .map(|(name, value)| {
                    let table =
                        [USERS, POSTS, GRAPH, DUE, MARKS, BOARDS].into_iter().find(|table| {
                            name.strip_prefix(table)
                                .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
                                && value.get("N").is_none()
                        });
                    let value = match (name.as_str(), value.as_str()) {
                        ("TableName", Some(table)) => Value::String(format!("{table}{suffix}")),
                        _ => rename_tables(value, suffix),
                    };
                    (table.map_or_else(|| name.clone(), |table| format!("{table}{suffix}")), value)
                })
                .collect(),
        ),
        Value::Array(values) => {
            Value::Array(values.iter().map(|value| rename_tables(value, suffix)).collect())
        }
        other => other.clone(),
    }
}

/// The part of an answer that handlers read: batches and sets have no order, and errors no texts.
fn comparable(answer: &Value) -> Value {
    let mut comparable = answer.clone();
    let Some(fields) = comparable.as_object_mut() else { return comparable };
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
        fields.get_mut(name).into_iter().for_each(sort_sets);
    }
    for item in fields.get_mut("Items").and_then(Value::as_array_mut).into_iter().flatten() {
        sort_sets(item);
    }
    if let Some(tables) = fields.get_mut("Responses").and_then(Value::as_object_mut) {
        for items in tables.values_mut().filter_map(Value::as_array_mut) {
            items.iter_mut().for_each(sort_sets);
            items.sort_by_key(Value::to_string);
        }
    }
    comparable
}

fn sort_sets(item: &mut Value) {
    for (_, value) in item.as_object_mut().into_iter().flatten() {
        for kind in ["NS", "BS"] {
            if let Some(set) = value.get_mut(kind).and_then(Value::as_array_mut) {
                set.sort_by_key(Value::to_string);
            }
        }
    }
}

async fn receipts_and_pulled(apps: &Apps, dice: &mut Dice, author: UserId, now: Time) {
    let post = PostId::new(now - Duration::from_millis(dice.below(40)), 0, author);
    let counts = DeliveryCounts { delivered: dice.below(9), ..DeliveryCounts::default() };
    let (receipts, pulled) = (&apps.app.receipts, &apps.app.pulled);
    match dice.below(3) {
        0 => {
            receipts.done_at_once(post, 3, counts, now).await.expect("written");
            receipts.pulled(post, 3, now).await.expect("written");
        }
        1 => {
            let mark = dice.one_in(2).then_some(post);
            for partitions in [2, 4] {
                let plan = Plan { partitions, followers: 3, mark };
                match receipts.plan(post, plan, now).await.expect("an answer") {
                    Some(kept) => assert_eq!(kept.partitions, 2),
                    None => return,
                }
            }
            // some shares twice, some in parts
            for (partition, from, to) in
                [(0, 0, 9), (0, 0, 9), (0, 4, 20), (1, 0, RANGES), (0, 20, RANGES), (1, 3, 4)]
            {
                let share = Share { partition: Partition(partition), from, to };
                receipts.done(post, share, counts, now).await.expect("written");
            }
            assert!(receipts.receipt(post).await.expect("read").completed_at.is_some());
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

async fn due_items(apps: &Apps, dice: &mut Dice, me: &Identity, now: Time) {
    let minute = Duration::from_secs(60);
    let names = ["a", "b", "c"].map(|name| name.parse::<TimerName>().expect("a name"));
    let name = dice.pick(&names).clone();
    let waiting = apps.app.scheduled.soonest(me.user(), None, 1 + dice.below(3) as usize).await;
    let waiting = waiting.expect("a list").items;
    match dice.below(6) {
        0 | 1 => {
            let publish_at = now + (1 + dice.below(90) as u32) * minute;
            let key = dice.below(6).to_string();
            let key = dice.one_in(2).then_some(key.as_str());
            let new = NewScheduled { post: "later".into(), publish_at, key };
            // errors are compared, too
            let _made = scheduled::schedule(&apps.app, me, new, now).await;
        }
        2 => {
            for item in waiting {
                let publish_at = dice.one_in(2).then(|| now + 5 * minute);
                let change =
                    ScheduledEdit { text: Some("changed"), publish_at, ..ScheduledEdit::default() };
                let _changed = scheduled::change(&apps.app, me, item.id, change, now).await;
                if dice.one_in(2) {
                    let _ended = scheduled::cancel(&apps.app, me, item.id, now).await;
                }
            }
        }
        3 => {
            for item in waiting {
                let (message, at) = (ItemDue::new(item.entry()), item.publish_at);
                let _published = due::handle(&apps.app, &message, at).await;
            }
        }
        4 => {
            let every = dice.one_in(2).then(|| "PT5M".parse().expect("a duration"));
            let due_at = now + (dice.below(9) as u32) * minute;
            let new = NewTimer { due_at, every, payload: Value::Bool(true) };
            let _put = timers::put(&apps.app, me, &name, new, now).await;
            if dice.one_in(3) {
                let _deleted = timers::delete(&apps.app, me, &name, now).await;
            }
        }
        _ => {
            let found = apps.app.timers.timers(me.user(), None, 2).await.expect("a list").items;
            for timer in found {
                let (message, at) = (ItemDue::new(timer.entry()), timer.due_at);
                let _fired = due::handle(&apps.app, &message, at).await;
            }
            look_ahead(&apps.app, now, Deadline::NONE).await.expect("looked ahead");
        }
    }
}

fn handle(text: &str) -> Handle {
    text.parse().expect("a handle")
}

async fn random_operations(apps: &Apps) {
    let (mut dice, now) = (Dice(3), START);
    for name in PEOPLE {
        for repeated in [name, name] {
            let put = apps
                .app
                .users
                .put_profile(Announced::assumed(), &identity(name), &handle(repeated), name)
                .await;
            put.expect("a profile");
        }
    }
    let taken = apps
        .app
        .users
        .put_profile(Announced::assumed(), &identity("elm"), &handle("ash"), "Elm")
        .await;
    taken.expect("an answer");
    for n in 0..400u64 {
        // each user is erased once
        if n % 90 == 80 {
            let order =
                AdminOrder::DropUser { user: id(PEOPLE[(n / 90) as usize % 4]).to_string() };
            let mut admin = apps.admin.clone();
            admin.app.settings.drop_settles = Duration::ZERO;
            execute(&admin, order, now + Duration::from_millis(n), Deadline::NONE)
                .await
                .expect("dropped");
        }
        let (caller, other) = (*dice.pick(&PEOPLE), *dice.pick(&PEOPLE));
        let (me, now) = (identity(caller), now + Duration::from_millis(n));
        match dice.below(13) {
            10.. => due_items(apps, &mut dice, &me, now).await,
            0 | 1 => {
                let key = dice.below(6).to_string();
                let key = dice.one_in(2).then_some(key.as_str());
                // errors are compared, too
                let _post = fanfold_kinds::posts::publish(&apps.app, &me, "text", key, now).await;
            }
            2 => {
                let posts: Vec<PostId> = Truth::of(&apps.cloud.lock()).posts.into_keys().collect();
                if !posts.is_empty() {
                    let post = *dice.pick(&posts);
                    let _deleted = fanfold_kinds::posts::delete(&apps.app, &me, post, now).await;
                }
            }
            3 | 4 => {
                let relation = *dice.pick(&[Relation::Following, Relation::NotFollowing]);
                let user = UserRef::Id(id(other));
                let relate = fanfold_kinds::follows::relate;
                let _related = relate(&apps.app, &me, &user, relation, now).await;
            }
            5 => {
                let reading = ReadContext::without_valkey(now);
                let (feed, count) = (FeedId::home(id(caller)), 1 + dice.below(9) as usize);
                apps.app.pull(feed, PostId::MAX, count, &reading).await.expect("a pull");
            }
            6 => {
                let users: Vec<_> = PEOPLE.into_iter().map(id).collect();
                apps.app.graph.still_following(id(other), users.clone()).await.expect("some");
                apps.app.users.profiles(&users).await.expect("profiles");
            }
            7 => receipts_and_pulled(apps, &mut dice, id(caller), now).await,
            8 => {
                let counted = apps.app.graph.count_followers(&apps.app.users, id(other));
                counted.await.expect("counted");
            }
            _ => {
                let (mut after, count) = (None, 1 + dice.below(3) as i32);
                loop {
                    let page = apps.app.graph.followers_page(id(other), Partition(0), after, count);
                    after = page.await.expect("followers").next;
                    if after.is_none() {
                        break;
                    }
                }
            }
        }
    }
}
