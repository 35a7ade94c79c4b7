//! The export of a user.

use std::collections::BTreeSet;
use std::time::Duration;

use fanfold_core::kinds::ItemKind;
use fanfold_runtime::clock;
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::client::Client;
use crate::security::callers::marks;

/// All lines of the export of the caller.
async fn exported(client: &Client) -> Vec<Value> {
    let (mut lines, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = client.get(&format!("/v1/me/export{cursor}")).await;
        assert_eq!(page.status, 200);
        lines.extend(page.body["items"].as_array().expect("items").iter().cloned());
        let Some(next) = page.body["next_cursor"].as_str() else { return lines };
        cursor = format!("?cursor={next}");
    }
}

/// Each kind of items that the table of kinds exports has a line; nothing of another user is there.
#[tokio::test]
async fn an_export_has_a_line_of_everything_that_is_stored() {
    let (user, other) = (Client::new().await, Client::new().await);
    let post = user.publish("text of the user").await;
    let foreign = other.publish("text of the other").await;
    let send = async |client: &Client, method, path: String, body| {
        let answer = client.send(method, &path, &[], body).await;
        assert!(answer.status < 300, "{path}: {}", answer.body);
    };
    // not one that is liked: the first posts of the ranking are those of the examples
    let edited = user.publish("text of the user, to be edited").await;
    let edit = Some(json!({"text": "edited"}));
    send(&user, Method::PATCH, format!("/v1/posts/{edited}"), edit).await;
    let about = json!({"handle": user.handle, "name": "Name", "about": {"bio": "a bio"}});
    send(&user, Method::PUT, "/v1/me".to_owned(), Some(about)).await;
    for (one, another) in [(&user, &other), (&other, &user)] {
        send(one, Method::PUT, format!("/v1/users/{}/follow", another.id), None).await;
    }
    for mark in marks() {
        send(&user, Method::PUT, format!("/v1/posts/{foreign}/{mark}"), None).await;
    }
    send(&other, Method::PUT, format!("/v1/posts/{post}/like"), None).await;
    for client in [&user, &other] {
        let at = (clock::now() + Duration::from_secs(7_200)).rfc3339();
        let scheduled = json!({"text": format!("later of {}", client.id), "publish_at": at});
        send(client, Method::POST, "/v1/posts".to_owned(), Some(scheduled)).await;
        let timer = format!("/v1/timers/timer-of-{}", client.id);
        send(client, Method::PUT, timer, Some(json!({"due_at": at}))).await;
        let board = format!("/v1/leaderboards/board-of-{}", client.id);
        send(client, Method::PUT, board.clone(), Some(json!({}))).await;
        for member in 0..3 {
            let scores = Some(json!({"scores": ["1"]}));
            send(client, Method::PUT, format!("{board}/members/m{member}"), scores).await;
        }
    }
    for (client, tag) in [(&user, "Owls"), (&other, "Bats")] {
        send(client, Method::PUT, format!("/v1/tags/{tag}/follow"), None).await;
    }
    let lines = exported(&user).await;
    let types: BTreeSet<&str> = lines.iter().filter_map(|line| line["type"].as_str()).collect();
    let wanted = ItemKind::ALL.iter().filter_map(|kind| kind.export().line_type());
    assert_eq!(types, wanted.collect());
    let text = serde_json::to_string(&lines).expect("JSON");
    for of in ["board-of", "later of ", "timer-of"] {
        assert!(text.contains(of) && !text.contains(&format!("{of}-{}", other.id)), "{of}: {text}");
    }
    assert!(
        !text.contains("text of the other") && !text.contains(&format!("later of {}", other.id))
    );
    let followed: Vec<_> = lines.iter().filter(|line| line["type"] == "followed_tag").collect();
    assert_eq!(followed, [&json!({"type": "followed_tag", "tag": "owls", "name": "Owls"})]);
    assert_eq!(lines.iter().filter(|line| line["type"] == "score").count(), 3);
    assert_eq!(lines.iter().filter(|line| line["type"] == "post").count(), 2);
}

#[tokio::test]
async fn what_is_no_cursor_of_an_export_is_refused() {
    let user = Client::new().await;
    let path = |cursor: &str| format!("/v1/me/export?cursor={cursor}");
    for (cursor, expected) in [
        ("", (400, "/problems/invalid-parameter")),
        ("a.b", (400, "/problems/invalid-parameter")),
        (&"a".repeat(1_025), (400, "/problems/invalid-parameter")),
        ("bGlrZXM", (404, "/problems/invalid-cursor")),
    ] {
        assert_eq!(user.get(&path(cursor)).await.problem(), expected, "{cursor}");
    }
}
