//! Attempts to act as another user: on their posts and relations, and by their name in headers, bodies and paths.

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::client::Client;

const STRANGER_HEADERS: [&str; 14] = [
    "Fanfold-Dev-Caller",
    "X-Amzn-Request-Context",
    "X-Amzn-Lambda-Context",
    "X-Amzn-Oidc-Identity",
    "X-Amzn-Oidc-Data",
    "X-Amzn-Apigateway-Api-Id",
    "X-Amz-Cognito-Identity",
    "X-Apigateway-Event",
    "X-Forwarded-User",
    "X-Forwarded-Email",
    "X-Forwarded-For",
    "X-Remote-User",
    "X-User-Id",
    "Cookie",
];

#[tokio::test]
async fn only_the_author_deletes_a_post_or_reads_its_delivery_status() {
    let (author, other) = (Client::new().await, Client::new().await);
    let post = format!("/v1/posts/{}", author.publish("mine").await);
    let before = author.get(&post).await.body;
    let never = Client::signed_in().await;
    for stranger in [&other, &never] {
        assert_eq!(stranger.delete(&post).await.problem(), (403, "/problems/not-yours"));
        let asked = stranger.get(&format!("{post}/delivery")).await;
        assert_eq!(asked.problem(), (403, "/problems/not-yours"));
        assert!(asked.body.get("followers").is_none() && asked.body.get("state").is_none());
    }
    assert_eq!(author.get(&post).await.body, before, "the post changed");
    let profile = author.get(&format!("/v1/users/{}", author.id)).await;
    assert_eq!(profile.body["posts"], Value::from(1));
    let home = author.get("/v1/timeline").await;
    assert_eq!(home.ids(), [before["id"].as_str().expect("an id")]);
    assert_eq!(author.get(&format!("{post}/delivery")).await.status, 200);
}

#[tokio::test]
async fn a_header_does_not_identify_the_caller() {
    let (victim, attacker) = (Client::new().await, Client::new().await);
    let context = json!({"authorizer": {"jwt": {"claims": {"iss": "x", "sub": victim.id}}}});
    for name in STRANGER_HEADERS {
        for value in [victim.id.clone(), victim.handle.clone(), context.to_string()] {
            let headers = [(name, value.as_str())];
            let nobody =
                Client::anonymous().send(Method::GET, "/v1/timeline", &headers, None).await;
            assert_eq!(nobody.status, 401, "{name}: {nobody:?}");
        }
    }
    let all: Vec<(&str, &str)> =
        STRANGER_HEADERS.iter().map(|name| (*name, victim.id.as_str())).collect();
    let text = Some(json!({"text": "by whom?"}));
    let made = attacker.send(Method::POST, "/v1/posts", &all, text).await;
    assert_eq!((made.status, made.text("/author/id")), (201, attacker.id.clone()));
    let posts = victim.walk(&format!("/v1/users/{}/posts", victim.id), 10).await;
    assert!(posts.is_empty(), "{posts:?}");
}

#[tokio::test]
async fn a_body_or_a_query_does_not_identify_the_caller() {
    let (victim, attacker) = (Client::new().await, Client::new().await);
    for field in ["author", "author_id", "user", "user_id", "id", "sub", "created_at", "__proto__"]
    {
        let body = json!({"text": "by whom?", field: victim.id});
        let refused = attacker.send(Method::POST, "/v1/posts", &[], Some(body)).await;
        assert_eq!(refused.problem(), (400, "/problems/invalid-body"), "{field}");
        let body = json!({"handle": attacker.handle, "name": "x", field: victim.id});
        let refused = attacker.send(Method::PUT, "/v1/me", &[], Some(body)).await;
        assert_eq!(refused.problem(), (400, "/problems/invalid-body"), "{field}");
        let refused = attacker.get(&format!("/v1/timeline?{field}={}", victim.id)).await;
        assert_eq!(refused.problem(), (400, "/problems/invalid-parameter"), "{field}");
    }
    let profile = attacker.get(&format!("/v1/users/{}", victim.id)).await;
    assert_eq!(profile.text("/handle"), victim.handle);
}

/// A request for a home feed names its owner by the token only.
#[tokio::test]
async fn no_path_leads_to_the_home_feed_of_another_user() {
    let (victim, attacker) = (Client::new().await, Client::new().await);
    for user in [victim.id.clone(), format!("@{}", victim.handle)] {
        for path in [
            format!("/v1/timeline/{user}"),
            format!("/v1/{user}/timeline"),
            format!("/v1/users/{user}/timeline"),
            format!("/v1/users/{user}/me"),
            format!("/v1/me/{user}"),
            format!("/v1/timeline;user={user}"),
            format!("/v1/timeline%3Fuser={user}"),
        ] {
            for method in [Method::GET, Method::PUT, Method::DELETE, Method::POST] {
                let answer = attacker.send(method, &path, &[], None).await;
                assert_eq!(answer.problem(), (404, "/problems/no-such-route"), "{path}");
            }
        }
    }
}

#[tokio::test]
async fn a_user_changes_only_their_own_relations() {
    let (reader, author, attacker) =
        (Client::new().await, Client::new().await, Client::new().await);
    let follow = format!("/v1/users/{}/follow", author.id);
    assert_eq!(reader.put(&follow).await.status, 204);
    assert_eq!(attacker.delete(&follow).await.status, 204);
    let followers = author.walk(&format!("/v1/users/{}/followers", author.id), 10).await;
    assert_eq!(followers, [reader.id.as_str()], "the reader no longer follows");
    for path in [
        format!("/v1/users/{}/following/{}", reader.id, author.id),
        format!("/v1/users/{}/followers/{}", author.id, reader.id),
    ] {
        assert_eq!(attacker.delete(&path).await.problem(), (404, "/problems/no-such-route"));
    }
}
