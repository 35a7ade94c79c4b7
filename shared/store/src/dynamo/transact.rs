//! Transactions, with the tries that conflicts need.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::TransactWriteItem;
use aws_sdk_dynamodb::types::builders::{DeleteBuilder, PutBuilder, UpdateBuilder};
use fanfold_core::limits::TRIES_MAX;

use super::retry::pause;
use crate::error::StoreError;

/// How a transaction ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    Done,
    /// Nothing was written. For each item: did its condition fail?
    Refused(Vec<bool>),
}

impl Outcome {
    pub fn refused(&self, item: usize) -> bool {
        matches!(self, Outcome::Refused(items) if items.get(item).copied().unwrap_or(false))
    }
}

/// Writes all of the items or none. A conflict with another transaction is tried again.
pub async fn transact(
    client: &Client,
    doing: &'static str,
    items: Vec<TransactWriteItem>,
) -> Result<Outcome, StoreError> {
    for tried in 0..TRIES_MAX {
        let call = client.transact_write_items().set_transact_items(Some(items.clone()));
        let Err(error) = call.send().await else { return Ok(Outcome::Done) };
        match reasons(&error) {
            Some(codes) if codes.iter().any(|code| code == "ConditionalCheckFailed") => {
                let failed = codes.iter().map(|code| code == "ConditionalCheckFailed");
                return Ok(Outcome::Refused(failed.collect()));
            }
            Some(_) => pause(tried).await,
            None => return Err(StoreError::dynamo(doing)(error)),
        }
    }
    Err(StoreError::GaveUp { doing, tries: TRIES_MAX })
}

/// The code of each item of a cancelled transaction; empty for one that is still in progress.
fn reasons(error: &SdkError<TransactWriteItemsError>) -> Option<Vec<String>> {
    match error.as_service_error()? {
        TransactWriteItemsError::TransactionCanceledException(cancelled) => {
            let reasons = cancelled.cancellation_reasons();
            Some(reasons.iter().map(|r| r.code().unwrap_or_default().to_owned()).collect())
        }
        TransactWriteItemsError::TransactionInProgressException(_) => Some(Vec::new()),
        _ => None,
    }
}

pub fn put_item(doing: &'static str, put: PutBuilder) -> Result<TransactWriteItem, StoreError> {
    let put = put.build().map_err(StoreError::dynamo(doing))?;
    Ok(TransactWriteItem::builder().put(put).build())
}

pub fn update_item(
    doing: &'static str,
    update: UpdateBuilder,
) -> Result<TransactWriteItem, StoreError> {
    let update = update.build().map_err(StoreError::dynamo(doing))?;
    Ok(TransactWriteItem::builder().update(update).build())
}

pub fn delete_item(
    doing: &'static str,
    delete: DeleteBuilder,
) -> Result<TransactWriteItem, StoreError> {
    let delete = delete.build().map_err(StoreError::dynamo(doing))?;
    Ok(TransactWriteItem::builder().delete(delete).build())
}
