//! What may go wrong while talking to a store. Display says what we were doing; the cause is the
//! source, and is printed once, by the log.

use std::error::Error;

type Cause = Box<dyn Error + Send + Sync>;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("{doing} in DynamoDB")]
    DynamoDb { doing: &'static str, source: Cause },
    #[error("{doing} in DynamoDB: gave up after {tries} tries")]
    GaveUp { doing: &'static str, tries: u32 },
    #[error("{doing}: the item has another form")]
    Item { doing: &'static str, source: Cause },
    #[error("{doing}: the item has version {v}, and {known} is known here")]
    Newer { doing: &'static str, v: u64, known: u32 },
    #[error("{doing} in Valkey")]
    Valkey { doing: &'static str, source: redis::RedisError },
    #[error("{doing} on SQS")]
    Sqs { doing: &'static str, source: Cause },
    #[error("{doing} on SQS: {left} of {all} messages were refused: {reason}")]
    SqsPartial { doing: &'static str, left: usize, all: usize, reason: String },
    #[error("{what} is not committed yet")]
    NotCommittedYet { what: &'static str },
    #[error("{what} changes faster than it can be read")]
    Unsettled { what: &'static str },
}

impl StoreError {
    /// For `map_err`: what DynamoDB answered while we were doing this.
    pub fn dynamo<E: Into<Cause>>(doing: &'static str) -> impl FnOnce(E) -> Self {
        move |source| Self::DynamoDb { doing, source: source.into() }
    }

    /// Whether it would go wrong again, however long one waits.
    pub fn is_lasting(&self) -> bool {
        matches!(self, Self::Item { .. })
    }

    pub fn is_valkey(&self) -> bool {
        matches!(self, Self::Valkey { .. })
    }
}
