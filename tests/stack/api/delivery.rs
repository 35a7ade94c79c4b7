//! Delivery receipts over HTTP, with the deployed queues.

use serde_json::json;

use super::users::wait_for_followers;
use crate::harness::client::{Answer, Client};
use crate::harness::{aws, eventually, output};

/// An author with followers. All followers except the last have live feeds.
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
    wait_for_followers(&author, count).await;
    (author, readers)
}

async fn wait_until_complete(author: &Client, post: &str) -> Answer {
    let path = format!("/v1/posts/{post}/delivery");
    eventually("the receipt", async || {
        let receipt = author.get(&path).await;
        assert_eq!(receipt.status, 200, "{receipt:?}");
        (receipt.body["state"] == "complete").then_some(receipt)
    })
    .await
}

/// The three paths of fan-out: at once, in chunks, and through the queues for large audiences. In the deployed
/// stack, an audience of up to 2 followers is small, and one of 6 is large.
#[tokio::test]
async fn a_receipt_counts_every_follower_once() {
    for count in [0usize, 2, 5, 9] {
        let (author, readers) = audience(count).await;
        let post = author.publish("text").await;
        let receipt = wait_until_complete(&author, &post).await;
        let live = count.saturating_sub(1);
        for (name, expected) in [
            ("followers", count),
            ("delivered", live),
            ("not_live", count - live),
            ("unfollowed", 0),
        ] {
            assert_eq!(receipt.body[name], json!(expected), "{name} of {count}: {receipt:?}");
        }
        // if Valkey's memory is young, the relations are read again
        assert!(receipt.body["late"].as_u64().is_some_and(|late| late <= count as u64));
        assert_eq!(receipt.body["progress"], json!(1.0));
        assert_eq!(receipt.body["chunks"] == 0, count <= 2, "{receipt:?}");
        assert!(receipt.body["lag_ms"].is_u64() && receipt.body["completed_at"].is_string());
        for reader in &readers {
            assert_eq!(reader.get("/v1/timeline").await.ids(), std::slice::from_ref(&post));
        }
    }
}

/// In the deployed stack, the posts of an author with 13 followers are pulled. The first post is pushed with
/// pointers, and the next post is not pushed.
#[tokio::test]
async fn posts_of_a_large_author_are_pulled_and_shown_to_all() {
    let (author, readers) = audience(13).await;
    let pushed = author.publish("pushed, with pointers").await;
    let receipt = wait_until_complete(&author, &pushed).await;
    assert_eq!(receipt.body["delivered"], json!(12), "{receipt:?}");
    let pulled = author.publish("pulled").await;
    let path = format!("/v1/posts/{pulled}/delivery");
    eventually("a receipt with the state pulled", async || {
        let receipt = author.get(&path).await;
        (receipt.body["state"] == "pulled").then_some(())
    })
    .await;
    for reader in &readers {
        assert_eq!(reader.get("/v1/timeline").await.ids(), [pulled.as_str(), pushed.as_str()]);
    }
}

/// The deployed functions log lines that CloudWatch turns into metrics.
#[tokio::test]
async fn fan_out_metrics_are_logged() {
    let (author, readers) = audience(4).await;
    let post = author.publish("text").await;
    wait_until_complete(&author, &post).await;
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
        let metrics = &line["_aws"]["CloudWatchMetrics"][0];
        assert_eq!(
            (&metrics["Namespace"], &metrics["Dimensions"]),
            (&json!("Fanfold"), &json!([["Function"]]))
        );
        let named = metrics["Metrics"].as_array().expect("metrics").iter();
        assert!(named.clone().any(|known| known["Name"] == metric), "{line}");
        assert!(!line[metric].is_null(), "{line}");
    }
}
