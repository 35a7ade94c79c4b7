//! Each deployed function that takes messages: the same batch twice, reordered, late, and with one bad record
//! among good ones.

use std::time::Duration;

use fanfold_core::message::Received as _;
use fanfold_core::{PostId, Time, UserId};
use fanfold_kinds::fanout::messages::DeliverChunk;
use fanfold_runtime::clock;
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::client::Client;
use crate::harness::dice::Dice;
use crate::harness::{aws, eventually, output, setting};

/// Calls a function with a batch of bodies. Returns the ids of the records that it returned as failed.
async fn invoke(function: &str, bodies: &[String]) -> Vec<String> {
    let records: Vec<Value> = bodies
        .iter()
        .enumerate()
        .map(|(index, body)| json!({"messageId": format!("record {index}"), "body": body}))
        .collect();
    let answer = call(function, &json!({"Records": records})).await;
    let failures = answer["batchItemFailures"].as_array();
    let failures = failures.unwrap_or_else(|| panic!("{function} answered {answer}")).iter();
    failures.map(|f| f["itemIdentifier"].as_str().expect("an id").to_owned()).collect()
}

pub async fn call(function: &str, event: &Value) -> Value {
    let url = format!(
        "{}/2015-03-31/functions/{}/invocations",
        setting("AWS_ENDPOINT_URL"),
        output(function)
    );
    let answer = reqwest::Client::new().post(url).body(event.to_string()).send().await;
    let answer = answer.expect("Lambda answers");
    let failed = answer.headers().get("x-amz-function-error").is_some();
    let body: Value = answer.json().await.expect("JSON");
    assert!(!failed, "{function} answered {body}");
    body
}

fn poison() -> [String; 5] {
    [
        String::new(),
        "{".to_owned(),
        json!({"type": "PostPublished", "v": 99, "post": "01ARZ3NDEKTSV4RRFFQ69G5FAV"}).to_string(),
        json!({"type": "SomethingElse", "v": 1}).to_string(),
        "\u{0}\u{1}\u{feff}".to_owned(),
    ]
}

/// Sends the batch twice over in random orders, each with one kind of poison at a random place. Only the poison
/// may be returned.
async fn check_batches(function: &str, good: &[String]) {
    let mut dice = Dice(1);
    for poison in poison() {
        let mut batch = [good, good].concat();
        dice.shuffle(&mut batch);
        let place = dice.below(batch.len() as u64 + 1) as usize;
        batch.insert(place, poison.clone());
        let returned = invoke(function, &batch).await;
        assert_eq!(returned, [format!("record {place}")], "{function}: {poison:?}");
    }
    assert!(invoke(function, good).await.is_empty());
    assert!(invoke(function, &[]).await.is_empty());
}

struct People {
    reader: Client,
    author: Client,
    posts: Vec<String>,
}

/// A reader with a live feed, and an author with posts in it.
async fn people() -> People {
    let (reader, author) = (Client::new().await, Client::new().await);
    let follow = format!("/v1/users/{}/follow", author.id);
    assert_eq!(reader.put(&follow).await.status, 204);
    reader.get("/v1/timeline").await;
    let mut posts = Vec::new();
    for n in 0..4 {
        posts.insert(0, author.publish(&format!("post {n}")).await);
    }
    let people = People { reader, author, posts };
    people.at_rest(&people.posts).await;
    people
}

impl People {
    async fn at_rest(&self, expected: &[String]) {
        eventually("the timeline", async || {
            (self.reader.get("/v1/timeline").await.ids() == expected).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn dispatch_handles_reordered_and_repeated_batches_and_returns_bad_records() {
    let people = people().await;
    let never = PostId::new(Time::from_ms(1), 1, UserId(1)).to_string();
    let events: Vec<String> = [&people.posts[..], &[never]]
        .concat()
        .iter()
        .map(|post| json!({"type": "PostPublished", "v": 1, "post": post}).to_string())
        .collect();
    check_batches("DispatchFunction", &events).await;
    people.at_rest(&people.posts).await;
}

#[tokio::test]
async fn deliver_handles_reordered_and_repeated_batches_and_returns_bad_records() {
    let people = people().await;
    let reader: UserId = people.reader.id.parse().expect("an id");
    // every second chunk is late: it was cut in 1970, so the followers are read again
    let chunks: Vec<String> = people
        .posts
        .iter()
        .enumerate()
        .map(|(index, post)| {
            let cut_at = if index % 2 == 0 { clock::now() } else { Time::from_ms(1) };
            let post = post.parse().expect("an id");
            let followers = vec![UserId(1), reader];
            let chunk = DeliverChunk::new(post, cut_at, followers);
            chunk.encode().expect("JSON")
        })
        .collect();
    check_batches("DeliverFunction", &chunks).await;
    people.at_rest(&people.posts).await;
    // a chunk of a deleted post that is still under way
    people.author.delete(&format!("/v1/posts/{}", people.posts[0])).await;
    assert!(invoke("DeliverFunction", &chunks[..1]).await.is_empty());
    people.at_rest(&people.posts[1..]).await;
}

#[tokio::test]
async fn graph_handles_reordered_and_repeated_batches_and_returns_bad_records() {
    let people = people().await;
    let event = |at: u64| {
        json!({
            "type": "RelationChanged", "v": 1, "changed_at_ms": at,
            "follower": people.reader.id, "author": people.author.id,
        })
        .to_string()
    };
    // the present relation counts, whatever the events say
    let events = [event(1), event(2), event(3)];
    check_batches("ChangesFunction", &events).await;
    people.at_rest(&people.posts).await;
    let follow = format!("/v1/users/{}/follow", people.author.id);
    assert_eq!(people.reader.delete(&follow).await.status, 204);
    people.at_rest(&[]).await;
    check_batches("ChangesFunction", &events).await;
    people.at_rest(&[]).await;
}

#[tokio::test]
async fn rebuild_handles_reordered_and_repeated_batches_and_returns_bad_records() {
    let people = people().await;
    check_batches("RebuildFunction", &[rebuild_of(&people), rebuild_of(&people)]).await;
    people.at_rest(&people.posts).await;
}

/// A time in this many seconds.
fn ahead(s: u64) -> String {
    (clock::now() + Duration::from_secs(s)).rfc3339()
}

#[tokio::test]
async fn due_handles_reordered_and_repeated_batches_and_returns_bad_records() {
    let owner = Client::new().await;
    let body = json!({"due_at": ahead(3_600), "payload": 7});
    let put = owner.send(Method::PUT, "/v1/timers/far", &[], Some(body)).await;
    assert_eq!(put.status, 201, "{put:?}");
    let at = Time::parse_rfc3339(&put.text("/due_at")).expect("a time");
    // one for the wrong time, one of a timer that is gone, and one that is early, which is sent again
    let far = format!("timer#{}#far", owner.id);
    let entries = [
        format!("{:015}#{far}", 1),
        format!("{:015}#timer#{}#gone", 2, owner.id),
        format!("{:015}#{far}", at.ms()),
    ];
    let messages =
        entries.map(|entry| json!({"type": "ItemDue", "v": 1, "entry": entry}).to_string());
    check_batches("DueFunction", &messages).await;
    assert_eq!(owner.get("/v1/timers/far").await.body, put.body, "it has not fired");
}

#[tokio::test]
async fn webhook_handles_reordered_and_repeated_batches_and_returns_bad_records() {
    // without an address, they are dropped
    check_batches("WebhookFunction", &[fired("one"), fired("two")]).await;
}

#[tokio::test]
async fn the_look_ahead_returns_its_counts() {
    let looked = call("LookAheadFunction", &json!({"any": "event"})).await;
    let numbers = ["handed_on", "overdue", "oldest_ms", "loaded"].map(|name| looked[name].is_u64());
    assert!(numbers == [true; 4], "{looked}");
}

#[tokio::test]
async fn the_audit_returns_its_counts() {
    let people = people().await;
    // feeds and cards of relations in random buckets; the audit visits most buckets
    for _ in 0..20 {
        let reader = Client::new().await;
        reader.get("/v1/timeline").await;
        reader.get(&format!("/v1/users/{}", people.author.id)).await;
    }
    let audited = call("AuditFunction", &json!({"any": "event"})).await;
    let numbers = ["checked", "differed", "repaired"].map(|name| audited[name].is_u64());
    assert!(numbers == [true; 3] && audited["checked"] != 0, "{audited}");
}

#[tokio::test]
async fn the_sweep_returns_its_counts() {
    let swept = call("SweepFunction", &json!({"any": "event"})).await;
    assert!(swept["dropped"].is_u64() && swept["remaining"] == 0, "{swept}");
}

/// Uses the real queues. Only the bad message ends in the dead-letter queue.
#[tokio::test]
async fn only_poison_ends_in_the_dead_letter_queue() {
    let people = people().await;
    let good = json!({"type": "PostPublished", "v": 1, "post": people.posts[0]}).to_string();
    let queues = [
        ("PostEventsQueueUrl", "PostEventsDeadUrl"),
        ("ChunksQueueUrl", "ChunksDeadUrl"),
        ("BulkEventsQueueUrl", "BulkEventsDeadUrl"),
        ("BulkChunksQueueUrl", "BulkChunksDeadUrl"),
        ("ChangeEventsQueueUrl", "ChangeEventsDeadUrl"),
        ("RebuildsQueueUrl", "RebuildsDeadUrl"),
        ("DueItemsQueueUrl", "DueItemsDeadUrl"),
        ("WebhooksQueueUrl", "WebhooksDeadUrl"),
    ];
    for (queue, _) in queues {
        send(queue, &good_message_of(queue, &people, &good)).await;
        send(queue, &format!("poison for {queue}")).await;
        send(queue, &good_message_of(queue, &people, &good)).await;
    }
    for (queue, dead) in queues {
        let what = format!("the poison in {dead}");
        let letter = eventually(&what, async || {
            let all = json!({"QueueUrl": output(dead), "MessageAttributeNames": ["All"]});
            let answer = sqs("ReceiveMessage", all).await;
            answer["Messages"].get(0).cloned()
        });
        let letter = letter.await;
        assert_eq!(letter["Body"], format!("poison for {queue}"));
        let reason = &letter["MessageAttributes"]["reason"]["StringValue"];
        assert!(reason.as_str().is_some_and(|r| r.contains("expected value")), "{letter}");
        let left = json!({"QueueUrl": output(dead), "AttributeNames": ["All"]});
        let left = sqs("GetQueueAttributes", left).await;
        let count = |name: &str| left["Attributes"][name].as_str().map(str::to_owned);
        assert_eq!(count("ApproximateNumberOfMessages").as_deref(), Some("0"), "{left}");
    }
    people.at_rest(&people.posts).await;
    // the API refuses methods that the description does not have
    assert_eq!(people.reader.send(Method::POST, "/v1/timeline", &[], None).await.status, 405);
}

fn good_message_of(queue: &str, people: &People, event: &str) -> String {
    match queue {
        "PostEventsQueueUrl" | "BulkEventsQueueUrl" => event.to_owned(),
        "ChunksQueueUrl" | "BulkChunksQueueUrl" => json!({
            "type": "DeliverChunk", "v": 1, "post": people.posts[0],
            "cut_at_ms": clock::now(), "followers": "",
        })
        .to_string(),
        "RebuildsQueueUrl" => rebuild_of(people),
        "DueItemsQueueUrl" => {
            let entry = format!("{:015}#timer#{}#gone", 2, people.reader.id);
            json!({"type": "ItemDue", "v": 1, "entry": entry}).to_string()
        }
        "WebhooksQueueUrl" => fired("good"),
        _ => json!({
            "type": "RelationChanged", "v": 1, "changed_at_ms": 1,
            "follower": people.reader.id, "author": people.author.id,
        })
        .to_string(),
    }
}

/// The message of a timer.
fn fired(name: &str) -> String {
    json!({
        "type": "TimerFired", "v": 1, "id": name, "owner": "a7ead61c7209542e", "name": name,
        "due_at": "2026-01-01T00:00:00.000Z", "payload": null,
    })
    .to_string()
}

fn rebuild_of(people: &People) -> String {
    json!({"type": "RebuildFeed", "v": 1, "user": people.reader.id, "lease": "a lease"}).to_string()
}

async fn send(queue: &str, body: &str) {
    sqs("SendMessage", json!({"QueueUrl": output(queue), "MessageBody": body})).await;
}

async fn sqs(operation: &str, body: Value) -> Value {
    aws(&format!("AmazonSQS.{operation}"), "1.0", &body).await
}
