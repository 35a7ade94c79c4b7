//! Runs a handler over the records of a batch. Each record succeeds or fails alone: what fails
//! is returned to its queue, and after a number of tries goes to the dead-letter queue.

use aws_lambda_events::sqs::{BatchItemFailure, SqsBatchResponse, SqsEvent, SqsMessage};
use futures::stream::{self, StreamExt as _};
use serde::de::DeserializeOwned;

use crate::error::StoreError;
use crate::log::Chain;

const RECORDS_AT_ONCE: usize = 10;

pub async fn run<M, H>(event: SqsEvent, handle: H) -> SqsBatchResponse
where
    M: DeserializeOwned,
    H: AsyncFn(M) -> Result<(), StoreError>,
{
    let failed: Vec<Option<String>> = stream::iter(event.records)
        .map(|record| run_one(record, &handle))
        .buffer_unordered(RECORDS_AT_ONCE)
        .collect()
        .await;
    let mut response = SqsBatchResponse::default();
    response.batch_item_failures = failed
        .into_iter()
        .flatten()
        .map(|id| {
            let mut failure = BatchItemFailure::default();
            failure.item_identifier = id;
            failure
        })
        .collect();
    response
}

/// The id of the message, if it failed.
async fn run_one<M, H>(record: SqsMessage, handle: &H) -> Option<String>
where
    M: DeserializeOwned,
    H: AsyncFn(M) -> Result<(), StoreError>,
{
    let id = record.message_id.unwrap_or_default();
    let body = record.body.unwrap_or_default();
    let message = match serde_json::from_str(&body) {
        Ok(message) => message,
        Err(error) => {
            tracing::error!(message_id = id, reason = %error, "poison: the body cannot be read");
            return Some(id);
        }
    };
    match handle(message).await {
        Ok(()) => None,
        Err(error @ StoreError::NotCommittedYet { .. }) => {
            tracing::info!(message_id = id, reason = %error, "returned to the queue");
            Some(id)
        }
        Err(error) => {
            tracing::warn!(message_id = id, error = %Chain(&error), "returned to the queue");
            Some(id)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(bodies: &[&str]) -> SqsEvent {
        let mut event = SqsEvent::default();
        event.records = bodies
            .iter()
            .map(|body| {
                let mut record = SqsMessage::default();
                record.message_id = Some(format!("id of {body}"));
                record.body = Some((*body).to_owned());
                record
            })
            .collect();
        event
    }

    #[tokio::test]
    async fn only_what_failed_is_returned() {
        let response = run(event(&["1", "poison", "2", "3"]), async |number: u32| match number {
            2 => Err(StoreError::GaveUp { doing: "this", tries: 1 }),
            _ => Ok(()),
        });
        let mut failed: Vec<String> =
            response.await.batch_item_failures.into_iter().map(|f| f.item_identifier).collect();
        failed.sort();
        assert_eq!(failed, ["id of 2", "id of poison"]);
    }

    #[tokio::test]
    async fn an_empty_batch_is_done() {
        let response = run(event(&[]), async |_: u32| Ok(())).await;
        assert!(response.batch_item_failures.is_empty());
    }
}
