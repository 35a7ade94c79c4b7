//! Edits: conditional requests, and the versions of a post.

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::client::{Answer, Client};

async fn edit(client: &Client, post: &str, text: &str, headers: &[(&str, &str)]) -> Answer {
    let path = format!("/v1/posts/{post}");
    client.send(Method::PATCH, &path, headers, Some(json!({"text": text}))).await
}

fn etag(answer: &Answer) -> Option<&str> {
    answer.headers.get("etag").map(|tag| tag.to_str().expect("a text"))
}

#[tokio::test]
async fn a_post_is_edited_on_the_condition_of_its_etag() {
    let (author, reader) = (Client::new().await, Client::new().await);
    let post = author.publish("first").await;
    let path = format!("/v1/posts/{post}");
    let read = reader.get(&path).await;
    assert_eq!((etag(&read), &read.body["edited_at"]), (Some("\"1\""), &Value::Null));
    let edited = edit(&author, &post, "second #tag", &[("If-Match", "\"1\"")]).await;
    assert_eq!((edited.status, etag(&edited)), (200, Some("\"2\"")));
    assert_eq!(edited.text("/entities/0/tag"), "tag");
    // an older version, a weak one, and one of a list
    for other in ["\"1\"", "W/\"2\"", "\"1\", \"3\""] {
        let refused = edit(&author, &post, "third", &[("If-Match", other)]).await;
        assert_eq!((refused.status, etag(&refused)), (412, None), "{other}");
    }
    for same in ["\"2\"", "\"1\" , \"3\""] {
        let edited = edit(&author, &post, &format!("with {same}"), &[("If-Match", same)]).await;
        assert_eq!(edited.status, 200, "{same}");
    }
    assert_eq!(edit(&author, &post, "whichever", &[("If-Match", "*")]).await.status, 200);
    assert_eq!(edit(&author, &post, "last", &[]).await.status, 200);
    let malformed = edit(&author, &post, "text", &[("If-Match", "2")]).await;
    assert_eq!(malformed.status, 400, "{:?}", malformed.body);
    let (empty, others) =
        (edit(&author, &post, " ", &[]).await, edit(&reader, &post, "x", &[]).await);
    assert_eq!((empty.status, others.status), (422, 403));
    // what is not allowed is refused whatever the version
    let body = json!({"attachments": [{"url": "http://example.com", "media_type": "image/png"}]});
    let path = format!("/v1/posts/{post}");
    let refused = author.send(Method::PATCH, &path, &[("If-Match", "\"1\"")], Some(body)).await;
    assert_eq!(refused.problem(), (422, "/problems/invalid-content"));
    let read = reader.get(&path).await;
    assert_eq!((read.text("/text"), etag(&read)), ("last".to_owned(), Some("\"6\"")));
    let versions = reader.get(&format!("{path}/history")).await;
    let items = versions.body["items"].as_array().expect("versions");
    let numbers: Vec<_> = items.iter().map(|item| item["version"].as_u64()).collect();
    assert_eq!(numbers, (1..=6).rev().map(Some).collect::<Vec<_>>());
    assert_eq!((&items[5]["text"], &items[0]["text"]), (&json!("first"), &json!("last")));
    assert_eq!(items[5]["written_at"], read.body["created_at"]);
    assert_eq!(items[0]["written_at"], read.body["edited_at"]);
    // a deletion takes the versions with it
    assert_eq!(author.send(Method::DELETE, &path, &[], None).await.status, 204);
    assert_eq!(reader.get(&format!("{path}/history")).await.status, 404);
    assert_eq!(edit(&author, &post, "late", &[]).await.status, 404);
}
