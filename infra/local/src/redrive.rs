//! Brings dead letters back to their queue, after what was wrong with them is mended.

use std::process::ExitCode;

use serde_json::{Value, json};

use crate::failure::{Done, failure};
use crate::running::Running;

/// The queues, by the names that people type, and by those of the stack's outputs.
const QUEUES: [(&str, &str); 6] = [
    ("post-events", "PostEvents"),
    ("chunks", "Chunks"),
    ("bulk-events", "BulkEvents"),
    ("bulk-chunks", "BulkChunks"),
    ("graph-events", "GraphEvents"),
    ("rebuilds", "Rebuilds"),
];
const BATCH: usize = 10;

/// Moves what is in the dead-letter queue now. What is poison still comes back to it.
pub fn redrive(name: &str) -> Done<ExitCode> {
    let known = QUEUES.iter().find(|(known, _)| *known == name);
    let (_, output) = known.ok_or_else(|| {
        let names: Vec<&str> = QUEUES.iter().map(|(name, _)| *name).collect();
        failure(format!("{name} is no queue: it is one of {}", names.join(", ")))
    })?;
    let running = Running::find()?;
    let queue = running.output(&format!("{output}QueueUrl"))?;
    let dead = running.output(&format!("{output}DeadQueueUrl"))?;
    let waiting = json!({"QueueUrl": dead, "AttributeNames": ["ApproximateNumberOfMessages"]});
    let waiting = running.sqs("GetQueueAttributes", &waiting)?;
    let waiting = waiting.pointer("/Attributes/ApproximateNumberOfMessages");
    let waiting = waiting.and_then(Value::as_str).and_then(|count| count.parse().ok());
    let waiting: usize = waiting.ok_or_else(|| failure("the queue's length is no number"))?;
    let mut moved = 0;
    while moved < waiting {
        let most = BATCH.min(waiting - moved);
        let letters = json!({
            "QueueUrl": dead, "MaxNumberOfMessages": most, "MessageAttributeNames": ["All"],
        });
        let letters = running.sqs("ReceiveMessage", &letters)?;
        let letters = letters.get("Messages").and_then(Value::as_array).cloned();
        let letters = letters.unwrap_or_default();
        if letters.is_empty() {
            break;
        }
        for letter in letters {
            let text = |pointer: &str| letter.pointer(pointer).and_then(Value::as_str);
            // first to the queue, then out of here: twice is harmless, lost is not
            let body = text("/Body").unwrap_or_default();
            let mut message = json!({"QueueUrl": queue, "MessageBody": body});
            // the HTTP request that it comes from stays with it
            if let Some(request) = letter.pointer("/MessageAttributes/request") {
                message["MessageAttributes"] = json!({"request": request});
            }
            running.sqs("SendMessage", &message)?;
            let receipt = text("/ReceiptHandle").unwrap_or_default();
            running.sqs("DeleteMessage", &json!({"QueueUrl": dead, "ReceiptHandle": receipt}))?;
            let reason = text("/MessageAttributes/reason/StringValue");
            println!(
                "{}: {}",
                text("/MessageId").unwrap_or("a message"),
                reason.unwrap_or("it was taken too often")
            );
            moved += 1;
        }
    }
    println!("{moved} of {waiting} moved to {name}");
    Ok(ExitCode::SUCCESS)
}
