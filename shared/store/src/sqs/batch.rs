//! Runs a handler over the records of a batch. Each record succeeds or fails alone: what fails is
//! returned to its queue and comes again.
//!
//! SQS counts how often a message came. Well before it would give a message up, after half of its
//! tries, the runner does what SQS cannot: a body that cannot be read goes to the dead-letter queue
//! with its reason, and a message that failed because a store was away starts anew at the end of its queue. So an outage
//! of hours leaves no dead letters, and heals by itself. A body of a newer version starts anew, too, until
//! a newer function takes it.

use aws_lambda_events::sqs::{BatchItemFailure, SqsBatchResponse, SqsEvent, SqsMessage};
use futures::stream::{self, StreamExt as _};
use serde::de::DeserializeOwned;

use super::head::Head;
use super::letters::{Fate, Letters, reason_of, request_of};
use crate::error::StoreError;
use crate::log::Chain;
use crate::origin::Origin;

const RECORDS_AT_ONCE: usize = 10;

/// A message, and where it comes from.
#[derive(Debug)]
pub struct Incoming<M> {
    pub message: M,
    pub origin: Origin,
}

/// For a handler that takes messages one by one: several at once.
pub async fn each<M, H>(messages: Vec<Incoming<M>>, handle: &H) -> Vec<Result<(), StoreError>>
where
    H: AsyncFn(M) -> Result<(), StoreError>,
{
    stream::iter(messages)
        .map(|Incoming { message, origin }| origin.scope(handle(message)))
        .buffered(RECORDS_AT_ONCE)
        .collect()
        .await
}

/// Hands all messages that can be read to the handler, which says of each what came of it.
pub async fn run<M, H>(event: SqsEvent, letters: &Letters, handle: H) -> SqsBatchResponse
where
    M: DeserializeOwned,
    H: AsyncFn(Vec<Incoming<M>>) -> Vec<Result<(), StoreError>>,
{
    let (mut messages, mut records, mut failed) = (Vec::new(), Vec::new(), Vec::new());
    let invocation = Origin::current();
    for record in event.records {
        let origin = invocation.clone().with_request(request_of(&record));
        match serde_json::from_str::<M>(body(&record)) {
            Ok(message) => {
                messages.push(Incoming { message, origin: origin.clone() });
                records.push((record, origin));
            }
            Err(error) => {
                let (fate, reason) = origin.during(|| unread(&record, &error));
                failed.push((record, origin, fate, reason));
            }
        }
    }
    if !messages.is_empty() {
        for ((record, origin), result) in records.into_iter().zip(handle(messages).await) {
            let Err(error) = result else { continue };
            let (fate, reason) = origin.during(|| fate_of(&error, &record));
            failed.push((record, origin, fate, reason));
        }
    }
    let returned: Vec<Option<String>> = stream::iter(failed)
        .map(|(record, origin, fate, reason)| origin.scope(settle(record, fate, reason, letters)))
        .buffer_unordered(RECORDS_AT_ONCE)
        .collect()
        .await;
    let mut response = SqsBatchResponse::default();
    response.batch_item_failures = returned
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

fn id(record: &SqsMessage) -> &str {
    record.message_id.as_deref().unwrap_or_default()
}

fn body(record: &SqsMessage) -> &str {
    record.body.as_deref().unwrap_or_default()
}

/// What becomes of a body that cannot be read.
fn unread(record: &SqsMessage, error: &serde_json::Error) -> (Fate, String) {
    let (head, reason) = (Head::of(body(record)), reason_of(error));
    let (message_id, post) = (id(record), head.post().map(tracing::field::display));
    match head.newer() {
        Some(v) => {
            tracing::warn!(message_id, post, v, reason, "a newer version: left to newer functions");
            (Fate::Anew, reason)
        }
        None => {
            tracing::error!(message_id, post, reason, "poison: the body cannot be read");
            (Fate::Dead, reason)
        }
    }
}

fn fate_of(error: &StoreError, record: &SqsMessage) -> (Fate, String) {
    let post = Head::of(body(record)).post().map(tracing::field::display);
    let (message_id, reason) = (id(record), reason_of(Chain(error)));
    if let StoreError::NotCommittedYet { .. } = error {
        tracing::info!(message_id, post, reason, "returned to the queue");
        return (Fate::Anew, reason);
    }
    tracing::warn!(message_id, post, error = reason, "returned to the queue");
    (if error.is_lasting() { Fate::Dead } else { Fate::Anew }, reason)
}

/// The id of the message, if it is to come again from where it was.
async fn settle(
    record: SqsMessage,
    fate: Fate,
    reason: String,
    letters: &Letters,
) -> Option<String> {
    match letters.settle(&record, fate, &reason).await {
        Ok(true) => None,
        Ok(false) => Some(id(&record).to_owned()),
        Err(error) => {
            tracing::warn!(message_id = id(&record), error = %Chain(&error), "left to SQS");
            Some(id(&record).to_owned())
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
        let one = async |number: u32| match number {
            2 => Err(StoreError::GaveUp { doing: "this", tries: 1 }),
            _ => Ok(()),
        };
        let response = run(event, &letters, async |numbers| each(numbers, &one).await);
        let mut failed: Vec<String> =
            response.await.batch_item_failures.into_iter().map(|f| f.item_identifier).collect();
        failed.sort();
        assert_eq!(failed, ["id of 2", "id of poison"]);
    }

    #[tokio::test]
    async fn an_empty_batch_is_done() {
        let response =
            run(event(&[]), &Letters::none(), async |_: Vec<Incoming<u32>>| Vec::new()).await;
        assert!(response.batch_item_failures.is_empty());
    }
}
