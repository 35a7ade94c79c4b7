//! Scheduled posts and timers, over HTTP and through the deployed functions and queues.

use std::time::{Duration, Instant};

use fanfold_core::Time;
use fanfold_runtime::clock;
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::client::{Answer, Client};
use crate::harness::{aws, output};

fn ahead(s: u64) -> String {
    (clock::now() + Duration::from_secs(s)).rfc3339()
}

async fn schedule(client: &Client, text: &str, publish_at: &str) -> Answer {
    let body = json!({"text": text, "publish_at": publish_at});
    client.send(Method::POST, "/v1/posts", &[], Some(body)).await
}

async fn put_timer(client: &Client, name: &str, body: Value) -> Answer {
    client.send(Method::PUT, &format!("/v1/timers/{name}"), &[], Some(body)).await
}

#[tokio::test]
async fn a_scheduled_post_is_read_changed_listed_and_cancelled() {
    let (author, other) = (Client::new().await, Client::new().await);
    let at = ahead(7_200);
    let made = schedule(&author, " later ", &at).await;
    assert_eq!((made.status, made.text("/state").as_str()), (202, "waiting"));
    assert_eq!((made.text("/text"), made.text("/publish_at")), ("later".to_owned(), at));
    let path = made.headers["location"].to_str().expect("a location").to_owned();
    assert_eq!(path, format!("/v1/scheduled/{}", made.text("/id")));
    assert_eq!(author.get(&path).await.body, made.body);
    let foreign = [other.get(&path).await, other.delete(&path).await];
    for answer in &foreign {
        assert_eq!(answer.problem(), (404, "/problems/no-such-scheduled-post"));
    }
    let sooner = ahead(3_600);
    let change = json!({"publish_at": sooner, "text": "sooner"});
    let changed = author.send(Method::PATCH, &path, &[], Some(change)).await;
    assert_eq!((changed.status, changed.text("/publish_at")), (200, sooner));
    let first = made.text("/id");
    let second = schedule(&author, "second", &ahead(3_700)).await.text("/id");
    let third = schedule(&author, "third", &ahead(90)).await.text("/id");
    assert_eq!(author.walk("/v1/scheduled", 2).await, [third, first, second]);
    assert!(other.walk("/v1/scheduled", 2).await.is_empty());
    for _ in 0..2 {
        assert_eq!(author.delete(&path).await.status, 204);
    }
    assert_eq!(author.get(&path).await.problem(), (404, "/problems/no-such-scheduled-post"));
    assert_eq!(author.walk("/v1/scheduled", 100).await.len(), 2);
    assert!(author.walk(&format!("/v1/users/{}/posts", author.id), 10).await.is_empty());
}

#[tokio::test]
async fn times_and_bodies_that_are_not_allowed_are_refused() {
    let author = Client::new().await;
    for at in ["2030-01-01", "2030-01-01T00:00:00", "tomorrow", ""] {
        let refused = schedule(&author, "text", at).await;
        assert_eq!(refused.problem(), (400, "/problems/invalid-body"), "{at}");
    }
    for at in [ahead(0), ahead(55), ahead(367 * 86_400), Time::EPOCH.rfc3339()] {
        let refused = schedule(&author, "text", &at).await;
        assert_eq!(refused.problem(), (422, "/problems/invalid-time"), "{at}");
    }
    let path = schedule(&author, "text", &ahead(3_600)).await.text("/id");
    let path = format!("/v1/scheduled/{path}");
    for empty in [json!({}), json!({"text": null}), json!({"other": 1})] {
        let refused = author.send(Method::PATCH, &path, &[], Some(empty)).await;
        assert_eq!(refused.problem(), (400, "/problems/invalid-body"));
    }
    let at = ahead(3_600);
    for (body, expected) in [
        (json!({}), (400, "/problems/invalid-body")),
        (json!({"due_at": at, "every": "PT1S"}), (400, "/problems/invalid-body")),
        (json!({"due_at": at, "every": "P1M"}), (400, "/problems/invalid-body")),
        (json!({"due_at": at, "payload": "x".repeat(5_000)}), (422, "/problems/invalid-payload")),
        (json!({"due_at": ahead(367 * 86_400)}), (422, "/problems/invalid-time")),
    ] {
        let refused = put_timer(&author, "t", body).await;
        assert_eq!(refused.problem(), expected);
    }
    for (depth, status) in [(120, 201), (121, 400), (126, 400)] {
        let deep = (0..depth).fold(json!(1), |inner, nth| {
            if nth % 2 == 0 { json!([inner]) } else { json!({"a": inner}) }
        });
        let put = put_timer(&author, "deep", json!({"due_at": at, "payload": deep})).await;
        assert_eq!(put.status, status, "{depth} deep: {put:?}");
    }
    // never early
    let exact = json!({"due_at": "2025-01-01T00:00:00.0006Z", "every": "PT1H"});
    let rounded = put_timer(&author, "exact", exact).await.text("/due_at");
    assert!(rounded.ends_with(":00:00.001Z"), "{rounded}");
    for name in ["a%20b", "%23", &"n".repeat(129)] {
        let refused = put_timer(&author, name, json!({"due_at": at})).await;
        assert_eq!(refused.problem(), (400, "/problems/invalid-id"), "{name}");
    }
    let stranger = Client::signed_in().await;
    let refused = put_timer(&stranger, "t", json!({"due_at": at})).await;
    assert_eq!(refused.problem(), (409, "/problems/profile-missing"));
    let refused = schedule(&stranger, "text", &at).await;
    assert_eq!(refused.problem(), (409, "/problems/profile-missing"));
}

#[tokio::test]
async fn timers_are_put_listed_replaced_and_deleted() {
    let (owner, other) = (Client::new().await, Client::new().await);
    let at = ahead(3_600);
    let body = json!({"due_at": at, "every": "P1DT90M", "payload": {"a": [1, null]}});
    let made = put_timer(&owner, "renew", body.clone()).await;
    assert_eq!((made.status, made.text("/every").as_str()), (201, "P1DT1H30M"));
    assert_eq!((&made.body["payload"], made.text("/due_at")), (&body["payload"], at.clone()));
    let found = owner.get("/v1/timers/renew").await;
    assert_eq!((found.status, &found.body), (200, &made.body));
    assert_eq!(put_timer(&owner, "renew", json!({"due_at": at})).await.status, 200);
    for name in ["b", "a", "c"] {
        assert_eq!(put_timer(&owner, name, json!({"due_at": at})).await.status, 201);
    }
    let (mut names, mut path) = (Vec::new(), "/v1/timers?limit=3".to_owned());
    loop {
        let page = owner.get(&path).await;
        let items = page.body["items"].as_array().expect("items").clone();
        names.extend(
            items.iter().map(|timer| timer["name"].as_str().unwrap_or_default().to_owned()),
        );
        let Some(cursor) = page.body["next_cursor"].as_str() else { break };
        path = format!("/v1/timers?limit=3&cursor={cursor}");
        assert_eq!(other.get(&path).await.problem(), (404, "/problems/invalid-cursor"));
    }
    assert_eq!(names, ["a", "b", "c", "renew"]);
    let foreign = [other.get("/v1/timers/renew").await, other.delete("/v1/timers/renew").await];
    for answer in &foreign {
        assert_eq!(answer.problem(), (404, "/problems/no-such-timer"));
    }
    assert_eq!(owner.delete("/v1/timers/renew").await.status, 204);
    assert_eq!(owner.delete("/v1/timers/renew").await.problem(), (404, "/problems/no-such-timer"));
}

/// A timer in the past: its message comes out of the output queue of the stack.
#[tokio::test]
async fn the_message_of_a_timer_arrives_in_the_queue_of_the_stack() {
    let owner = Client::new().await;
    let body = json!({"due_at": "2026-01-01T00:00:00Z", "payload": {"plan": "pro"}});
    let made = put_timer(&owner, "once", body).await;
    assert_eq!(made.status, 201);
    let (start, url) = (Instant::now(), output("TimerEventsQueueUrl"));
    let fired = loop {
        assert!(start.elapsed().as_secs() < 60, "the message does not arrive");
        // messages of other tests stay hidden for a while, so that they do not stand before this one
        let ask = json!({"QueueUrl": url, "MaxNumberOfMessages": 10, "VisibilityTimeout": 30});
        let found = aws("AmazonSQS.ReceiveMessage", "1.0", &ask).await;
        let bodies = found["Messages"].as_array().cloned().unwrap_or_default();
        let bodies = bodies.iter().filter_map(|message| message["Body"].as_str());
        let mut bodies = bodies.filter_map(|body| serde_json::from_str::<Value>(body).ok());
        if let Some(fired) = bodies.find(|body| body["owner"] == owner.id.as_str()) {
            break fired;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    };
    assert_eq!(fired["type"], "TimerFired");
    assert_eq!((&fired["name"], &fired["payload"]), (&json!("once"), &json!({"plan": "pro"})));
    assert_eq!(fired["due_at"], made.body["due_at"]);
    assert_eq!(owner.get("/v1/timers/once").await.problem(), (404, "/problems/no-such-timer"));
}

#[tokio::test]
async fn a_timer_that_repeats_moves_to_its_next_time() {
    let (owner, due) = (Client::new().await, clock::now() + Duration::from_secs(2));
    let body = json!({"due_at": due.rfc3339(), "every": "PT1M", "payload": 1});
    assert_eq!(put_timer(&owner, "again", body).await.status, 201);
    let (start, next) = (Instant::now(), due + Duration::from_secs(60));
    while owner.get("/v1/timers/again").await.text("/due_at") != next.rfc3339() {
        assert!(start.elapsed().as_secs() < 50, "it does not fire");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert_eq!(owner.delete("/v1/timers/again").await.status, 204);
}

/// A minute ahead: the request hands the post on to SQS, which delays the message.
#[tokio::test]
async fn a_post_for_the_next_minute_is_published_in_time() {
    let (author, follower) = (Client::new().await, Client::new().await);
    assert_eq!(follower.put(&format!("/v1/users/{}/follow", author.id)).await.status, 204);
    let (answered, due) = (follower.publish("when?").await, clock::now() + Duration::from_secs(62));
    let text = format!("in time, @{}", follower.handle);
    let body = json!({"text": text, "publish_at": due.rfc3339(), "in_reply_to": answered});
    let made = author.send(Method::POST, "/v1/posts", &[], Some(body)).await;
    assert_eq!((made.status, made.text("/in_reply_to")), (202, answered.clone()));
    let path = format!("/v1/scheduled/{}", made.text("/id"));
    let post = loop {
        let found = author.get(&path).await;
        if found.text("/state") == "published" {
            break found.text("/post");
        }
        let now = clock::now();
        assert!(now < due + Duration::from_secs(60), "it is not published a minute after its time");
        tokio::time::sleep(Duration::from_millis(500)).await;
    };
    assert!(clock::now() >= due, "published before its time");
    let shown = author.get(&format!("/v1/posts/{post}")).await;
    assert_eq!(
        [shown.text("/text"), shown.text("/created_at"), shown.text("/in_reply_to")],
        [text, due.rfc3339(), answered.clone()]
    );
    assert_eq!(shown.text("/entities/0/user"), follower.id);
    let late = author.delete(&path).await;
    assert_eq!(late.problem(), (409, "/problems/already-published"));
    let start = Instant::now();
    while follower.walk("/v1/timeline", 10).await != [post.clone(), answered.clone()] {
        assert!(start.elapsed().as_secs() < 60, "the follower does not see the post");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}
