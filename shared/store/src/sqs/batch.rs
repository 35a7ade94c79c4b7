//! Runs a handler over the records of a batch. Each record succeeds or fails alone: what fails is
//! returned to its queue and comes again.
//!
//! SQS counts how often a message came. Well before it would give a message up, after half of its
//! tries, the runner does what SQS cannot: a body that cannot be read goes to the dead-letter queue with its reason, and a
//! message that failed because a store was away starts anew at the end of its queue. So an outage
//! of hours leaves no dead letters, and heals by itself.

use aws_lambda_events::sqs::{BatchItemFailure, SqsBatchResponse, SqsEvent, SqsMessage};
use futures::stream::{self, StreamExt as _};
use serde::de::DeserializeOwned;

use super::letters::{Fate, Letters};
use crate::error::StoreError;
use crate::log::Chain;

const RECORDS_AT_ONCE: usize = 10;

pub async fn run<M, H>(event: SqsEvent, letters: &Letters, handle: H) -> SqsBatchResponse
where
    M: DeserializeOwned,
    H: AsyncFn(M) -> Result<(), StoreError>,
{
    let failed: Vec<Option<String>> = stream::iter(event.records)
        .map(|record| run_one(record, letters, &handle))
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
async fn run_one<M, H>(record: SqsMessage, letters: &Letters, handle: &H) -> Option<String>
where
    M: DeserializeOwned,
    H: AsyncFn(M) -> Result<(), StoreError>,
{
    let id = record.message_id.clone().unwrap_or_default();
    let message = serde_json::from_str(record.body.as_deref().unwrap_or_default());
    let (fate, reason) = match message {
        Err(error) => {
            tracing::error!(message_id = id, reason = %error, "poison: the body cannot be read");
            (Fate::Dead, error.to_string())
        }
        Ok(message) => match handle(message).await {
            Ok(()) => return None,
            Err(error @ StoreError::NotCommittedYet { .. }) => {
                tracing::info!(message_id = id, reason = %error, "returned to the queue");
                (Fate::Anew, error.to_string())
            }
            Err(error) => {
                let reason = Chain(&error).to_string();
                tracing::warn!(message_id = id, error = reason, "returned to the queue");
                (if error.is_lasting() { Fate::Dead } else { Fate::Anew }, reason)
            }
        },
    };
    match letters.settle(&record, fate, &reason).await {
        Ok(true) => None,
        Ok(false) => Some(id),
        Err(error) => {
            tracing::warn!(message_id = id, error = %Chain(&error), "left to SQS");
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
        let (event, letters) = (event(&["1", "poison", "2", "3"]), Letters::none());
        let response = run(event, &letters, async |number: u32| match number {
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
        let response = run(event(&[]), &Letters::none(), async |_: u32| Ok(())).await;
        assert!(response.batch_item_failures.is_empty());
    }
}
