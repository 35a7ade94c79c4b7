//! What becomes of a message that failed too often.

use aws_lambda_events::sqs::{SqsEvent, SqsMessage, SqsMessageAttribute};
use fanfold_core::PostId;
use fanfold_core::limits::ANEW_MAX;
use fanfold_core::message::{DeliverChunk, PostPublished};
use fanfold_store::StoreError;
use fanfold_store::origin::{ForeignId, Origin};
use fanfold_store::sqs::{Letters, Source, batch};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::harness::aws;
use crate::harness::world::World;

const DEAD: &str = "GRAPH_EVENTS_QUEUE_URL";

fn event(body: &str, came: u32, anew: u64) -> SqsEvent {
    let mut record = SqsMessage::default();
    record.message_id = Some("the message".to_owned());
    record.body = Some(body.to_owned());
    record.attributes.insert("ApproximateReceiveCount".to_owned(), came.to_string());
    let mut attribute = SqsMessageAttribute::default();
    attribute.string_value = Some(anew.to_string());
    record.message_attributes.insert("anew".to_owned(), attribute);
    let mut event = SqsEvent::default();
    event.records = vec![record];
    event
}

/// Runs a handler that always fails for want of a store. Gives how many records were returned.
async fn run(world: &World, event: SqsEvent) -> usize {
    run_of::<u32>(world, event).await
}

async fn run_of<M: DeserializeOwned>(world: &World, event: SqsEvent) -> usize {
    let config = world.config_but("QUEUE_TRIES", "5");
    let letters =
        Letters::new(&world.sdk, &config, &[Source { queue: "CHUNKS_QUEUE_URL", dead: DEAD }])
            .unwrap();
    let fails = async |_: M| Err(StoreError::GaveUp { doing: "storing", tries: 8 });
    batch::run(event, &letters, async |all| batch::each(all, &fails).await)
        .await
        .batch_item_failures
        .len()
}

/// How many messages a queue has, those that are delayed among them.
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
async fn while_a_store_is_away_a_message_starts_anew_and_never_dies() {
    let world = World::new().await;
    assert_eq!(run(&world, event("1", 2, 0)).await, 1, "SQS brings it once more");
    assert_eq!((length(&world, "CHUNKS_QUEUE_URL").await, length(&world, DEAD).await), (0, 0));
    assert_eq!(run(&world, event("1", 3, 0)).await, 0, "done with, where it was");
    assert_eq!((length(&world, "CHUNKS_QUEUE_URL").await, length(&world, DEAD).await), (1, 0));
    // but not for ever
    assert_eq!(run(&world, event("1", 3, ANEW_MAX)).await, 0);
    assert_eq!((length(&world, "CHUNKS_QUEUE_URL").await, length(&world, DEAD).await), (1, 1));
    let letter = dead_letter(&world).await;
    let reason = &letter["MessageAttributes"]["reason"]["StringValue"];
    assert_eq!(reason, "storing in DynamoDB: gave up after 8 tries", "{letter}");
}

#[tokio::test]
async fn poison_is_tried_again_and_then_lies_in_the_dead_letter_queue_with_its_reason() {
    let world = World::new().await;
    // another version of the function may know it: a deployment may be under way
    assert_eq!(run(&world, event("poison", 2, 0)).await, 1);
    assert_eq!(run(&world, event("poison", 3, 0)).await, 0);
    assert_eq!((length(&world, "CHUNKS_QUEUE_URL").await, length(&world, DEAD).await), (0, 1));
    let letter = dead_letter(&world).await;
    assert_eq!(letter["Body"], "poison");
    let reason = &letter["MessageAttributes"]["reason"]["StringValue"];
    assert!(reason.as_str().is_some_and(|r| r.contains("expected value at line 1")), "{letter}");
}

/// A newer function sent it while older ones are at work, or before it was taken back.
#[tokio::test]
async fn a_newer_version_waits_for_a_newer_function_and_never_dies() {
    let world = World::new().await;
    let newer = r#"{"type":"DeliverChunk","v":2,"post":{"another":"form"}}"#;
    assert_eq!(run_of::<DeliverChunk>(&world, event(newer, 1, 0)).await, 1, "it comes once more");
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

/// The HTTP request that work comes from goes with all messages that the work sends, and stays with them.
#[tokio::test]
async fn messages_name_the_request_that_they_come_from() {
    let world = World::new().await;
    let request = ForeignId::parse("request-1=");
    let origin = Origin::default().with_request(request.clone());
    world.people(&["ash"]).await;
    let told = async |queue: &'static str| {
        let url = world.config.text(queue).unwrap();
        let all =
            json!({"QueueUrl": url, "MessageAttributeNames": ["All"], "MaxNumberOfMessages": 10});
        let all = aws("AmazonSQS.ReceiveMessage", "1.0", &all).await;
        let all = all["Messages"].as_array().cloned().unwrap_or_default();
        let request = |message: &Value| message["MessageAttributes"]["request"].clone();
        all.iter().map(request).collect::<Vec<_>>()
    };
    let expected = json!({"StringValue": "request-1=", "DataType": "String"});
    origin.clone().scope(world.publish("ash", "text")).await;
    assert_eq!(told("POST_EVENTS_QUEUE_URL").await, std::slice::from_ref(&expected));
    // one that was sent without, by an older function
    world.publish("ash", "text").await;
    assert_eq!(told("POST_EVENTS_QUEUE_URL").await, [Value::Null]);
    // several at a time
    let events = [PostPublished::new(PostId::MIN), PostPublished::new(PostId::MAX)];
    origin.scope(world.dispatch.bulk.events.send_all(&events)).await.unwrap();
    assert_eq!(told("BULK_EVENTS_QUEUE_URL").await, [expected.clone(), expected.clone()]);
    // a message is handled as one of its request, and keeps it as a dead letter
    let mut poison = event("poison", 3, 0);
    let mut attribute = SqsMessageAttribute::default();
    attribute.string_value = Some("request-1=".to_owned());
    poison.records[0].message_attributes.insert("request".to_owned(), attribute);
    assert_eq!(run(&world, poison.clone()).await, 0);
    assert_eq!(dead_letter(&world).await["MessageAttributes"]["request"], expected);
    poison.records[0].body = Some("7".to_owned());
    let seen = async |_: u32| {
        assert_eq!(Origin::current().request, request);
        Ok(())
    };
    let none = Letters::none();
    let response = batch::run(poison, &none, async |all| batch::each(all, &seen).await);
    assert!(response.await.batch_item_failures.is_empty());
}
