//! Refused requests: routes, bodies, parameters, cursors, tokens.

use fanfold_core::limits::BODY_BYTES_MAX;
use reqwest::Method;
use serde_json::json;

use crate::harness::client::Client;

#[tokio::test]
async fn unknown_routes_get_404_and_unknown_methods_405() {
    let user = Client::new().await;
    for path in ["/v1", "/v1/nothing", "/v1/posts/x/y", "/v2/timeline", "/v1/timeline/"] {
        let answer = user.get(path).await;
        assert_eq!(answer.problem(), (404, "/problems/no-such-route"), "{path}");
    }
    for (method, path, allow) in [
        (Method::PATCH, "/v1/posts", "POST"),
        (Method::PATCH, "/v1/me", "GET, PUT"),
        (Method::DELETE, "/v1/timeline", "GET"),
        (Method::POST, "/v1/users/@ash/follow", "DELETE, PUT"),
        (Method::PUT, "/openapi.json", "GET"),
    ] {
        let answer = user.send(method, path, &[], None).await;
        assert_eq!(answer.problem(), (405, "/problems/method-not-allowed"), "{path}");
        assert_eq!(answer.headers["allow"], allow);
        assert_eq!(answer.headers["content-type"], "application/problem+json");
    }
}

#[tokio::test]
async fn bodies_of_the_wrong_type_shape_or_size_are_refused() {
    let user = Client::new().await;
    let json = ("Content-Type", "application/json");
    let send = async |headers: &[(&str, &str)], body: &str| {
        user.raw(Method::POST, "/v1/posts", headers, Some(body.as_bytes().to_vec())).await
    };
    for headers in
        [&[][..], &[("Content-Type", "text/plain")], &[("Content-Type", "application/xml")]]
    {
        let answer = send(headers, r#"{"text":"x"}"#).await;
        assert_eq!(answer.problem(), (415, "/problems/unsupported-media-type"));
    }
    let deep = "[".repeat(20_000);
    for body in [
        "",
        "{",
        "null",
        "[]",
        "\"text\"",
        "{}",
        r#"{"text":1}"#,
        r#"{"text":"x"} {}"#,
        r#"{"text":"x","more":1}"#,
        r#"{"text":"x","text":"y"}"#,
        r#"{"text":"\ud800"}"#,
        &deep,
    ] {
        let answer = send(&[json], body).await;
        assert_eq!(answer.problem(), (400, "/problems/invalid-body"), "{body}");
    }
    let answer = user.raw(Method::POST, "/v1/posts", &[json], Some(vec![0xff; 10])).await;
    assert_eq!(answer.problem(), (400, "/problems/invalid-body"), "not UTF-8");
    let large = json!({"text": "x".repeat(BODY_BYTES_MAX)}).to_string();
    assert_eq!(send(&[json], &large).await.problem(), (413, "/problems/body-too-large"));
    let unknown = json!({"handle": "x", "name": "x", "admin": true});
    let answer = user.send(Method::PUT, "/v1/me", &[], Some(unknown)).await;
    assert_eq!(answer.problem(), (400, "/problems/invalid-body"));
}

#[tokio::test]
async fn parameters_and_ids_are_checked() {
    let user = Client::new().await;
    let lists = [
        "/v1/timeline".to_owned(),
        format!("/v1/users/{}/posts", user.id),
        format!("/v1/users/{}/followers", user.id),
        format!("/v1/users/{}/following", user.id),
    ];
    for list in &lists {
        for query in ["limit=0", "limit=101", "limit=ten", "limit=", "limit=5&limit=6", "page=2"] {
            let answer = user.get(&format!("{list}?{query}")).await;
            assert_eq!(answer.problem(), (400, "/problems/invalid-parameter"), "{list}?{query}");
        }
        let chars = if list.contains("/follow") { 32 } else { 62 };
        let odd = "%00".repeat(chars);
        for cursor in ["", "x", "%F0%9F%98%80", &odd, &"+".repeat(chars), &"A".repeat(5_000)] {
            let answer = user.get(&format!("{list}?cursor={cursor}")).await;
            let refused = (400, "/problems/invalid-parameter");
            assert_eq!(answer.problem(), refused, "{list}?cursor={cursor}");
        }
        // the form is right, but the API did not give out this cursor
        let answer = user.get(&format!("{list}?cursor={}", "A".repeat(chars))).await;
        assert_eq!(answer.problem(), (404, "/problems/invalid-cursor"), "{list}");
    }
    for user_id in ["ash", "@Ash", "@", "0123456789ABCDEF", "a%20b", "%F0%9F%98%80"] {
        let answer = user.get(&format!("/v1/users/{user_id}")).await;
        assert_eq!(answer.problem(), (400, "/problems/invalid-id"), "{user_id}");
    }
    // gateways treat these differently; the function refuses those that reach it
    for odd in ["%00", "%0d%0a", "..%2f..%2fme", "%2e%2e", "%ff", "%"] {
        let answer = user.get(&format!("/v1/users/{odd}")).await;
        assert!([400, 404].contains(&answer.status), "{odd}: {answer:?}");
    }
    for post in ["x", "01arz3ndektsv4rrffq69g5fav", "8ZZZZZZZZZZZZZZZZZZZZZZZZZ", "%F0%9F%98%80"] {
        let answer = user.get(&format!("/v1/posts/{post}")).await;
        assert_eq!(answer.problem(), (400, "/problems/invalid-id"), "{post}");
    }
}

#[tokio::test]
async fn two_cursors_give_the_posts_between_them() {
    let user = Client::new().await;
    let mut posts = Vec::new();
    for n in 0..4 {
        posts.push(user.publish(&format!("post {n}")).await);
    }
    for list in ["/v1/timeline".to_owned(), format!("/v1/users/{}/posts", user.id)] {
        let top = user.get(&format!("{list}?limit=1")).await.text("/next_cursor");
        let end = user.get(&format!("{list}?limit=3")).await.text("/next_cursor");
        let between = user.get(&format!("{list}?cursor={top}&newer_than={end}")).await;
        assert_eq!(between.ids(), [posts[2].as_str()], "{list}: {between:?}");
        assert!(between.body["next_cursor"].is_null(), "{list}");
        let none = user.get(&format!("{list}?cursor={end}&newer_than={top}")).await;
        assert_eq!((none.status, none.ids().len()), (200, 0), "{list}");
    }
}
