//! What becomes of a message that failed too often.

use aws_lambda_events::sqs::{SqsEvent, SqsMessage, SqsMessageAttribute};
use fanfold_core::limits::ANEW_MAX;
use fanfold_store::StoreError;
use fanfold_store::sqs::{Letters, Source, batch};
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
    let config = world.config_but("QUEUE_TRIES", "3");
    let letters =
        Letters::new(&world.sdk, &config, &[Source { queue: "CHUNKS_QUEUE_URL", dead: DEAD }])
            .unwrap();
    let fails = async |_: u32| Err(StoreError::GaveUp { doing: "storing", tries: 8 });
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
    assert_eq!(run(&world, event("1", 1, 0)).await, 1, "SQS brings it once more");
    assert_eq!((length(&world, "CHUNKS_QUEUE_URL").await, length(&world, DEAD).await), (0, 0));
    assert_eq!(run(&world, event("1", 2, 0)).await, 0, "done with, where it was");
    assert_eq!((length(&world, "CHUNKS_QUEUE_URL").await, length(&world, DEAD).await), (1, 0));
    // but not for ever
    assert_eq!(run(&world, event("1", 2, ANEW_MAX)).await, 0);
    assert_eq!((length(&world, "CHUNKS_QUEUE_URL").await, length(&world, DEAD).await), (1, 1));
    let letter = dead_letter(&world).await;
    let reason = &letter["MessageAttributes"]["reason"]["StringValue"];
    assert_eq!(reason, "storing in DynamoDB: gave up after 8 tries", "{letter}");
}

#[tokio::test]
async fn poison_is_tried_again_and_then_lies_in_the_dead_letter_queue_with_its_reason() {
    let world = World::new().await;
    // another version of the function may know it: a deployment may be under way
    assert_eq!(run(&world, event("poison", 1, 0)).await, 1);
    assert_eq!(run(&world, event("poison", 2, 0)).await, 0);
    assert_eq!((length(&world, "CHUNKS_QUEUE_URL").await, length(&world, DEAD).await), (0, 1));
    let letter = dead_letter(&world).await;
    assert_eq!(letter["Body"], "poison");
    let reason = &letter["MessageAttributes"]["reason"]["StringValue"];
    assert!(reason.as_str().is_some_and(|r| r.contains("expected value at line 1")), "{letter}");
}
