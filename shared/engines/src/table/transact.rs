//! Transactions whose writes have names, so that callers can ask which write was refused.

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::CancellationReason;
use fanfold_runtime::retry::pause;
use fanfold_runtime::{StoreError, clock};

use super::write::Write;

/// Tries of a transaction that met another one. When 2,000 users follow one author within two seconds, one request in 30,000
/// would need more than eight.
const TRANSACTION_TRIES_MAX: u32 = 10;

/// A transaction of writes. Each write has a name of type `P`.
#[derive(Debug, Clone)]
pub struct Transaction<P> {
    doing: &'static str,
    names: Vec<P>,
    writes: Vec<Write>,
}

/// How a transaction ended.
#[derive(Debug, PartialEq, Eq)]
pub enum CommitResult<P> {
    /// All writes succeeded.
    Done,
    /// Nothing was written, because the conditions of these writes failed.
    Refused(Vec<P>),
}

impl<P: PartialEq> CommitResult<P> {
    /// Whether the condition of this write failed.
    pub fn refused(&self, part: P) -> bool {
        matches!(self, CommitResult::Refused(parts) if parts.contains(&part))
    }
}

impl<P: Copy> Transaction<P> {
    /// An empty transaction. `doing` names the operation in an error.
    pub fn new(doing: &'static str) -> Self {
        Self { doing, names: Vec::new(), writes: Vec::new() }
    }

    /// Adds a write.
    pub fn add(&mut self, name: P, write: Write) {
        self.names.push(name);
        self.writes.push(write);
    }

    /// Writes everything or nothing. After a conflict with another transaction, tries again, at most [`TRANSACTION_TRIES_MAX`]
    /// times.
    pub async fn commit(&self) -> Result<CommitResult<P>, StoreError> {
        self.commit_within(TRANSACTION_TRIES_MAX).await
    }

    /// The same, with another number of tries.
    pub async fn commit_within(&self, tries: u32) -> Result<CommitResult<P>, StoreError> {
        let doing = self.doing;
        let Some(first) = self.writes.first() else { return Ok(CommitResult::Done) };
        let items = self.writes.iter().map(|write| write.in_transaction(doing));
        let items = items.collect::<Result<Vec<_>, _>>()?;
        // one for all tries: an earlier one that is still in progress must not be followed by a second one
        let token = format!("{:016x}{:016x}", clock::random(), clock::random());
        for tried in 0..tries {
            let call = first.table.client.transact_write_items();
            let call = call.set_transact_items(Some(items.clone()));
            let call = call.client_request_token(&token);
            let Err(error) = call.send().await else { return Ok(CommitResult::Done) };
            let Some(reasons) = reasons(&error) else {
                return Err(StoreError::dynamo(doing)(error));
            };
            let refused = self.names.iter().zip(reasons);
            let refused =
                refused.filter(|(_, reason)| reason.code() == Some("ConditionalCheckFailed"));
            let refused: Vec<P> = refused.map(|(name, _)| *name).collect();
            if !refused.is_empty() {
                return Ok(CommitResult::Refused(refused));
            }
            // mutation: transaction-too-large
            let lasting = |reason: &CancellationReason| {
                StoreError::of_cancelled(doing, reason.code(), reason.message())
            };
            if let Some(lasting) = reasons.iter().find_map(lasting) {
                return Err(lasting);
            }
            // mutation: transaction-conflict
            pause(tried).await;
        }
        Err(StoreError::GaveUp { doing, tries })
    }
}

/// Why each write of a transaction was cancelled. Empty if an earlier try is still in progress. `None` for other errors.
fn reasons(error: &SdkError<TransactWriteItemsError>) -> Option<&[CancellationReason]> {
    match error.as_service_error()? {
        TransactWriteItemsError::TransactionCanceledException(cancelled) => {
            Some(cancelled.cancellation_reasons())
        }
        TransactWriteItemsError::TransactionInProgressException(_) => Some(&[]),
        _ => None,
    }
}
