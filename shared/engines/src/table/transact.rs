//! Transactions whose writes have names, so that callers can ask which write was refused.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::builders::{
    ConditionCheckBuilder, DeleteBuilder, PutBuilder, UpdateBuilder,
};
use aws_sdk_dynamodb::types::{CancellationReason, TransactWriteItem};
use fanfold_runtime::retry::pause;
use fanfold_runtime::{StoreError, clock};

/// Tries of a transaction that met another one. When 2,000 users follow one author within two seconds, one request in 30,000
/// would need more than eight.
const TRANSACTION_TRIES_MAX: u32 = 10;

/// A transaction of writes. Each write has a name of type `P`.
#[derive(Debug, Clone)]
pub struct Transaction<P> {
    doing: &'static str,
    names: Vec<P>,
    items: Vec<TransactWriteItem>,
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
        Self { doing, names: Vec::new(), items: Vec::new() }
    }

    /// Adds a put. Fails if it is incomplete.
    pub fn put(&mut self, name: P, put: PutBuilder) -> Result<(), StoreError> {
        let put = put.build().map_err(StoreError::request(self.doing))?;
        self.add(name, TransactWriteItem::builder().put(put).build());
        Ok(())
    }

    /// Adds an update. Fails if it is incomplete.
    pub fn update(&mut self, name: P, update: UpdateBuilder) -> Result<(), StoreError> {
        let update = update.build().map_err(StoreError::request(self.doing))?;
        self.add(name, TransactWriteItem::builder().update(update).build());
        Ok(())
    }

    /// Adds a delete. Fails if it is incomplete.
    pub fn delete(&mut self, name: P, delete: DeleteBuilder) -> Result<(), StoreError> {
        let delete = delete.build().map_err(StoreError::request(self.doing))?;
        self.add(name, TransactWriteItem::builder().delete(delete).build());
        Ok(())
    }

    /// Adds a condition on an item that the transaction does not write. Fails if it is incomplete.
    pub fn check(&mut self, name: P, check: ConditionCheckBuilder) -> Result<(), StoreError> {
        let check = check.build().map_err(StoreError::request(self.doing))?;
        self.add(name, TransactWriteItem::builder().condition_check(check).build());
        Ok(())
    }

    fn add(&mut self, name: P, item: TransactWriteItem) {
        self.names.push(name);
        self.items.push(item);
    }

    /// Writes everything or nothing. After a conflict with another transaction, tries again, at most [`TRANSACTION_TRIES_MAX`]
    /// times.
    pub async fn commit(&self, client: &Client) -> Result<CommitResult<P>, StoreError> {
        self.commit_within(client, TRANSACTION_TRIES_MAX).await
    }

    /// The same, with another number of tries.
    pub async fn commit_within(
        &self,
        client: &Client,
        tries: u32,
    ) -> Result<CommitResult<P>, StoreError> {
        let doing = self.doing;
        // one for all tries: an earlier one that is still in progress must not be followed by a second one
        let token = format!("{:016x}{:016x}", clock::random(), clock::random());
        for tried in 0..tries {
            let items = self.items.clone();
            let call = client.transact_write_items().set_transact_items(Some(items));
            let call = call.client_request_token(&token);
            let Err(error) = call.send().await else { return Ok(CommitResult::Done) };
            let Some(reasons) = reasons(&error) else {
                return Err(StoreError::dynamo(doing)(error));
            };
            // mutation: refused-names
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
