//! Posts and idempotency keys.

use fanfold_core::PostId;
use fanfold_core::Time;
use futures::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::client::{Answer, Client};

async fn post_with_key(client: &Client, key: &str, text: &str) -> Answer {
    let headers = [("Idempotency-Key", key)];
    client.send(Method::POST, "/v1/posts", &headers, Some(json!({"text": text}))).await
}

#[tokio::test]
async fn a_post_is_trimmed_and_served_at_its_location() {
    let author = Client::new().await;
    let posted = author.post("  Hello 👩‍👩‍👧‍👦!\n").await;
    assert_eq!((posted.status, posted.text("/text").as_str()), (201, "Hello 👩‍👩‍👧‍👦!"));
    let location = posted.headers["location"].to_str().expect("a location");
    let found = Client::new().await.get(location).await;
    assert_eq!((found.status, &found.body), (200, &posted.body));
    assert_eq!(found.text("/author/handle"), author.handle);
    let profile = author.get(&format!("/v1/users/{}", author.id)).await;
    assert_eq!(profile.body["posts"], Value::from(1));
}

#[tokio::test]
async fn mentions_tags_and_links_have_places_in_the_text() {
    let (author, other) = (Client::new().await, Client::new().await);
    let text = format!("👋 @{} and @nobody_at_all: ＃Straße https://example.com/#a.", other.handle);
    let posted = author.post(&text).await;
    let chars: Vec<char> = text.chars().collect();
    let entities = posted.body["entities"].as_array().expect("entities").iter().map(|entity| {
        let place = |name: &str| entity[name].as_u64().expect("a place") as usize;
        let part: String = chars[place("start")..place("end")].iter().collect();
        let means = ["user", "tag", "url"].map(|name| entity[name].as_str().map(str::to_owned));
        (entity["type"].as_str().expect("a type"), part, means)
    });
    let (mention, url) = (format!("@{}", other.handle), "https://example.com/#a".to_owned());
    let expected = [
        ("mention", mention, [Some(other.id.clone()), None, None]),
        ("tag", "＃Straße".to_owned(), [None, Some("strasse".to_owned()), None]),
        ("link", url.clone(), [None, None, Some(url)]),
    ];
    assert_eq!(entities.collect::<Vec<_>>(), expected);
    let found = other.get(&format!("/v1/posts/{}", posted.text("/id"))).await;
    assert_eq!(found.body["entities"], posted.body["entities"]);
}

#[tokio::test]
async fn the_length_of_a_text_counts_visible_characters() {
    let author = Client::new().await;
    assert_eq!(author.post(&"e\u{301}".repeat(500)).await.status, 201);
    let family = "👩‍👩‍👧‍👦".repeat(200); // 200 characters, 5,000 bytes
    for bad in ["", " \n ", &"a".repeat(501), &family, "nul\0"] {
        let refused = author.post(bad).await;
        assert_eq!(refused.problem(), (422, "/problems/invalid-text"), "{bad}");
    }
    let early = Client::signed_in().await.post("text").await;
    assert_eq!(early.problem(), (409, "/problems/profile-missing"));
}

#[tokio::test]
async fn only_the_author_deletes_a_post_and_a_repetition_succeeds() {
    let (author, other) = (Client::new().await, Client::new().await);
    let path = format!("/v1/posts/{}", author.publish("text").await);
    assert_eq!(other.delete(&path).await.problem(), (403, "/problems/not-yours"));
    for _ in 0..2 {
        assert_eq!(author.delete(&path).await.status, 204);
    }
    assert_eq!(author.get(&path).await.problem(), (404, "/problems/no-such-post"));
    let profile = author.get(&format!("/v1/users/{}", author.id)).await;
    assert_eq!(profile.body["posts"], Value::from(0));
    // an id of the author without a post
    let never = format!(
        "/v1/posts/{}",
        PostId::new(Time::from_ms(1), 1, author.id.parse().expect("an id"))
    );
    assert_eq!(author.delete(&never).await.problem(), (404, "/problems/no-such-post"));
}

#[tokio::test]
async fn the_same_key_gives_the_same_post() {
    let (author, other) = (Client::new().await, Client::new().await);
    let first = post_with_key(&author, "key 1", "text").await;
    let again = post_with_key(&author, "key 1", "text").await;
    assert_eq!((again.status, &again.body), (201, &first.body));
    assert_eq!(again.headers["location"], first.headers["location"]);
    let reused = post_with_key(&author, "key 1", "other text").await;
    assert_eq!(reused.problem(), (422, "/problems/idempotency-key-reused"));
    let theirs = post_with_key(&other, "key 1", "other text").await;
    assert_eq!(theirs.status, 201, "the keys of another user are separate");
    let bad = post_with_key(&author, &"k".repeat(256), "text").await;
    assert_eq!(bad.problem(), (400, "/problems/invalid-parameter"));
    author.delete(&format!("/v1/posts/{}", first.text("/id"))).await;
    let deleted = post_with_key(&author, "key 1", "text").await;
    assert_eq!(deleted.problem(), (410, "/problems/post-deleted"));
}

#[tokio::test]
async fn concurrent_requests_with_one_key_make_one_post() {
    let author = Client::new().await;
    let answers = join_all((0..8).map(|_| post_with_key(&author, "race", "text"))).await;
    let mut ids: Vec<String> = answers.iter().map(|answer| answer.text("/id")).collect();
    ids.dedup();
    assert_eq!(ids.len(), 1, "{answers:?}");
    assert!(answers.iter().all(|answer| answer.status == 201));
    assert_eq!(author.walk(&format!("/v1/users/{}/posts", author.id), 10).await, ids);
    let profile = author.get(&format!("/v1/users/{}", author.id)).await;
    assert_eq!(profile.body["posts"], Value::from(1));
}
