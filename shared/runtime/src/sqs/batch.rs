//! Runs a handler over the records of a batch. Each record succeeds or fails alone. A failed record returns to
//! its queue and is tried again.
//!
//! **Waits.** A failed message waits a quarter of the time since its first failure: at least 1 s, at most 8 s in
//! the first 5 minutes and 5 min later. Short outages therefore delay messages by seconds. The number of tries
//! grows with the logarithm of the outage's length for about 20 minutes; then there is one try every 5 minutes.
//!
//! **Half of the tries.** SQS counts how often a message was received. After half of its tries, the runner
//! decides. A body that cannot be read is sent to the dead-letter queue with its reason. A message that failed
//! because a store did not answer is requeued: it is sent to the end of its queue as a new message. An outage of
//! hours therefore leaves no dead letters and needs no operator. A body of a newer version is requeued too, until
//! a newer function takes it.
//!
//! **Webhooks.** Their receiver is no store of the deployment, and can be away for good. A webhook that fails waits a
//! quarter of the time since its first failure from the beginning, and an hour at most. After
//! [`WEBHOOK_TRIED_FOR`](fanfold_core::limits::WEBHOOK_TRIED_FOR) the next failure sends it to the dead-letter queue with
//! its reason, whatever the number of its tries.

use aws_lambda_events::sqs::{BatchItemFailure, SqsBatchResponse, SqsEvent, SqsMessage};
use fanfold_core::message::Received;
use futures::stream::{self, StreamExt as _};

use super::head::Head;
use super::record::{body, id, reason_of, request_of};
use super::retries::{Failed, Fate, Pace, Retries};
use crate::error::StoreError;
use crate::log::Chain;
use crate::trace::Trace;

/// Records of a batch that are handled at the same time, where a handler takes them one by one.
const RECORDS_AT_ONCE: usize = 10;

/// A received message with its trace.
#[derive(Debug)]
pub struct Incoming<M> {
    /// The decoded body.
    pub message: M,
    /// The ids that the message belongs to.
    pub trace: Trace,
}

/// The result of handling a message.
#[derive(Debug)]
pub enum Outcome<M> {
    /// The message is handled.
    Done,
    /// The message must be tried again.
    Failed(StoreError),
    /// A part of the message is handled. `rest` is sent in its place.
    Left { rest: M, error: StoreError },
}

impl<M> Outcome<M> {
    /// The outcome of a message of another type, of which this one is.
    pub fn map<N>(self, into: impl FnOnce(M) -> N) -> Outcome<N> {
        match self {
            Self::Done => Outcome::Done,
            Self::Failed(error) => Outcome::Failed(error),
            Self::Left { rest, error } => Outcome::Left { rest: into(rest), error },
        }
    }

    /// Whether the message is handled.
    pub fn is_done(&self) -> bool {
        matches!(self, Self::Done)
    }

    /// `Ok` if the whole message is handled, else the error.
    pub fn whole(self) -> Result<(), StoreError> {
        match self {
            Self::Done => Ok(()),
            Self::Failed(error) | Self::Left { error, .. } => Err(error),
        }
    }
}

impl<M> From<Result<(), StoreError>> for Outcome<M> {
    fn from(result: Result<(), StoreError>) -> Self {
        match result {
            Ok(()) => Self::Done,
            Err(error) => Self::Failed(error),
        }
    }
}

/// Runs a handler of single messages over a batch, `RECORDS_AT_ONCE` at the same time. Returns the outcomes in
/// the order of the messages.
pub async fn each<M, H>(messages: Vec<Incoming<M>>, handle: &H) -> Vec<Outcome<M>>
where
    H: AsyncFn(M) -> Result<(), StoreError>,
{
    stream::iter(messages)
        .map(|Incoming { message, trace }| trace.scope(handle(message)))
        .buffered(RECORDS_AT_ONCE)
        .map(Outcome::from)
        .collect()
        .await
}

/// Decodes the records of a batch and passes the messages to `handle`, which returns one outcome for each, in
/// their order. Returns the records that SQS must deliver again.
pub async fn run<M, H>(event: SqsEvent, retries: &Retries, handle: H) -> SqsBatchResponse
where
    M: Received,
    H: AsyncFn(Vec<Incoming<M>>) -> Vec<Outcome<M>>,
{
    let (mut messages, mut records, mut failed) = (Vec::new(), Vec::new(), Vec::new());
    let invocation = Trace::current();
    for record in event.records {
        let trace = invocation.clone().with_request(request_of(&record));
        match M::decode(body(&record)) {
            Ok(message) => {
                messages.push(Incoming { message, trace: trace.clone() });
                records.push((record, trace));
            }
            Err(error) => {
                let (fate, reason) = trace.during(|| fate_of_unreadable(&record, M::TYPES, &error));
                failed.push(Failed { record, trace, fate, reason, pace: Pace::Store, rest: None });
            }
        }
    }
    if !messages.is_empty() {
        let outcomes = all_outcomes(records.len(), handle(messages).await);
        for ((record, trace), outcome) in records.into_iter().zip(outcomes) {
            let (error, rest) = match outcome {
                Outcome::Done => continue,
                Outcome::Failed(error) => (error, None),
                Outcome::Left { rest, error } => {
                    match super::text::body("encoding the rest of a message", &rest) {
                        Ok(rest) => (error, Some(rest)),
                        Err(error) => (error, None),
                    }
                }
            };
            let (fate, reason) = trace.during(|| fate_of(&error, &record));
            let pace = Pace::of(&error);
            failed.push(Failed { record, trace, fate, reason, pace, rest });
        }
    }
    let mut response = SqsBatchResponse::default();
    response.batch_item_failures = Box::pin(retries.settle(failed))
        .await
        .into_iter()
        .map(|id| {
            let mut failure = BatchItemFailure::default();
            failure.item_identifier = id;
            failure
        })
        .collect();
    response
}

/// One outcome for each message. If a handler returned another number of outcomes, they cannot be assigned to
/// messages, so all messages fail.
fn all_outcomes<M>(messages: usize, outcomes: Vec<Outcome<M>>) -> Vec<Outcome<M>> {
    if outcomes.len() == messages {
        return outcomes;
    }
    let error = || StoreError::Outcomes { messages, outcomes: outcomes.len() };
    (0..messages).map(|_| Outcome::Failed(error())).collect()
}

/// Logs that a body cannot be read. Returns the fate of the message, and the reason.
fn fate_of_unreadable(
    record: &SqsMessage,
    types: &[(&str, u32)],
    error: &serde_json::Error,
) -> (Fate, String) {
    let (head, reason) = (Head::of(body(record)), reason_of(error));
    let (message_id, post) = (id(record), head.post().map(tracing::field::display));
    match head.newer(types) {
        Some(v) => {
            tracing::warn!(message_id, post, v, reason, "a newer version: left to newer functions");
            (Fate::Requeue, reason)
        }
        None => {
            tracing::error!(message_id, post, reason, "poison: the body cannot be read");
            (Fate::Dead, reason)
        }
    }
}

/// Logs that a message failed. Returns its fate, and the reason.
fn fate_of(error: &StoreError, record: &SqsMessage) -> (Fate, String) {
    let post = Head::of(body(record)).post().map(tracing::field::display);
    let (message_id, reason) = (id(record), reason_of(Chain(error)));
    match error {
        StoreError::NotCommittedYet { .. } => {
            tracing::info!(message_id, post, reason, "returned to the queue");
        }
        StoreError::Outcomes { .. } => {
            tracing::error!(message_id, post, error = reason, "returned to the queue");
        }
        _ => tracing::warn!(message_id, post, error = reason, "returned to the queue"),
    }
    // mutation: store-away
    (if error.is_lasting() { Fate::Dead } else { Fate::Requeue }, reason)
}

#[cfg(test)]
mod tests {
    use fanfold_core::message;
    use fanfold_core::registry::CHUNKS;
    use serde::{Deserialize, Serialize};

    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Number {
        n: u32,
    }

    message!(Number 1 on CHUNKS);

    fn number(n: u32) -> String {
        Number { n }.encode().unwrap()
    }

    fn event(bodies: &[String]) -> SqsEvent {
        let mut event = SqsEvent::default();
        event.records = bodies
            .iter()
            .map(|body| {
                let mut record = SqsMessage::default();
                record.message_id = Some(format!("id of {body}"));
                record.body = Some(body.clone());
                record
            })
            .collect();
        event
    }

    #[tokio::test]
    async fn only_failed_records_are_returned() {
        let (event, retries) =
            (event(&[number(1), "poison".to_owned(), number(2), number(3)]), Retries::none());
        let one = async |number: Number| match number.n {
            2 => Err(StoreError::GaveUp { doing: "this", tries: 1 }),
            _ => Ok(()),
        };
        let response = run(event, &retries, async |numbers| each(numbers, &one).await);
        let mut failed: Vec<String> =
            response.await.batch_item_failures.into_iter().map(|f| f.item_identifier).collect();
        failed.sort_by_key(|id| id.len());
        assert_eq!(failed, ["id of poison".to_owned(), format!("id of {}", number(2))]);
    }

    #[tokio::test]
    async fn a_wrong_number_of_outcomes_fails_all_messages() {
        for given in [0, 1, 3] {
            let handle =
                async |_: Vec<Incoming<Number>>| (0..given).map(|_| Outcome::Done).collect();
            let response = run(event(&[number(1), number(2)]), &Retries::none(), handle).await;
            assert_eq!(response.batch_item_failures.len(), 2, "{given} outcomes of 2 messages");
        }
    }

    #[tokio::test]
    async fn an_empty_batch_succeeds() {
        let response =
            run(event(&[]), &Retries::none(), async |_: Vec<Incoming<Number>>| Vec::new()).await;
        assert!(response.batch_item_failures.is_empty());
    }
}
