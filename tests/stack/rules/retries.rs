//! Retries of failed messages, requeued messages and dead letters.

use std::time::{Duration, Instant};

use aws_lambda_events::sqs::{SqsEvent, SqsMessage, SqsMessageAttribute};
use fanfold_core::limits::REQUEUES_MAX;
use fanfold_core::message::Received;
use fanfold_core::registry::{BULK_EVENTS, CHUNKS, QueueSpec};
use fanfold_core::{PostId, Time, message};
use fanfold_kinds::fanout::messages::DeliverChunk;
use fanfold_kinds::posts::messages::PostPublished;
use fanfold_runtime::sqs::{Incoming, Outcome, Retries, batch};
use fanfold_runtime::trace::{ForeignId, Trace};
use fanfold_runtime::{StoreError, clock};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::harness::aws;
use crate::harness::world::World;

const DEAD: &str = "CHANGE_EVENTS_QUEUE_URL";

#[derive(Debug, Serialize, Deserialize)]
struct Number {
    n: u32,
}

message!(Number 1 on CHUNKS);

/// The body of a message.
fn number(n: u32) -> String {
    Number { n }.encode().unwrap()
}

fn event(body: &str, receives: u32, requeued: u64) -> SqsEvent {
    let mut record = SqsMessage::default();
    record.message_id = Some("the message".to_owned());
    record.body = Some(body.to_owned());
    record.attributes.insert("ApproximateReceiveCount".to_owned(), receives.to_string());
    let mut attribute = SqsMessageAttribute::default();
    attribute.string_value = Some(requeued.to_string());
    record.message_attributes.insert("requeued".to_owned(), attribute);
    let mut event = SqsEvent::default();
    event.records = vec![record];
    event
}

/// Runs a handler that always fails because a store does not answer. Returns the number of records that were returned
/// to the queue.
async fn run(world: &World, event: SqsEvent) -> usize {
    run_of::<Number>(world, event).await
}

async fn run_of<M: Received>(world: &World, event: SqsEvent) -> usize {
    let gave_up = || StoreError::GaveUp { doing: "storing", tries: 8 };
    run_failing::<M>(world, event, gave_up).await
}

async fn run_failing<M: Received>(
    world: &World,
    event: SqsEvent,
    error: impl Fn() -> StoreError,
) -> usize {
    let config = world.config_with_one("QUEUE_TRIES", "5");
    let queue = QueueSpec { dead_url: DEAD, ..*CHUNKS };
    let retries = Retries::new(&world.sdk, &config, &[&queue]).unwrap();
    let fails = async |_: M| Err(error());
    batch::run(event, &retries, async |all| batch::each(all, &fails).await)
        .await
        .batch_item_failures
        .len()
}

/// The number of messages on a queue, delayed ones included.
async fn length(world: &World, queue: &'static str) -> u64 {
    let all = json!({"QueueUrl": world.config.text(queue).unwrap(), "AttributeNames": ["All"]});
    let all = aws("AmazonSQS.GetQueueAttributes", "1.0", &all).await;
    let count = |name: &str| all["Attributes"][name].as_str()?.parse::<u64>().ok();
    ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesDelayed"]
        .into_iter()
        .filter_map(count)
        .sum()
}

async fn dead_letter(world: &World) -> Value {
    let url = world.config.text(DEAD).unwrap();
    let all = json!({"QueueUrl": url, "MessageAttributeNames": ["All"], "VisibilityTimeout": 0});
    aws("AmazonSQS.ReceiveMessage", "1.0", &all).await["Messages"][0].clone()
}

#[tokio::test]
async fn a_message_is_requeued_a_bounded_number_of_times_while_a_store_is_away() {
    let world = World::new().await;
    assert_eq!(run(&world, event(&number(1), 2, 0)).await, 1, "SQS delivers it again");
    assert_eq!((length(&world, "CHUNKS_QUEUE_URL").await, length(&world, DEAD).await), (0, 0));
    assert_eq!(
        run(&world, event(&number(1), 3, 0)).await,
        0,
        "it is done on its old place in the queue"
    );
    assert_eq!((length(&world, "CHUNKS_QUEUE_URL").await, length(&world, DEAD).await), (1, 0));
    // the number of times is bounded
    assert_eq!(run(&world, event(&number(1), 3, REQUEUES_MAX)).await, 0);
    assert_eq!((length(&world, "CHUNKS_QUEUE_URL").await, length(&world, DEAD).await), (1, 1));
    let letter = dead_letter(&world).await;
    let reason = &letter["MessageAttributes"]["reason"]["StringValue"];
    assert_eq!(reason, "storing in DynamoDB: gave up after 8 tries", "{letter}");
}

#[tokio::test]
async fn poison_is_retried_and_then_becomes_a_dead_letter_with_its_reason() {
    let world = World::new().await;
    // a deployment may be under way, and another version of the function may read the message
    assert_eq!(run(&world, event("poison", 2, 0)).await, 1);
    assert_eq!(run(&world, event("poison", 3, 0)).await, 0);
    assert_eq!((length(&world, "CHUNKS_QUEUE_URL").await, length(&world, DEAD).await), (0, 1));
    let letter = dead_letter(&world).await;
    assert_eq!(letter["Body"], "poison");
    let reason = &letter["MessageAttributes"]["reason"]["StringValue"];
    assert!(reason.as_str().is_some_and(|r| r.contains("expected value at line 1")), "{letter}");
}

/// What a store refuses for its content is not tried for as long as an outage.
#[tokio::test]
async fn a_refused_content_becomes_a_dead_letter_with_its_reason() {
    let world = World::new().await;
    let refused = || StoreError::Refused {
        doing: "sending",
        service: "SQS",
        reason: "InvalidMessageContents: U+FFFF".to_owned(),
    };
    assert_eq!(run_failing::<Number>(&world, event(&number(1), 3, 0), refused).await, 0);
    assert_eq!((length(&world, "CHUNKS_QUEUE_URL").await, length(&world, DEAD).await), (0, 1));
    let letter = dead_letter(&world).await;
    let reason = &letter["MessageAttributes"]["reason"]["StringValue"];
    assert_eq!(
        reason,
        "sending: SQS refuses the content or the size: InvalidMessageContents: U+FFFF"
    );
}

/// A message of a real queue, received with a visibility timeout of two minutes.
async fn received(world: &World, since: Option<Time>) -> SqsEvent {
    let url = world.config.text("CHUNKS_QUEUE_URL").unwrap();
    let mut message = json!({"QueueUrl": url, "MessageBody": "1"});
    if let Some(since) = since {
        let since = json!({"DataType": "Number", "StringValue": since.to_string()});
        message["MessageAttributes"] = json!({"since": since});
    }
    aws("AmazonSQS.SendMessage", "1.0", &message).await;
    let receive = json!({
        "QueueUrl": url, "VisibilityTimeout": 120, "AttributeNames": ["All"],
        "MessageAttributeNames": ["All"],
    });
    let taken = aws("AmazonSQS.ReceiveMessage", "1.0", &receive).await["Messages"][0].clone();
    let mut event = event(&number(1), 1, 0);
    let record = &mut event.records[0];
    record.receipt_handle = taken["ReceiptHandle"].as_str().map(str::to_owned);
    let first = &taken["Attributes"]["ApproximateFirstReceiveTimestamp"];
    let first = first.as_str().expect("the time of its first receive").to_owned();
    record.attributes.insert("ApproximateFirstReceiveTimestamp".to_owned(), first);
    if let Some(since) = since {
        let mut attribute = SqsMessageAttribute::default();
        attribute.string_value = Some(since.to_string());
        record.message_attributes.insert("since".to_owned(), attribute);
    }
    event
}

async fn returns_within(world: &World, seconds: u64) -> bool {
    let url = world.config.text("CHUNKS_QUEUE_URL").unwrap();
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(seconds) {
        let receive = json!({"QueueUrl": url, "VisibilityTimeout": 120});
        let taken = aws("AmazonSQS.ReceiveMessage", "1.0", &receive).await;
        if taken["Messages"].as_array().is_some_and(|all| !all.is_empty()) {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    false
}

#[tokio::test]
async fn a_failed_message_returns_after_a_quarter_of_the_time_since_its_first_failure() {
    let world = World::new().await;
    let fresh = received(&world, None).await;
    assert_eq!(run(&world, fresh).await, 1);
    assert!(returns_within(&world, 60).await, "it returns after two minutes, not after one second");
    // a message that has failed for a minute waits for 15 s
    let world = World::new().await;
    let old = received(&world, Some(clock::now() - Duration::from_secs(60))).await;
    assert_eq!(run(&world, old).await, 1);
    assert!(
        !returns_within(&world, 6).await,
        "a message is tried every second during a long outage"
    );
}

/// A requeued message keeps the time of its first failure.
#[tokio::test]
async fn a_requeued_message_keeps_the_time_of_its_first_failure() {
    let world = World::new().await;
    let since = clock::now() - Duration::from_secs(5);
    let mut old = received(&world, Some(since)).await;
    old.records[0].attributes.insert("ApproximateReceiveCount".to_owned(), "3".to_owned());
    assert_eq!(run(&world, old).await, 0);
    let url = world.config.text("CHUNKS_QUEUE_URL").unwrap();
    let receive = json!({
        "QueueUrl": url, "MessageAttributeNames": ["All"], "WaitTimeSeconds": 5,
    });
    let taken = aws("AmazonSQS.ReceiveMessage", "1.0", &receive).await["Messages"][0].clone();
    let attributes = &taken["MessageAttributes"];
    assert_eq!(attributes["since"]["StringValue"], since.to_string(), "{taken}");
    assert_eq!(attributes["requeued"]["StringValue"], "1", "{taken}");
}

/// The rest of a message is sent as a new message, and the message itself is done.
#[tokio::test]
async fn the_rest_of_a_message_replaces_the_message() {
    let world = World::new().await;
    let queue = QueueSpec { dead_url: DEAD, ..*CHUNKS };
    let retries = Retries::new(&world.sdk, &world.config, &[&queue]).unwrap();
    let half = async |all: Vec<Incoming<Number>>| {
        let left = |Incoming { message, .. }: Incoming<Number>| Outcome::Left {
            rest: Number { n: message.n / 2 },
            error: StoreError::GaveUp { doing: "storing", tries: 8 },
        };
        all.into_iter().map(left).collect()
    };
    let response = batch::run(event(&number(8), 1, 0), &retries, half).await;
    assert!(response.batch_item_failures.is_empty());
    let url = world.config.text("CHUNKS_QUEUE_URL").unwrap();
    let receive = json!({"QueueUrl": url, "WaitTimeSeconds": 5});
    let taken = aws("AmazonSQS.ReceiveMessage", "1.0", &receive).await["Messages"][0].clone();
    assert_eq!(taken["Body"].as_str(), Some(&*number(4)));
}

/// A newer function sends such a message while older functions still run, or before a rollback.
#[tokio::test]
async fn a_message_of_a_newer_version_is_requeued() {
    let world = World::new().await;
    let newer = r#"{"type":"DeliverChunk","v":2,"post":{"another":"form"}}"#;
    assert_eq!(run_of::<DeliverChunk>(&world, event(newer, 1, 0)).await, 1, "it is tried again");
    assert_eq!(run_of::<DeliverChunk>(&world, event(newer, 3, 0)).await, 0);
    assert_eq!((length(&world, "CHUNKS_QUEUE_URL").await, length(&world, DEAD).await), (1, 0));
    // neither an unknown field nor an unknown kind is a newer version
    for poison in [
        r#"{"type":"DeliverChunk","v":1,"post":"01M7YZ0V042DVTFTPP3HS0JN1E","cut_at_ms":5,"followers":"","new":1}"#,
        r#"{"type":"SomethingElse","v":2}"#,
    ] {
        let dead = length(&world, DEAD).await;
        assert_eq!(run_of::<DeliverChunk>(&world, event(poison, 3, 0)).await, 0);
        assert_eq!(length(&world, DEAD).await, dead + 1, "{poison}");
    }
}

/// Every message carries the id of the HTTP request that caused it, and keeps it.
#[tokio::test]
async fn messages_carry_the_id_of_their_request() {
    let world = World::new().await;
    let request = ForeignId::parse("request-1=");
    let trace = Trace::default().with_request(request.clone());
    world.people(&["ash"]).await;
    let requests = async |queue: &'static str| {
        let url = world.config.text(queue).unwrap();
        let all =
            json!({"QueueUrl": url, "MessageAttributeNames": ["All"], "MaxNumberOfMessages": 10});
        let all = aws("AmazonSQS.ReceiveMessage", "1.0", &all).await;
        let all = all["Messages"].as_array().cloned().unwrap_or_default();
        let request = |message: &Value| message["MessageAttributes"]["request"].clone();
        all.iter().map(request).collect::<Vec<_>>()
    };
    let expected = json!({"StringValue": "request-1=", "DataType": "String"});
    trace.clone().scope(world.publish("ash", "text")).await;
    assert_eq!(requests("POST_EVENTS_QUEUE_URL").await, std::slice::from_ref(&expected));
    // a message that an older function sent without an id
    world.publish("ash", "text").await;
    assert_eq!(requests("POST_EVENTS_QUEUE_URL").await, [Value::Null]);
    // several messages in one call
    let events = [PostId::MIN, PostId::MAX].map(PostPublished::new);
    trace.scope(world.app.outbox.send_all_on(BULK_EVENTS, &events)).await.unwrap();
    assert_eq!(requests("BULK_EVENTS_QUEUE_URL").await, [expected.clone(), expected.clone()]);
    // the handler of a message has the id of its request, and a dead letter keeps the id
    let mut poison = event("poison", 3, 0);
    let mut attribute = SqsMessageAttribute::default();
    attribute.string_value = Some("request-1=".to_owned());
    poison.records[0].message_attributes.insert("request".to_owned(), attribute);
    assert_eq!(run(&world, poison.clone()).await, 0);
    assert_eq!(dead_letter(&world).await["MessageAttributes"]["request"], expected);
    poison.records[0].body = Some(number(7));
    let seen = async |_: Number| {
        assert_eq!(Trace::current().request, request);
        Ok(())
    };
    let none = Retries::none();
    let response = batch::run(poison, &none, async |all| batch::each(all, &seen).await);
    assert!(response.await.batch_item_failures.is_empty());
}
