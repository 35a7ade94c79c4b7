//! Input of users must not select another key of a store, or the idempotency key of another user.

use std::collections::BTreeSet;

use fanfold_core::kinds::KeyKind;
use reqwest::Method;
use serde_json::json;

use super::wire::{self, JSON};
use crate::harness::client::{Answer, Client};
use crate::harness::world::World;
use crate::harness::{aws, output};

const ODD: [&str; 16] = [
    "#",
    "a#b",
    "{0}",
    "a}b{",
    ":",
    "*",
    "?",
    "..",
    "../../x",
    "a b",
    "user#0",
    "%23",
    "%00",
    "%0d%0aSET%20x%201",
    "handle#ash",
    "key#0#0",
];

#[tokio::test]
async fn no_id_or_handle_selects_another_key() {
    let user = Client::new().await;
    let token = user.token.clone().expect("a token");
    for odd in ODD {
        let encoded: String = odd.bytes().map(|byte| format!("%{byte:02X}")).collect();
        for name in [encoded.clone(), format!("@{encoded}")] {
            for (method, path) in [
                ("GET", format!("/v1/users/{name}")),
                ("GET", format!("/v1/users/{name}/posts")),
                ("GET", format!("/v1/users/{name}/followers")),
                ("GET", format!("/v1/users/{name}/following")),
                ("PUT", format!("/v1/users/{name}/follow")),
                ("DELETE", format!("/v1/users/{name}/follow")),
                ("GET", format!("/v1/posts/{name}")),
                ("GET", format!("/v1/posts/{name}/delivery")),
                ("DELETE", format!("/v1/posts/{name}")),
            ] {
                let answer = wire::send_as(&token, method, &path, "", b"");
                // not an id, or not one segment
                let expected = [(400, "/problems/invalid-id"), (404, "/problems/no-such-route")];
                let (status, kind) = answer.problem();
                assert!(expected.contains(&(status, &kind)), "{method} {path}: {answer:?}");
            }
        }
        let profile = json!({"handle": odd, "name": "x"});
        let answer = user.send(Method::PUT, "/v1/me", &[], Some(profile)).await;
        assert_eq!(answer.problem(), (422, "/problems/invalid-text"), "{odd}");
    }
}

/// Names are hashed in the keys of Valkey, and a member is only the end of a key of DynamoDB.
#[tokio::test]
async fn names_of_boards_and_members_select_no_other_key() {
    let owner = Client::new().await;
    // what a path cannot carry
    let is_refused = |name: &str| name == ".." || name.contains(['/', '?', '#', '%', '\\']);
    let mut members = BTreeSet::new();
    for odd in ODD {
        let encoded: String = odd.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let (board, score) = (format!("/v1/leaderboards/{encoded}"), json!({"scores": ["1"]}));
        let made = owner.send(Method::PUT, &board, &[], Some(json!({}))).await;
        let member = format!("/v1/leaderboards/*/members/{encoded}");
        if is_refused(odd) {
            assert!(matches!(made.status, 400 | 404), "{odd}: {made:?}");
            let set = owner.send(Method::PUT, &member, &[], Some(score)).await;
            assert!(matches!(set.status, 400 | 404), "{odd}: {set:?}");
            continue;
        }
        assert_eq!((made.status, made.text("/name")), (201, odd.to_owned()));
        assert_eq!(owner.get(&board).await.body["members"], 0);
        members.insert(odd);
    }
    for odd in &members {
        let encoded: String = odd.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let path = format!("/v1/leaderboards/*/members/{encoded}");
        let set = owner.send(Method::PUT, &path, &[], Some(json!({"scores": ["1"]}))).await;
        assert_eq!((set.status, set.text("/member")), (200, (*odd).to_owned()));
    }
    assert!(members.len() > 4, "{members:?}");
    let page = owner.get("/v1/leaderboards/*?limit=100").await;
    let items = page.body["items"].as_array().expect("items").iter();
    let shown: BTreeSet<&str> = items.filter_map(|item| item["member"].as_str()).collect();
    assert_eq!(shown, members);
    // the other boards are as they were
    for odd in members.iter().filter(|odd| **odd != "*") {
        let encoded: String = odd.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let page = owner.get(&format!("/v1/leaderboards/{encoded}")).await;
        assert_eq!(page.body["members"], 0, "{odd}");
    }
}

async fn post_with_key(user: &Client, key: &str, text: &str) -> Answer {
    let headers = [("Idempotency-Key", key)];
    user.send(Method::POST, "/v1/posts", &headers, Some(json!({"text": text}))).await
}

/// The key of an item consists of two hashes, whatever the idempotency key contains.
#[tokio::test]
async fn an_idempotency_key_is_hashed_in_the_key_of_its_item() {
    let user = Client::new().await;
    let mut made = BTreeSet::new();
    let long = "k".repeat(255);
    for odd in ODD.into_iter().chain([long.as_str(), "-", "\"", "'"]) {
        let posted = post_with_key(&user, odd, "text").await;
        assert_eq!(posted.status, 201, "{odd}: {posted:?}");
        assert!(made.insert(posted.text("/id")), "{odd} gives the post of another key");
        assert_eq!(post_with_key(&user, odd, "text").await.body, posted.body);
    }
    let scan = json!({
        "TableName": output("PostsTable"), "FilterExpression": "begins_with(pk, :mine)",
        "ExpressionAttributeValues": {":mine": {"S": format!("key#{}", user.id)}},
    });
    let found = aws("DynamoDB_20120810.Scan", "1.0", &scan).await;
    let found = found["Items"].as_array().expect("items").clone();
    assert_eq!(found.len(), made.len());
    for item in found {
        let pk = item["pk"]["S"].as_str().expect("a key");
        let parts: Vec<&str> = pk.split('#').collect();
        assert_eq!((parts.len(), parts[1], parts[2].len()), (3, user.id.as_str(), 64), "{pk}");
        assert!(parts[2].bytes().all(|byte| byte.is_ascii_hexdigit()), "{pk}");
        assert!(!item.to_string().contains("SET"), "{item}");
    }
}

#[tokio::test]
async fn an_idempotency_key_of_another_user_reveals_nothing() {
    let (first, second) = (Client::new().await, Client::new().await);
    let theirs = post_with_key(&first, "same", "the first's").await;
    let mine = post_with_key(&second, "same", "the second's").await;
    assert_eq!((theirs.status, mine.status), (201, 201));
    assert_ne!(theirs.text("/id"), mine.text("/id"));
    assert!(!mine.body.to_string().contains("the first's"));
    // the same holds for the same text, and after the post was deleted
    let same = post_with_key(&second, "other", "the first's").await;
    post_with_key(&first, "other", "x").await;
    assert_eq!(same.text("/author/id"), second.id);
    first.delete(&format!("/v1/posts/{}", theirs.text("/id"))).await;
    assert_eq!(post_with_key(&second, "same", "the second's").await.body, mine.body);
    // the same key with another text is refused, and the answer shows neither text
    let reused = post_with_key(&second, "same", "changed").await;
    assert_eq!(reused.problem(), (422, "/problems/idempotency-key-reused"));
    let body = reused.body.to_string();
    assert!(!body.contains("second's") && !body.contains(&mine.text("/id")), "{body}");
}

#[tokio::test]
async fn an_invalid_idempotency_key_is_refused() {
    let user = Client::new().await;
    let token = user.token.clone().expect("a token");
    let body = br#"{"text":"x"}"#;
    for odd in ["", &"k".repeat(256), "\u{e9}", "\u{7f}", "a\tb"] {
        let head = format!("{JSON}Idempotency-Key: {odd}\r\n");
        let answer = wire::send_as(&token, "POST", "/v1/posts", &head, body);
        assert_eq!(answer.problem(), (400, "/problems/invalid-parameter".to_owned()), "{odd:?}");
    }
}

/// All keys in Valkey and DynamoDB have the documented form. They contain no text, name or handle, except the key of
/// the handle's item.
#[tokio::test]
async fn the_keys_of_both_stores_have_the_documented_form() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    world.follow("ash", "birch").await;
    world.home("ash").await;
    world.publish("birch", "a:{1}#b\n*").await;
    world.drain().await;
    assert_eq!(world.home("ash").await.len(), 1);
    let mut valkey = world.redis().await;
    for name in ["ash", "birch"] {
        let user = world.id(name);
        let pattern = format!("*{user}*");
        let keys: Vec<String> =
            redis::cmd("KEYS").arg(pattern).query_async(&mut valkey).await.expect("keys");
        assert!(!keys.is_empty());
        for key in keys {
            let (kind, rest) = key.split_once(":{").expect("a hash tag");
            let (bucket, id) = rest.split_once("}:").expect("a hash tag's end");
            assert!(KeyKind::of(&key).is_some(), "{kind}: {key}");
            assert!(bucket.parse::<u16>().is_ok() && id == user.to_string(), "{key}");
        }
    }
    let table = world.config.text("USERS_TABLE").expect("a table");
    let dynamo = aws_sdk_dynamodb::Client::new(&world.sdk);
    let items = dynamo.scan().table_name(table).send().await.expect("items");
    let keys: BTreeSet<String> =
        items.items().iter().map(|item| item["pk"].as_s().expect("a text").clone()).collect();
    let mut expected: BTreeSet<String> =
        ["ash", "birch"].iter().map(|name| format!("user#{}", world.id(name))).collect();
    expected.extend(["handle#ash".to_owned(), "handle#birch".to_owned()]);
    assert_eq!(keys, expected);
}
