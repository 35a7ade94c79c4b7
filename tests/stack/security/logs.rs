//! Input of users must not write lines into the log or appear in them.

use std::collections::BTreeMap;
use std::time::Duration;

use fanfold_core::{PostId, Time};
use fanfold_kinds::App;
use fanfold_runtime::clock;
use fanfold_runtime::log::Chain;
use reqwest::Method;
use serde_json::{Value, json};

use super::wire::{self, JSON};
use crate::harness::client::Client;
use crate::harness::world::World;
use crate::harness::{dice, eventually, logs};

/// The lines of every function since a time, by function.
async fn lines(since: Time) -> BTreeMap<String, Vec<String>> {
    let mut found = BTreeMap::new();
    for function in logs::functions().await {
        let lines = logs::lines(&function, since, "").await;
        found.insert(function, lines);
    }
    found
}

/// Whether the Lambda platform wrote a line.
fn is_platforms(line: &str) -> bool {
    let starts = ["START RequestId: ", "END RequestId: ", "REPORT RequestId: ", "INIT_", "XRAY "];
    starts.iter().any(|start| line.starts_with(start))
}

#[tokio::test]
async fn the_contents_of_requests_do_not_reach_the_logs() {
    let since = clock::now() - Duration::from_millis(1);
    let mark = format!("mark{:x}", dice::fresh());
    let user = Client::new().await;
    let token = user.token.clone().expect("a token");
    let line = format!("{{\"level\":\"ERROR\",\"message\":\"forged {mark}\"}}");
    let odd = [
        format!("{mark}\n{line}\n"),
        format!("{mark}\r\n{line}"),
        format!("{mark}\u{1b}[2J\u{1b}[31m{line}"),
        format!("{mark}\"}}\n{line}"),
        format!("{mark}\u{2028}{line}"),
        format!("{mark} END RequestId: 0\nSTART RequestId: {mark}"),
    ];
    for odd in &odd {
        user.post(odd).await;
        let profile = json!({"handle": odd, "name": odd});
        user.send(Method::PUT, "/v1/me", &[], Some(profile)).await;
        let name = json!({"handle": user.handle, "name": format!("{mark}{{\"a\":\"b")});
        user.send(Method::PUT, "/v1/me", &[], Some(name)).await;
        let encoded: String = odd.bytes().map(|byte| format!("%{byte:02X}")).collect();
        for path in [
            format!("/{encoded}"),
            format!("/v1/users/@{encoded}"),
            format!("/v1/posts/{encoded}"),
            format!("/v1/timeline?cursor={encoded}"),
            format!("/v1/timeline?{encoded}=1"),
            format!("/v1/timeline?<\"{mark}\">|^`{{}}"),
        ] {
            let answer = wire::send_as(&token, "GET", &path, "", b"");
            assert!((400..500).contains(&answer.status), "{path}: {answer:?}");
        }
        let visible: String = odd.chars().filter(|c| c.is_ascii_graphic()).collect();
        let head = format!(
            "{JSON}Idempotency-Key: {visible}\r\nUser-Agent: {visible}\r\nX-Odd: {visible}\r\n\
             X-Forwarded-Proto: {visible}\r\nX-Amzn-Trace-Id: {visible}\r\nReferer: {visible}\r\n"
        );
        let body = json!({"text": format!("{mark} text")}).to_string();
        let posted = wire::send_as(&token, "POST", "/v1/posts", &head, body.as_bytes());
        assert_eq!(posted.status, 201, "{posted:?}");
        let later = (clock::now() + Duration::from_secs(3_600)).rfc3339();
        let body = json!({"text": format!("{mark} later"), "publish_at": later});
        let scheduled = user.send(Method::POST, "/v1/posts", &[], Some(body)).await;
        assert_eq!(scheduled.status, 202, "{scheduled:?}");
        let body = json!({"due_at": "2026-01-01T00:00:00Z", "payload": {"odd": odd}});
        let timer = format!("/v1/timers/renew-{mark}");
        let put = user.send(Method::PUT, &timer, &[], Some(body)).await;
        assert!([200, 201].contains(&put.status), "{put:?}");
        assert_eq!(user.get(&format!("/v1/timers/{encoded}")).await.status, 400);
    }
    assert_eq!(user.get("/v1/timeline").await.status, 200);
    let marker = user.publish("last").await;
    eventually("the post is delivered", async || {
        let receipt = user.get(&format!("/v1/posts/{marker}/delivery")).await;
        (receipt.body["state"] == "complete").then_some(())
    })
    .await;
    let (seen, mut starts) = (lines(since).await, 0);
    for (function, lines) in &seen {
        for line in lines {
            assert!(!line.contains(&mark), "{function} logs the contents of a request: {line}");
            assert!(!line.contains(&token), "{function} logs a token");
            let json = serde_json::from_str::<Value>(line).is_ok_and(|line| line.is_object());
            assert!(json || is_platforms(line), "{function}: {line:?}");
            starts += usize::from(line.starts_with("START RequestId: "));
        }
    }
    for function in ["-posts", "-users", "-timeline", "-dispatch"] {
        let found = seen.iter().find(|(name, _)| name.contains(function));
        assert!(found.is_some_and(|(_, lines)| lines.len() > 2), "{function} has no log");
    }
    assert!(starts > 60, "the log has too few invocations: {starts}");
}

/// An error of the store contains the operation and the reason, but not the password.
#[tokio::test]
async fn no_error_contains_the_password_of_valkey() {
    let world = World::new().await;
    let (secret, address) = ("pa55-of-valkey", world.config.text("REDIS_URL").expect("a URL"));
    let host = address.strip_prefix("redis://").expect("a URL");
    for url in [
        format!("redis://user:{secret}@{host}"), // the server has no such user
        format!("redis://:{secret}@{host}"),
        format!("redis://user:{secret}@127.0.0.1:1"),
        format!("rediss://user:{secret}@{host}"), // the server speaks no TLS
        format!("redis-cluster://user:{secret}@127.0.0.1:1"),
    ] {
        let app = App::new(&world.sdk, &world.config_with_one("REDIS_URL", &url));
        let post = PostId::new(Time::from_ms(1), 1, world.id("ash"));
        let error = app.expect("an app").valkey.push_own(post).await.expect_err("refused");
        let text = format!("{} {error:?}", Chain(&error));
        assert!(text.len() > 20 && !text.contains(secret), "{text}");
    }
    for url in [
        format!("user:{secret}@{host}"),
        format!("http://user:{secret}@{host}"),
        format!("redis://user:{secret}@{host}:port"),
        format!("redis-cluster://user:{secret}@a,b/1"),
        format!("redis://user:{secret}/@{host}"),
        format!("//:{secret}@{host}"),
    ] {
        let app = App::new(&world.sdk, &world.config_with_one("REDIS_URL", &url));
        let Err(error) = app else { continue };
        assert!(!error.to_string().contains(secret), "{error}");
    }
}
