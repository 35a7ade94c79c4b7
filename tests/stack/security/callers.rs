//! Attempts to act as another user: on their posts and relations, and by their name in headers, bodies and paths.

use fanfold_runtime::clock;
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::client::Client;
use crate::openapi::{api, each_operation};

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
async fn a_user_changes_only_boards_that_are_theirs_or_open_to_them() {
    let (owner, other) = (Client::new().await, Client::new().await);
    let (board, of) = ("/v1/leaderboards/mine", format!("owner={}", owner.id));
    let member = format!("{board}/members/x?{of}");
    let put = async |client: &Client, path: &str, body: Value| {
        client.send(Method::PUT, path, &[], Some(body)).await
    };
    let score = || json!({"scores": ["1"]});
    assert_eq!(put(&owner, board, json!({})).await.status, 201);
    assert_eq!(put(&owner, &member, score()).await.status, 200);
    let refused = (403, "/problems/not-yours");
    assert_eq!(put(&other, &member, score()).await.problem(), refused);
    let add = other.send(Method::PATCH, &member, &[], Some(json!({"add": ["1"]}))).await;
    assert_eq!(add.problem(), refused);
    assert_eq!(other.delete(&member).await.problem(), refused);
    let many = json!({"changes": [{"member": "x", "remove": true}]});
    let path = format!("{board}/members?{of}");
    let many = other.send(Method::POST, &path, &[], Some(many)).await;
    assert_eq!(many.problem(), refused);
    // settings and deletion have no owner to name: they are about a board of the caller
    assert_eq!(other.delete(board).await.problem(), (404, "/problems/no-such-board"));
    let own = put(&other, board, json!({"open": true})).await;
    assert_eq!((own.status, own.text("/owner")), (201, other.id.clone()));
    assert_eq!(other.delete(board).await.status, 204);
    assert_eq!(owner.get(board).await.body["board"]["open"], false);
    // a writer changes scores, and not the settings
    put(&owner, board, json!({"writers": [other.id]})).await;
    assert_eq!(put(&other, &member, json!({"scores": ["2"]})).await.status, 200);
    assert_eq!(owner.get(board).await.body["items"][0]["scores"], json!(["2"]));
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

/// Marks are all routes below a post with PUT.
#[tokio::test]
async fn a_user_puts_and_removes_only_their_own_marks() {
    let (fan, author, attacker) = (Client::new().await, Client::new().await, Client::new().await);
    let post = author.publish("text").await;
    for kind in marks() {
        let (mark, list) = (format!("/v1/posts/{post}/{kind}"), format!("/v1/{kind}s"));
        assert_eq!(fan.put(&mark).await.status, 204);
        // the attacker removes what the attacker never put
        assert_eq!(attacker.delete(&mark).await.status, 204);
        assert_eq!(fan.get(&list).await.ids(), [post.as_str()], "the fan still has the mark");
        assert_eq!(attacker.get(&list).await.ids(), Vec::<String>::new());
        let (foreign, others) = (format!("{mark}/{}", fan.id), format!("/v1/users/{}", fan.id));
        for path in [foreign, format!("{others}/{kind}s")] {
            let refused = attacker.delete(&path).await;
            assert_eq!(refused.problem(), (404, "/problems/no-such-route"), "{path}");
        }
        for field in ["user", "user_id", "sub"] {
            let refused = attacker.get(&format!("{list}?{field}={}", fan.id)).await;
            assert_eq!(refused.problem(), (400, "/problems/invalid-parameter"), "{field}");
        }
    }
}

/// The kinds of marks of posts, from the description.
pub fn marks() -> Vec<String> {
    let api = api();
    let operations = each_operation(&api).into_iter();
    let marks: Vec<String> = operations
        .filter_map(|(name, _)| Some(name.strip_prefix("PUT /v1/posts/{id}/")?.to_owned()))
        .collect();
    assert!(marks.contains(&"like".to_owned()), "{marks:?}");
    marks
}

/// An hour ahead.
fn later() -> String {
    (clock::now() + std::time::Duration::from_secs(3_600)).rfc3339()
}

#[tokio::test]
async fn a_user_schedules_posts_and_puts_timers_only_for_themselves() {
    let (victim, attacker) = (Client::new().await, Client::new().await);
    for field in ["author", "author_id", "owner", "user", "sub"] {
        let body = json!({"text": "by whom?", "publish_at": later(), field: victim.id});
        let refused = attacker.send(Method::POST, "/v1/posts", &[], Some(body)).await;
        assert_eq!(refused.problem(), (400, "/problems/invalid-body"), "{field}");
        let body = json!({"due_at": later(), "payload": 1, field: victim.id});
        let refused = attacker.send(Method::PUT, "/v1/timers/renew", &[], Some(body)).await;
        assert_eq!(refused.problem(), (400, "/problems/invalid-body"), "{field}");
    }
    let headers: Vec<(&str, &str)> =
        STRANGER_HEADERS.iter().map(|name| (*name, victim.id.as_str())).collect();
    let body = Some(json!({"due_at": later(), "payload": 1}));
    let put = attacker.send(Method::PUT, "/v1/timers/renew", &headers, body).await;
    assert_eq!(put.status, 201, "{put:?}");
    let body = Some(json!({"text": "later", "publish_at": later()}));
    let scheduled = attacker.send(Method::POST, "/v1/posts", &headers, body).await;
    assert_eq!(scheduled.status, 202, "{scheduled:?}");
    for path in ["/v1/timers", "/v1/scheduled"] {
        assert_eq!(victim.get(path).await.body["items"], json!([]), "{path}");
        let own = attacker.get(path).await.body["items"].as_array().map(Vec::len);
        assert_eq!(own, Some(1), "{path}");
    }
    for path in
        [format!("/v1/users/{}/timers", victim.id), format!("/v1/timers/{}/renew", victim.id)]
    {
        assert_eq!(attacker.get(&path).await.problem(), (404, "/problems/no-such-route"), "{path}");
    }
}

#[tokio::test]
async fn scheduled_posts_and_timers_of_another_user_do_not_exist() {
    let (owner, other) = (Client::new().await, Client::new().await);
    let never = Client::signed_in().await;
    let body = Some(json!({"text": "later", "publish_at": later()}));
    let made = owner.send(Method::POST, "/v1/posts", &[], body).await;
    let scheduled = format!("/v1/scheduled/{}", made.text("/id"));
    let body = Some(json!({"due_at": later(), "payload": {"secret": 7}}));
    let put = owner.send(Method::PUT, "/v1/timers/renew", &[], body).await;
    assert_eq!(put.status, 201, "{put:?}");
    let paths = [scheduled.as_str(), "/v1/timers/renew"];
    let before = [owner.get(paths[0]).await.body, owner.get(paths[1]).await.body];
    for stranger in [&other, &never] {
        for path in paths {
            for method in [Method::GET, Method::DELETE] {
                let refused = stranger.send(method.clone(), path, &[], None).await;
                assert_eq!(refused.status, 404, "{method} {path}: {refused:?}");
            }
        }
        let change = Some(json!({"text": "mine now"}));
        let refused = stranger.send(Method::PATCH, &scheduled, &[], change).await;
        assert_eq!(refused.problem(), (404, "/problems/no-such-scheduled-post"));
    }
    // a timer of the same name is another timer
    let body = Some(json!({"due_at": later(), "payload": "other"}));
    assert_eq!(other.send(Method::PUT, "/v1/timers/renew", &[], body).await.status, 201);
    assert_eq!(other.delete("/v1/timers/renew").await.status, 204);
    assert_eq!([owner.get(paths[0]).await.body, owner.get(paths[1]).await.body], before);
}
