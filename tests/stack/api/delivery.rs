//! Delivery receipts, over HTTP and through the deployed queues.

use fanfold_core::{PostId, UserId};
use serde_json::json;

use crate::harness::client::{Answer, Client};
use crate::harness::{aws, eventually, output};

/// An author with followers, of whom all but the last have read.
async fn audience(count: usize) -> (Client, Vec<Client>) {
    let (author, mut readers) = (Client::new().await, Vec::new());
    for _ in 0..count {
        let reader = Client::new().await;
        let follow = format!("/v1/users/{}/follow", author.id);
        assert_eq!(reader.put(&follow).await.status, 204);
        readers.push(reader);
    }
    for reader in readers.iter().take(count.saturating_sub(1)) {
        reader.get("/v1/timeline").await;
    }
    (author, readers)
}

async fn complete(author: &Client, post: &str) -> Answer {
    let path = format!("/v1/posts/{post}/delivery");
    eventually("the receipt", async || {
        let receipt = author.get(&path).await;
        assert_eq!(receipt.status, 200, "{receipt:?}");
        (receipt.body["state"] == "complete").then_some(receipt)
    })
    .await
}

/// At once, in chunks, and by way of the queues for large audiences: the deployed stack takes 2 for
/// few and 6 for many.
#[tokio::test]
async fn a_receipt_counts_every_follower_once() {
    for count in [0usize, 2, 5, 9] {
        let (author, readers) = audience(count).await;
        let post = author.publish("text").await;
        let receipt = complete(&author, &post).await;
        let live = count.saturating_sub(1);
        for (name, expected) in [
            ("followers", count),
            ("delivered", live),
            ("not_live", count - live),
            ("unfollowed", 0),
        ] {
            assert_eq!(receipt.body[name], json!(expected), "{name} of {count}: {receipt:?}");
        }
        // where Valkey's memory is young, it is asked for anew who follows
        assert!(receipt.body["late"].as_u64().is_some_and(|late| late <= count as u64));
        assert_eq!(receipt.body["progress"], json!(1.0));
        assert_eq!(receipt.body["chunks"] == 0, count <= 2, "{receipt:?}");
        assert!(receipt.body["lag_ms"].is_u64() && receipt.body["completed_at"].is_string());
        for reader in &readers {
            assert_eq!(reader.get("/v1/timeline").await.ids(), std::slice::from_ref(&post));
        }
    }
}

/// In the deployed stack an author with 13 followers is pulled: the first post from then on goes out with
/// pointers, and the next to nobody.
#[tokio::test]
async fn a_large_authors_posts_are_pulled_and_read_by_all() {
    let (author, readers) = audience(13).await;
    let pushed = author.publish("pushed, with pointers").await;
    let receipt = complete(&author, &pushed).await;
    assert_eq!(receipt.body["delivered"], json!(12), "{receipt:?}");
    let pulled = author.publish("pulled").await;
    let path = format!("/v1/posts/{pulled}/delivery");
    eventually("a receipt that says so", async || {
        let receipt = author.get(&path).await;
        (receipt.body["state"] == "pulled").then_some(())
    })
    .await;
    for reader in &readers {
        assert_eq!(reader.get("/v1/timeline").await.ids(), [pulled.as_str(), pushed.as_str()]);
    }
}

#[tokio::test]
async fn a_receipt_is_the_authors_alone() {
    let (author, other) = (Client::new().await, Client::new().await);
    let post = author.publish("text").await;
    let path = format!("/v1/posts/{post}/delivery");
    assert_eq!(other.get(&path).await.problem(), (403, "/problems/not-yours"));
    assert_eq!(author.get("/v1/posts/x/delivery").await.problem(), (400, "/problems/invalid-id"));
    let user: UserId = author.id.parse().expect("an id");
    let never = format!("/v1/posts/{}/delivery", PostId::new(1, 1, user));
    assert_eq!(author.get(&never).await.problem(), (404, "/problems/no-such-post"));
    author.delete(&format!("/v1/posts/{post}")).await;
    assert_eq!(author.get(&path).await.problem(), (404, "/problems/no-such-post"));
}

/// What the deployed functions write to their log is what CloudWatch makes metrics of.
#[tokio::test]
async fn fan_out_is_measured() {
    let (author, readers) = audience(4).await;
    let post = author.publish("text").await;
    complete(&author, &post).await;
    readers[0].get("/v1/timeline").await;
    for (function, metric) in [
        ("DeliverFunction", "FanOutLag"),
        ("DeliverFunction", "FanOutCompleteLag"),
        ("DeliverFunction", "Deliveries"),
        ("DeliverFunction", "NotLive"),
        ("TimelineFunction", "FeedHits"),
        ("TimelineFunction", "FeedMisses"),
        ("TimelineFunction", "Rebuilds"),
    ] {
        let group = format!("/aws/lambda/{}", output(function));
        let what = format!("{metric} in {group}");
        let ask = json!({"logGroupName": group, "filterPattern": metric});
        let line = eventually(&what, async || {
            let found = aws("Logs_20140328.FilterLogEvents", "1.1", &ask).await;
            let events = found["events"].as_array().cloned().unwrap_or_default();
            let lines = events.iter().filter_map(|event| event["message"].as_str());
            let mut lines = lines.flat_map(str::lines).filter(|line| line.contains("\"_aws\""));
            lines.find(|line| line.contains(metric)).map(str::to_owned)
        })
        .await;
        let line: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        let told = &line["_aws"]["CloudWatchMetrics"][0];
        assert_eq!(
            (&told["Namespace"], &told["Dimensions"]),
            (&json!("Fanfold"), &json!([["Function"]]))
        );
        let named = told["Metrics"].as_array().expect("metrics").iter();
        assert!(named.clone().any(|known| known["Name"] == metric), "{line}");
        assert!(!line[metric].is_null(), "{line}");
    }
}
