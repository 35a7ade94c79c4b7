//! Paths through the deployed functions that no other test takes. The comparison of the rights of functions with
//! their calls needs every path.

use std::collections::BTreeSet;
use std::time::Duration;

use fanfold_core::kinds::ItemKind;
use fanfold_core::limits::{BUCKETS_DEFAULT, INACTIVE_AFTER_DEFAULT};
use fanfold_core::registry::{FUNCTIONS, FunctionSpec, QUEUES, QueueSpec, Trigger};
use fanfold_core::{FeedId, UserId};
use fanfold_engines::valkey::Keys;
use fanfold_kinds::people::items::HeadBounds;
use fanfold_runtime::clock;
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::any::AnyMessage;
use crate::harness::client::Client;
use crate::harness::{aws, eventually, output, root, setting};

/// Gives the admin function an order. Returns its answer.
async fn order(order: Value) -> Value {
    invoke(&output("AdminFunction"), order).await
}

/// Invokes a function. Returns its answer.
async fn invoke(function: &str, order: Value) -> Value {
    let url = setting("AWS_ENDPOINT_URL");
    let url = format!("{url}/2015-03-31/functions/{function}/invocations");
    let answer = reqwest::Client::new().post(url).body(order.to_string()).send().await;
    let answer: Value = answer.expect("an answer").json().await.expect("JSON");
    assert!(answer.get("errorMessage").is_none(), "{order}: {answer}");
    answer
}

/// A message of a queue that its function handles at once, from the function's event in `tests/events`.
fn letter(queue: &'static QueueSpec) -> String {
    let takes = |function: &&FunctionSpec| match function.trigger {
        Trigger::Queues(queues) => queues.contains(&queue),
        _ => false,
    };
    let function = FUNCTIONS.iter().find(takes).expect("a function takes from every queue");
    let events = root().join("tests/events");
    let event = std::fs::read_to_string(events.join(format!("{}.json", function.name)));
    let event: Value = serde_json::from_str(&event.expect("an event")).expect("JSON");
    let mut bodies = event["Records"]
        .as_array()
        .expect("records")
        .iter()
        .map(|record| record["body"].as_str().expect("a body").to_owned());
    let letter = bodies.find(|body| AnyMessage::decode(queue, body).is_ok());
    letter.unwrap_or_else(|| {
        panic!("the event of {} has no message of {}", function.name, queue.name)
    })
}

#[tokio::test]
async fn the_deployed_admin_function_executes_every_order() {
    for spec in QUEUES {
        let (queue, dead) = (spec.name, output(&format!("{}DeadUrl", spec.resource)));
        let sent = json!({"QueueUrl": dead, "MessageBody": letter(spec)});
        aws("AmazonSQS.SendMessage", "1.0", &sent).await;
        let redriven = order(json!({"do": "redrive", "queue": queue})).await;
        assert!(redriven["moved"].as_u64().is_some_and(|moved| moved > 0), "{queue}: {redriven}");
    }
    let diagnosis = order(json!({"do": "doctor"})).await;
    let checks = diagnosis["checks"].as_array().expect("checks").iter();
    let (holds, rest): (Vec<_>, Vec<_>) = checks.partition(|check| check["state"] == "holds");
    let rest: Vec<_> = rest.iter().map(|check| (&check["state"], &check["found"])).collect();
    let iam = json!("IAM is not used here (REDIS_IAM_CACHE is empty)");
    assert_eq!((holds.len(), rest), (11, vec![(&json!("unknown"), &iam)]), "{diagnosis}");
    check_user_of_the_functions().await;
    let begun = order(json!({"do": "begin-memory"})).await;
    assert_eq!(begun, json!({"begun": 256, "failed": 0}));
    let (user, other) = (Client::new().await, Client::new().await);
    assert_eq!(user.put(&format!("/v1/users/{}/follow", other.id)).await.status, 204);
    assert_eq!(other.put(&format!("/v1/users/{}/follow", user.id)).await.status, 204);
    let post = user.publish("to be dropped").await;
    let others = other.publish("to stay").await;
    for (fan, liked) in [(&user, &others), (&other, &post), (&other, &others)] {
        for mark in ["like", "bookmark"] {
            assert_eq!(fan.put(&format!("/v1/posts/{liked}/{mark}")).await.status, 204);
        }
    }
    let (path, edit) =
        (format!("/v1/posts/{post}"), json!({"text": "edited, to be dropped #owls"}));
    assert_eq!(user.send(Method::PATCH, &path, &[], Some(edit)).await.status, 200);
    assert_eq!(user.put("/v1/tags/owls/follow").await.status, 204);
    let about = json!({"handle": user.handle, "name": "Name", "about": {"bio": "to be dropped"}});
    assert_eq!(user.send(Method::PUT, "/v1/me", &[], Some(about)).await.status, 200);
    let in_an_hour = (clock::now() + Duration::from_secs(3_600)).rfc3339();
    let scheduled = json!({"text": "never to be published", "publish_at": in_an_hour});
    assert_eq!(user.send(Method::POST, "/v1/posts", &[], Some(scheduled)).await.status, 202);
    let timer = json!({"due_at": in_an_hour, "payload": {}});
    assert_eq!(user.send(Method::PUT, "/v1/timers/renew", &[], Some(timer)).await.status, 201);
    let board = "/v1/leaderboards/b";
    assert_eq!(user.send(Method::PUT, board, &[], Some(json!({}))).await.status, 201);
    let score = Some(json!({"scores": ["1"]}));
    let path = format!("{board}/members/x");
    assert_eq!(user.send(Method::PUT, &path, &[], score).await.status, 200);
    let rebuilt = order(json!({"do": "rebuild-feed", "of": format!("@{}", user.handle)})).await;
    assert_eq!(rebuilt["home"]["entries"], json!(2), "{rebuilt}");
    let rebuilt = order(json!({"do": "rebuild-feed", "of": "#owls"})).await;
    assert_eq!(rebuilt["feed"]["floor_ms"], json!(0), "{rebuilt}");
    let (mut exported, mut after) = (BTreeSet::new(), Value::Null);
    loop {
        let page = order(json!({"do": "export", "user": user.id, "after": after})).await;
        let lines = page["lines"].as_array().expect("lines").iter();
        exported.extend(lines.map(|line| line["type"].as_str().expect("a type").to_owned()));
        after = page["next"].clone();
        if after.is_null() {
            break;
        }
    }
    let wanted = ItemKind::ALL.iter().filter_map(|kind| kind.export().line_type());
    assert_eq!(exported, wanted.map(str::to_owned).collect());
    let drop = json!({"do": "drop-user", "user": user.id});
    for orders in 0.. {
        let dropped = order(drop.clone()).await;
        if dropped["done"] == json!(true) {
            break;
        }
        assert!(orders < 20, "{dropped}");
        let wait_ms = dropped["wait_ms"].as_u64().expect("a time");
        tokio::time::sleep(Duration::from_millis(wait_ms)).await;
    }
    for path in ["/v1/scheduled", "/v1/timers"] {
        assert!(user.walk(path, 10).await.is_empty(), "{path}");
    }
    let board = format!("{board}?owner={}", user.id);
    assert_eq!(other.get(&board).await.problem(), (404, "/problems/no-such-board"));
    assert_eq!(other.get(&format!("/v1/users/{}", user.id)).await.status, 404);
    assert_eq!(other.get(&format!("/v1/posts/{post}")).await.status, 404);
    // the likes that the user gave are gone, and messages remove those of the user's posts
    let liked = format!("/v1/posts/{others}");
    assert_eq!(other.walk(&format!("{liked}/likes"), 10).await, [other.id.as_str()]);
    assert_eq!(other.walk("/v1/likes", 10).await, [others]);
    eventually("the number of likes", async || {
        (other.get(&liked).await.body["like_count"] == 1).then_some(())
    })
    .await;
    let me = other.get(&format!("/v1/users/{}", other.id)).await;
    assert_eq!((&me.body["followers"], &me.body["following"]), (&json!(0), &json!(0)));
}

/// The functions log in to Valkey as their own user, and its rights (the access string of infra/cache.yaml) allow
/// all their commands.
async fn check_user_of_the_functions() {
    let client = redis::Client::open(setting("REDIS_URL")).expect("a client");
    let mut valkey = client.get_multiplexed_async_connection().await.expect("Valkey");
    let mut list = redis::cmd("CLIENT");
    let clients: String = list.arg("LIST").query_async(&mut valkey).await.expect("clients");
    assert!(clients.lines().any(|line| line.contains("user=functions")), "{clients}");
    let mut log = redis::cmd("ACL");
    let refused: Vec<redis::Value> = log.arg("LOG").query_async(&mut valkey).await.expect("a log");
    let of_functions = |refused: &&redis::Value| format!("{refused:?}").contains("functions");
    let refused: Vec<_> = refused.iter().filter(of_functions).collect();
    assert!(refused.is_empty(), "Valkey refused commands of the functions: {refused:?}");
}

/// The reader has more authors than a request may rebuild, most of whom never had a profile. The first page is pulled, and a
/// message rebuilds the feed.
#[tokio::test]
async fn the_deployed_rebuild_builds_the_feed_of_a_reader_of_many_authors() {
    let (reader, mut posts) = (Client::new().await, Vec::new());
    for _ in 0..4 {
        let author = Client::new().await;
        assert_eq!(reader.put(&format!("/v1/users/{}/follow", author.id)).await.status, 204);
        posts.insert(0, author.publish("one of many").await);
    }
    let rows: Vec<Value> = (0..1_000u64)
        .map(|author| {
            let row = json!({
                "pk": {"S": ItemKind::Following.pk(&reader.id).to_string()},
                "sk": {"S": UserId(author).to_string()}, "v": {"N": "1"},
                "relation": {"S": "following"}, "partition": {"N": "0"},
                "changed_at_ms": {"N": clock::now().to_string()},
            });
            json!({"PutRequest": {"Item": row}})
        })
        .collect();
    for rows in rows.chunks(25) {
        let written = json!({"RequestItems": {output("GraphTable"): rows}});
        aws("DynamoDB_20120810.BatchWriteItem", "1.0", &written).await;
    }
    let first = reader.get("/v1/timeline").await;
    assert_eq!((first.text("/source").as_str(), first.ids()), ("pull", posts.clone()));
    eventually("the feed", async || {
        let page = reader.get("/v1/timeline").await;
        assert_eq!(page.ids(), posts);
        (page.body["source"] == "cache").then_some(())
    })
    .await;
}

/// The sweep keeps a feed that nobody has read for long, and its reader returns.
#[tokio::test]
async fn the_deployed_sweep_keeps_a_feed() {
    let (reader, mut posts) = (Client::new().await, Vec::new());
    for _ in 0..HeadBounds::USUAL.max + 2 {
        posts.insert(0, reader.publish("one of many").await);
    }
    let timeline = async || {
        let page = reader.get("/v1/timeline?limit=60").await;
        assert_eq!(page.ids(), posts);
        page.text("/source")
    };
    eventually("the feed", async || (timeline().await == "cache").then_some(())).await;
    let user: UserId = reader.id.parse().expect("an id");
    let (keys, feed) = (Keys::new(BUCKETS_DEFAULT), FeedId::home(user));
    let client = redis::Client::open(setting("REDIS_URL")).expect("a client");
    let mut valkey = client.get_multiplexed_async_connection().await.expect("Valkey");
    let long_ago = clock::now() - 2 * INACTIVE_AFTER_DEFAULT;
    let mut unread = redis::cmd("ZADD");
    let live = keys.live(keys.bucket(user));
    unread.arg(live).arg("XX").arg("CH").arg(long_ago.ms()).arg(keys.feed(feed));
    assert_eq!(unread.query_async::<u64>(&mut valkey).await.expect("Valkey"), 1);
    let sweep = output("AdminFunction").replace("-admin", "-sweep");
    let swept = invoke(&sweep, json!({})).await;
    assert!(swept["dropped"].is_u64(), "{swept}");
    let key = json!({"pk": {"S": ItemKind::KeptFeed.pk(user).to_string()}, "sk": {"S": "copy"}});
    let get = json!({"TableName": output("GraphTable"), "Key": key});
    let copy = aws("DynamoDB_20120810.GetItem", "1.0", &get).await;
    assert!(copy["Item"]["posts"]["B"].is_string(), "{copy}");
    assert_eq!(timeline().await, "rebuild");
}
