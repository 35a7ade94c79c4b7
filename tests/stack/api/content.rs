//! What apps store with posts and profiles: it is returned as it was sent, by every route.

use std::time::Duration;

use fanfold_runtime::clock;
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::client::Client;
use crate::harness::setting;

const SENT: &str = r#"{ "b": 1.10, "a": [1e2, 12345678901234567890], "c": "\u00e9 \" }" }"#;
const KEPT: &str = r#"{"b":1.10,"a":[1e2,12345678901234567890],"c":"\u00e9 \" }"}"#;

/// Sends a body as it is. Returns the status and the text of the answer.
async fn send(client: &Client, method: Method, path: &str, body: String) -> (u16, String) {
    let url = format!("{}{path}", setting("FANFOLD_URL"));
    let request = reqwest::Client::new().request(method, url);
    let token = client.token.as_deref().expect("a token");
    let request = request.bearer_auth(token).header("Content-Type", "application/json").body(body);
    let answer = request.send().await.expect("an answer");
    (answer.status().as_u16(), answer.text().await.expect("a text"))
}

async fn read(client: &Client, path: &str) -> String {
    send(client, Method::GET, path, String::new()).await.1
}

#[tokio::test]
async fn data_is_returned_as_it_was_sent() {
    let author = Client::new().await;
    let kept = format!("\"data\":{KEPT}");
    let body = format!(r#"{{"text": "with data", "data": {SENT}}}"#);
    let (status, answer) = send(&author, Method::POST, "/v1/posts", body).await;
    assert!(status == 201 && answer.contains(&kept), "{status} {answer}");
    let id = serde_json::from_str::<Value>(&answer).expect("JSON")["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let path = format!("/v1/posts/{id}");
    // an edit of the text leaves it, and null removes it
    let edit = async |body: &str| send(&author, Method::PATCH, &path, body.to_owned()).await;
    assert!(edit(r#"{"text": "edited"}"#).await.1.contains(&kept));
    let own = format!("/v1/users/{}/posts", author.id);
    for path in [&path, &own, &"/v1/timeline".to_owned(), &format!("{path}/history")] {
        for _ in 0..2 {
            let answer = read(&author, path).await;
            assert!(answer.contains(&kept), "{path}: {answer}");
        }
    }
    assert!(edit(r#"{"data": null}"#).await.1.contains(r#""data":null"#));
    assert_eq!(edit("{}").await.0, 400);
    // a scheduled post, and its change
    let at = (clock::now() + Duration::from_secs(3_600)).rfc3339();
    let body = format!(r#"{{"text": "later", "publish_at": "{at}", "data": {SENT}}}"#);
    let (status, answer) = send(&author, Method::POST, "/v1/posts", body).await;
    assert!(status == 202 && answer.contains(&kept), "{status} {answer}");
    let id = serde_json::from_str::<Value>(&answer).expect("JSON")["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let body = r#"{"data": {"c": 1.0}}"#.to_owned();
    let changed = send(&author, Method::PATCH, &format!("/v1/scheduled/{id}"), body).await.1;
    assert!(changed.contains(r#""data":{"c":1.0}"#), "{changed}");
    assert!(read(&author, "/v1/scheduled").await.contains(r#""data":{"c":1.0}"#));
    // a profile
    let (handle, name) = (&author.handle, "Name");
    let profile =
        |about: &str| format!(r#"{{"handle": "{handle}", "name": "{name}", "about": {about}}}"#);
    let body = profile(&format!(r#"{{"bio": "text", "data": {SENT}}}"#));
    assert!(send(&author, Method::PUT, "/v1/me", body).await.1.contains(&kept));
    // what is missing stays
    let body = profile(r#"{"links": [{"url": "https://example.com"}]}"#);
    let answer = send(&author, Method::PUT, "/v1/me", body).await.1;
    let about = format!(
        r#""about":{{"bio":"text","links":[{{"label":"","url":"https://example.com"}}],{kept}}}"#
    );
    assert!(answer.contains(&about), "{answer}");
    for path in
        ["/v1/me".to_owned(), format!("/v1/users/@{handle}"), format!("/v1/users/{}", author.id)]
    {
        assert!(read(&author, &path).await.contains(&about), "{path}");
    }
    let exported = read(&author, "/v1/me/export").await;
    let lines = exported.matches(&kept).count();
    assert!(lines >= 3, "a profile, and a post with versions: {exported}");
    let body = profile(r#"{"bio": "", "links": [], "data": null}"#);
    let answer = send(&author, Method::PUT, "/v1/me", body).await.1;
    assert!(answer.contains(r#""about":{"bio":"","links":[],"data":null}"#), "{answer}");
}

#[tokio::test]
async fn attachments_and_data_have_limits() {
    let author = Client::new().await;
    let picture = json!({
        "url": "https://example.com/owl.png", "media_type": "image/png", "alt": "An owl.", "width": 4, "height": 3,
        "blurhash": "LEHV6nWB2yk8pyo0adR*.7kCMdnj",
    });
    let publish = async |data: Value, attachments: Value| {
        let body = json!({"text": "text", "data": data, "attachments": attachments});
        author.send(Method::POST, "/v1/posts", &[], Some(body)).await
    };
    let posted = publish(Value::Null, json!(vec![picture.clone(); 8])).await;
    assert_eq!(
        (posted.status, &posted.body["attachments"]),
        (201, &json!(vec![picture.clone(); 8]))
    );
    let filled = |length: usize| json!({"a": "x".repeat(length - r#"{"a":""}"#.len())});
    assert_eq!(publish(filled(8_192), json!([])).await.status, 201);
    let files = json!([picture]).to_string().len();
    assert_eq!(publish(filled(8_192 - files), json!([picture])).await.status, 201);
    let with = |field: &str, value: Value| {
        let mut wrong = picture.clone();
        wrong[field] = value;
        json!([wrong])
    };
    for (data, attachments) in [
        (filled(8_193), json!([])),
        (filled(8_193 - files), json!([picture])),
        (json!([1]), json!([])),
        (json!("text"), json!([])),
        (Value::Null, json!(vec![picture.clone(); 9])),
        (Value::Null, with("url", json!("http://example.com"))),
        (Value::Null, with("media_type", json!("png"))),
        (Value::Null, with("width", Value::Null)),
        (Value::Null, with("blurhash", json!("L"))),
    ] {
        let refused = publish(data, attachments).await;
        assert_eq!(refused.problem(), (422, "/problems/invalid-content"), "{:?}", refused.body);
    }
    let long = publish(Value::Null, with("alt", json!("é".repeat(1_001)))).await;
    assert_eq!(long.problem(), (422, "/problems/invalid-text"));
    let unknown = publish(Value::Null, with("size", json!(1))).await;
    assert_eq!(unknown.problem(), (400, "/problems/invalid-body"));
    let put = async |about: Value| {
        let body = json!({"handle": author.handle, "name": "Name", "about": about});
        author.send(Method::PUT, "/v1/me", &[], Some(body)).await
    };
    let links =
        |count: usize| json!(vec![json!({"label": "x", "url": "https://example.com"}); count]);
    assert_eq!(
        put(json!({"bio": "é".repeat(500), "links": links(4), "data": filled(2_048)})).await.status,
        200
    );
    for (about, problem) in [
        (json!({"links": links(5)}), "/problems/invalid-content"),
        (json!({"data": filled(2_049)}), "/problems/invalid-content"),
        (json!({"links": [{"url": "ftp://example.com"}]}), "/problems/invalid-content"),
        (json!({"bio": "é".repeat(501)}), "/problems/invalid-text"),
    ] {
        assert_eq!(put(about).await.problem(), (422, problem));
    }
}
