//! The forms of items. Each item says its version, `v`; what is newer than what is known here was written
//! by a newer function, while a deployment is under way or after it was taken back.
//!
//! It is neither read nor written over: that is an error which passes, once a newer function is asked.
//! So **any change of an item's form is a new version**, and for nothing to fail meanwhile takes two
//! releases: the first reads both and writes the old one, the second writes the new one. Old versions are
//! read for as long as such items exist.
//!
//! Rows of lists (posts by author, followers, followees) are read by their keys alone: to give them
//! another meaning, give them other keys.

use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::ReturnValuesOnConditionCheckFailure;
use serde::{Serialize, de::DeserializeOwned};

use super::{Item, number};
use crate::error::StoreError;

/// An item, and the newest version of it that is known.
pub trait Stored {
    const V: u32;
}

pub fn write<T: Serialize>(doing: &'static str, item: &T) -> Result<Item, StoreError> {
    serde_dynamo::to_item(item).map_err(|error| StoreError::Item { doing, source: error.into() })
}

pub fn read<T: Stored + DeserializeOwned>(
    doing: &'static str,
    item: Item,
) -> Result<T, StoreError> {
    check(doing, &item, T::V)?;
    read_key(doing, item)
}

/// Of an item of which the keys alone are read.
pub fn read_key<T: DeserializeOwned>(doing: &'static str, item: Item) -> Result<T, StoreError> {
    serde_dynamo::from_item(item).map_err(|error| StoreError::Item { doing, source: error.into() })
}

/// Refuses an item of a newer version.
pub fn check(doing: &'static str, item: &Item, known: u32) -> Result<(), StoreError> {
    match item.get("v").and_then(|v| v.as_n().ok()?.parse::<u64>().ok()) {
        Some(v) if v > u64::from(known) => Err(StoreError::Newer { doing, v, known }),
        _ => Ok(()),
    }
}

/// Makes an update of an item that is known up to this version (`:v`), and gives the item as it is now;
/// None, if the update's own condition did not hold.
pub async fn changed(
    doing: &'static str,
    known: u32,
    update: UpdateItemFluentBuilder,
) -> Result<Option<Item>, StoreError> {
    let mut condition = "(attribute_not_exists(v) OR v <= :v)".to_owned();
    if let Some(own) = update.get_condition_expression() {
        condition = format!("{condition} AND ({own})");
    }
    let update = update
        .condition_expression(condition)
        .expression_attribute_values(":v", number(known))
        .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
    let error = match update.send().await {
        Ok(answer) => return Ok(Some(answer.attributes.unwrap_or_default())),
        Err(error) => error,
    };
    match error.as_service_error() {
        Some(UpdateItemError::ConditionalCheckFailedException(refused)) => {
            refused.item().map_or(Ok(()), |item| check(doing, item, known))?;
            Ok(None)
        }
        _ => Err(StoreError::dynamo(doing)(error)),
    }
}
