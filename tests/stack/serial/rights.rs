//! Ways through the deployed functions that no other test of the stack takes: so that the comparison of
//! what functions may do with what they did finds all of it.

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::client::Client;
use crate::harness::{aws, eventually, output, setting};

/// What the admin function answers.
async fn order(order: Value) -> Value {
    let function = output("AdminFunction");
    let url = setting("AWS_ENDPOINT_URL");
    let url = format!("{url}/2015-03-31/functions/{function}/invocations");
    let answer = reqwest::Client::new().post(url).body(order.to_string()).send().await;
    let answer: Value = answer.expect("an answer").json().await.expect("JSON");
    assert!(answer.get("errorMessage").is_none(), "{order}: {answer}");
    answer
}

/// Letters that every function is done with at once.
const LETTERS: [(&str, &str, &str); 6] = [
    (
        "post-events",
        "PostEvents",
        r#"{"type":"PostPublished","v":1,"post":"01ARZ3NDEKTSV4RRFFQ69G5FAV"}"#,
    ),
    (
        "bulk-events",
        "BulkEvents",
        r#"{"type":"PostPublished","v":1,"post":"01ARZ3NDEKTSV4RRFFQ69G5FAV"}"#,
    ),
    (
        "chunks",
        "Chunks",
        r#"{"type":"DeliverChunk","v":1,"post":"01ARZ3NDEKTSV4RRFFQ69G5FAV","cut_at_ms":5,"followers":""}"#,
    ),
    (
        "bulk-chunks",
        "BulkChunks",
        r#"{"type":"DeliverChunk","v":1,"post":"01ARZ3NDEKTSV4RRFFQ69G5FAV","cut_at_ms":5,"followers":""}"#,
    ),
    (
        "graph-events",
        "GraphEvents",
        r#"{"type":"RelationChanged","v":1,"follower":"0000000000000001","author":"0000000000000002","changed_at_ms":9}"#,
    ),
    (
        "rebuilds",
        "Rebuilds",
        r#"{"type":"RebuildFeed","v":1,"user":"0000000000000001","lease":"a lease"}"#,
    ),
];

#[tokio::test]
async fn the_deployed_admin_function_does_what_operators_order() {
    for (queue, name, letter) in LETTERS {
        let dead = output(&format!("{name}DeadQueueUrl"));
        let sent = json!({"QueueUrl": dead, "MessageBody": letter});
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
    the_functions_have_a_user_of_their_own().await;
    let begun = order(json!({"do": "begin-memory"})).await;
    assert_eq!(begun, json!({"begun": 256, "failed": 0}));
    let (user, other) = (Client::new().await, Client::new().await);
    assert_eq!(user.put(&format!("/v1/users/{}/follow", other.id)).await.status, 204);
    assert_eq!(other.put(&format!("/v1/users/{}/follow", user.id)).await.status, 204);
    let post = user.publish("to be dropped").await;
    let rebuilt = order(json!({"do": "rebuild-feed", "user": format!("@{}", user.handle)})).await;
    assert_eq!(rebuilt["home"]["entries"], json!(1), "{rebuilt}");
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
    assert_eq!(other.get(&format!("/v1/users/{}", user.id)).await.status, 404);
    assert_eq!(other.get(&format!("/v1/posts/{post}")).await.status, 404);
    let me = other.get(&format!("/v1/users/{}", other.id)).await;
    assert_eq!((&me.body["followers"], &me.body["following"]), (&json!(0), &json!(0)));
}

/// What they may do in Valkey is what the access string of infra/cache.yaml gives them.
async fn the_functions_have_a_user_of_their_own() {
    let client = redis::Client::open(setting("REDIS_URL")).expect("a client");
    let mut valkey = client.get_multiplexed_async_connection().await.expect("Valkey");
    let mut list = redis::cmd("CLIENT");
    let clients: String = list.arg("LIST").query_async(&mut valkey).await.expect("clients");
    assert!(clients.lines().any(|line| line.contains("user=functions")), "{clients}");
    let mut log = redis::cmd("ACL");
    let refused: Vec<redis::Value> = log.arg("LOG").query_async(&mut valkey).await.expect("a log");
    let of_functions = |refused: &&redis::Value| format!("{refused:?}").contains("functions");
    let refused: Vec<_> = refused.iter().filter(of_functions).collect();
    assert!(refused.is_empty(), "the functions do what their user may not: {refused:?}");
}

/// More authors than a request rebuilds: the first page is pulled, and the feed comes by way of the queue.
#[tokio::test]
async fn a_reader_of_many_authors_gets_a_feed_by_the_deployed_rebuild() {
    let (reader, mut posts) = (Client::new().await, Vec::new());
    for n in 0..66 {
        let author = Client::new().await;
        assert_eq!(reader.put(&format!("/v1/users/{}/follow", author.id)).await.status, 204);
        if n % 20 == 0 {
            posts.insert(0, author.publish("one of many").await);
        }
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
