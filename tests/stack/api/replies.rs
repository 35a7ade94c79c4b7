//! Replies and threads.

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::client::{Answer, Client};

async fn send(client: &Client, body: Value) -> Answer {
    client.send(Method::POST, "/v1/posts", &[], Some(body)).await
}

async fn reply(client: &Client, text: &str, to: &str) -> String {
    let posted = send(client, json!({"text": text, "in_reply_to": to})).await;
    assert_eq!((posted.status, posted.text("/in_reply_to")), (201, to.to_owned()));
    posted.text("/id")
}

#[tokio::test]
async fn a_thread_is_read_page_by_page_in_both_orders() {
    let (author, other) = (Client::new().await, Client::new().await);
    let root = author.publish("a question").await;
    let mut replies = Vec::new();
    for number in 0..5 {
        let to = if number < 3 { &root } else { &replies[0] };
        replies.push(reply(&other, &format!("answer {number}"), to).await);
    }
    let context = format!("/v1/posts/{root}/context");
    assert_eq!(author.walk(&format!("{context}?order=oldest"), 2).await, replies);
    let newest: Vec<String> = replies.iter().rev().cloned().collect();
    for path in [context.clone(), format!("{context}?order=newest")] {
        assert_eq!(author.walk(&path, 2).await, newest);
    }
    let deep = author.get(&format!("/v1/posts/{}/context", replies[3])).await;
    assert_eq!(deep.status, 200);
    let ancestors = deep.body["ancestors"].as_array().expect("ancestors");
    let shown: Vec<_> =
        ancestors.iter().map(|place| (&place["id"], &place["post"]["text"])).collect();
    let first = json!(replies[0]);
    let expected = [(&json!(root), &json!("a question")), (&first, &json!("answer 0"))];
    assert_eq!(shown, expected);
    assert_eq!((&deep.body["items"], &deep.body["next_cursor"]), (&json!([]), &Value::Null));
    // what is gone is a placeholder, and cannot be answered
    assert_eq!(
        other.send(Method::DELETE, &format!("/v1/posts/{}", replies[0]), &[], None).await.status,
        204
    );
    let deep = author.get(&format!("/v1/posts/{}/context", replies[3])).await;
    assert_eq!(deep.body["ancestors"][1], json!({"id": replies[0], "post": null}));
    let refused = send(&author, json!({"text": "late", "in_reply_to": replies[0]})).await;
    assert_eq!((refused.status, refused.text("/type").ends_with("no-such-post")), (404, true));
    assert_eq!(author.get(&format!("/v1/posts/{}/context", replies[0])).await.status, 404);
    // an order, and a cursor of the other order
    let cursor = author.get(&format!("{context}?limit=1")).await.text("/next_cursor");
    assert_eq!(author.get(&format!("{context}?order=oldest&cursor={cursor}")).await.status, 404);
    assert_eq!(author.get(&format!("{context}?order=best")).await.status, 400);
    let malformed = send(&author, json!({"text": "text", "in_reply_to": "a post"})).await;
    assert_eq!(malformed.status, 400);
}
