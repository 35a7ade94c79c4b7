//! The errors of calls to stores. `Display` names the operation. The cause is the `source`; the log prints the
//! whole chain once.

use std::error::Error;

/// The cause of an error.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// A failed call to DynamoDB, Valkey, SQS or the receiver of webhooks. `doing` names the operation, such as "reading a
/// post".
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// DynamoDB did not answer, or refused the call.
    #[error("{doing} in DynamoDB")]
    DynamoDb { doing: &'static str, source: BoxError },
    /// Every try conflicted with another call, or was carried out only in part.
    #[error("{doing} in DynamoDB: gave up after {tries} tries")]
    GaveUp { doing: &'static str, tries: u32 },
    /// An item cannot be read. Another try does not help.
    #[error("{doing}: the item does not have the expected form")]
    Item { doing: &'static str, source: BoxError },
    /// A newer function wrote the item, in a form that this one does not know.
    #[error("{doing}: the item has version {v}, but this function knows only {known}")]
    Newer { doing: &'static str, v: u64, known: u32 },
    /// Valkey did not answer, refused the call, or gave an unknown answer.
    #[error("{doing} in Valkey")]
    Valkey { doing: &'static str, source: BoxError },
    /// SQS did not answer, or refused the call.
    #[error("{doing} on SQS")]
    Sqs { doing: &'static str, source: BoxError },
    /// SQS refused a part of a batch.
    #[error("{doing} on SQS: {left} of {all} messages were refused: {reason}")]
    SqsPartial { doing: &'static str, left: usize, all: usize, reason: String },
    /// The receiver did not take a webhook. The source is the reason, without the receiver's address.
    #[error("posting a webhook")]
    Webhook { source: BoxError },
    /// The event's commit is not visible yet.
    #[error("{what} is not committed yet")]
    NotCommittedYet { what: &'static str },
    /// At every try, another caller changed the data meanwhile.
    #[error("{what} changes faster than it can be read")]
    Unsettled { what: &'static str },
    /// A defect of a handler of batches: each message must have one outcome.
    #[error("the handler returned {outcomes} outcomes for {messages} messages")]
    Outcomes { messages: usize, outcomes: usize },
}

impl StoreError {
    /// For `map_err`: wraps an error of DynamoDB.
    pub fn dynamo<E: Into<BoxError>>(doing: &'static str) -> impl FnOnce(E) -> Self {
        move |source| Self::DynamoDb { doing, source: source.into() }
    }

    /// For `map_err`: wraps an error of Valkey.
    pub fn valkey<E: Into<BoxError>>(doing: &'static str) -> impl FnOnce(E) -> Self {
        move |source| Self::Valkey { doing, source: source.into() }
    }

    /// For `map_err`: wraps an error of SQS.
    pub fn sqs<E: Into<BoxError>>(doing: &'static str) -> impl FnOnce(E) -> Self {
        move |source| Self::Sqs { doing, source: source.into() }
    }

    /// Whether another try would fail for the same reason, at any time.
    pub fn is_lasting(&self) -> bool {
        matches!(self, Self::Item { .. })
    }

    /// Whether Valkey caused the error.
    pub fn is_valkey(&self) -> bool {
        matches!(self, Self::Valkey { .. })
    }
}
