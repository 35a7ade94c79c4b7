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
