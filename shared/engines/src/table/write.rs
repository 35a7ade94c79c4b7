//! A write of one item: alone, or as a part of a transaction.

use std::collections::HashMap;

use aws_sdk_dynamodb::config::Builder;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::operation::delete_item::DeleteItemError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::{
    ConditionCheck, Delete, Put, ReturnValue, ReturnValuesOnConditionCheckFailure,
    TransactWriteItem, Update,
};
use fanfold_core::limits::TRIES_MAX;
use fanfold_runtime::error::StoreError;
use fanfold_runtime::retry::pause;

use super::attribute::{Item, Value, number};
use super::form::check;
use super::name::Table;

/// A write of one item.
#[derive(Debug, Clone)]
pub struct Write {
    pub(super) table: Table,
    what: What,
    expression: Option<String>,
    condition: Option<String>,
    names: Option<HashMap<String, String>>,
    values: Option<Item>,
    returns: Option<ReturnValue>,
}

#[derive(Debug, Clone)]
enum What {
    Put(Item),
    Update(Item),
    Delete(Item),
    Check(Item),
}

impl Table {
    /// The write of a whole item.
    pub fn put(&self, item: Item) -> Write {
        Write::new(self, What::Put(item))
    }

    /// The change of an item. Its [`expression`](Write::expression) says what changes.
    pub fn update(&self, key: Item) -> Write {
        Write::new(self, What::Update(key))
    }

    /// The removal of an item.
    pub fn delete(&self, key: Item) -> Write {
        Write::new(self, What::Delete(key))
    }

    /// A [`condition`](Write::condition) on an item that the transaction does not write.
    pub fn check(&self, key: Item) -> Write {
        Write::new(self, What::Check(key))
    }
}

impl Write {
    fn new(table: &Table, what: What) -> Self {
        Self {
            table: table.clone(),
            what,
            expression: None,
            condition: None,
            names: None,
            values: None,
            returns: None,
        }
    }

    /// The update expression: what changes.
    pub fn expression(self, expression: impl Into<String>) -> Self {
        Self { expression: Some(expression.into()), ..self }
    }

    /// The condition expression: nothing is written unless it holds.
    pub fn condition(self, condition: impl Into<String>) -> Self {
        Self { condition: Some(condition.into()), ..self }
    }

    /// A value of the expressions, such as `:now`.
    pub fn value(mut self, name: impl Into<String>, value: Value) -> Self {
        self.values.get_or_insert_default().insert(name.into(), value);
        self
    }

    /// Values of the expressions.
    pub fn values(mut self, values: Item) -> Self {
        self.values.get_or_insert_default().extend(values);
        self
    }

    /// An attribute of the expressions whose name is reserved or computed, such as `#text`.
    pub fn name(mut self, name: impl Into<String>, attribute: impl Into<String>) -> Self {
        self.names.get_or_insert_default().insert(name.into(), attribute.into());
        self
    }

    /// [`Write::changed`] returns the whole item as it is after the change.
    pub fn returning_new(self) -> Self {
        Self { returns: Some(ReturnValue::AllNew), ..self }
    }

    /// Changes the item, if its version is at most `known` (`:v` in the expressions) and the condition holds. Returns the
    /// attributes that were asked for. `None` if the condition failed. Fails if the item has a newer version.
    pub async fn changed(
        mut self,
        doing: &'static str,
        known: u32,
    ) -> Result<Option<Item>, StoreError> {
        // mutation: newer-written
        let mut condition = "(attribute_not_exists(v) OR v <= :v)".to_owned();
        if let Some(own) = self.condition.take() {
            condition = format!("{condition} AND ({own})");
        }
        let update = self.condition(condition).value(":v", number(known)).update_item(doing)?;
        let update = update
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        for tried in 0..TRIES_MAX {
            let error = match update.clone().send().await {
                Ok(answer) => return Ok(Some(answer.attributes.unwrap_or_default())),
                Err(error) => error,
            };
            match error.as_service_error() {
                Some(UpdateItemError::ConditionalCheckFailedException(refused)) => {
                    refused.item().map_or(Ok(()), |item| check(doing, item, known))?;
                    return Ok(None);
                }
                // a transaction is changing the item
                Some(UpdateItemError::TransactionConflictException(_)) => pause(tried).await,
                _ => return Err(StoreError::dynamo(doing)(error)),
            }
        }
        Err(StoreError::GaveUp { doing, tries: TRIES_MAX })
    }

    /// Changes the item once: the SDK does not repeat the call after an error, because the first try may have been made. A
    /// call that DynamoDB refused without a change is made again, at most `tries` times. Returns whether the condition held.
    pub async fn changed_once(self, doing: &'static str, tries: u32) -> Result<bool, StoreError> {
        let update = self.update_item(doing)?;
        for tried in 0..tries {
            let once = Builder::new().retry_config(RetryConfig::disabled());
            let sent = update.clone().customize().config_override(once).send().await;
            let Err(error) = sent else { return Ok(true) };
            match error.as_service_error() {
                Some(UpdateItemError::ConditionalCheckFailedException(_)) => return Ok(false),
                // these say that nothing was written
                Some(
                    UpdateItemError::TransactionConflictException(_)
                    | UpdateItemError::ProvisionedThroughputExceededException(_)
                    | UpdateItemError::RequestLimitExceeded(_)
                    | UpdateItemError::ThrottlingException(_),
                ) => pause(tried).await,
                _ => return Err(StoreError::dynamo(doing)(error)),
            }
        }
        Err(StoreError::GaveUp { doing, tries })
    }

    /// Deletes the item, if the condition holds. A failed condition is not an error.
    pub async fn deleted(self, doing: &'static str) -> Result<(), StoreError> {
        let (What::Put(key) | What::Update(key) | What::Delete(key) | What::Check(key)) = self.what;
        let delete = self.table.client.delete_item().table_name(self.table.name(doing)?);
        let delete = delete
            .set_key(Some(key))
            .set_condition_expression(self.condition)
            .set_expression_attribute_names(self.names)
            .set_expression_attribute_values(self.values);
        for tried in 0..TRIES_MAX {
            let Err(error) = delete.clone().send().await else { return Ok(()) };
            match error.as_service_error() {
                Some(DeleteItemError::ConditionalCheckFailedException(_)) => return Ok(()),
                // a transaction is changing the item
                Some(DeleteItemError::TransactionConflictException(_)) => pause(tried).await,
                _ => return Err(StoreError::dynamo(doing)(error)),
            }
        }
        Err(StoreError::GaveUp { doing, tries: TRIES_MAX })
    }

    fn update_item(self, doing: &'static str) -> Result<UpdateItemFluentBuilder, StoreError> {
        let (What::Put(key) | What::Update(key) | What::Delete(key) | What::Check(key)) = self.what;
        let update = self.table.client.update_item().table_name(self.table.name(doing)?);
        Ok(update
            .set_key(Some(key))
            .set_update_expression(self.expression)
            .set_condition_expression(self.condition)
            .set_expression_attribute_names(self.names)
            .set_expression_attribute_values(self.values)
            .set_return_values(self.returns))
    }

    /// The write as a part of a transaction.
    pub(super) fn in_transaction(
        &self,
        doing: &'static str,
    ) -> Result<TransactWriteItem, StoreError> {
        self.built(self.table.name(doing)?).map_err(StoreError::request(doing))
    }

    fn built(&self, name: &str) -> Result<TransactWriteItem, BuildError> {
        let Self { what, expression, condition, names, values, .. } = self.clone();
        let item = TransactWriteItem::builder();
        let item = match what {
            What::Put(put) => item.put(
                Put::builder()
                    .table_name(name)
                    .set_item(Some(put))
                    .set_condition_expression(condition)
                    .set_expression_attribute_names(names)
                    .set_expression_attribute_values(values)
                    .build()?,
            ),
            What::Update(key) => item.update(
                Update::builder()
                    .table_name(name)
                    .set_key(Some(key))
                    .set_update_expression(expression)
                    .set_condition_expression(condition)
                    .set_expression_attribute_names(names)
                    .set_expression_attribute_values(values)
                    .build()?,
            ),
            What::Delete(key) => item.delete(
                Delete::builder()
                    .table_name(name)
                    .set_key(Some(key))
                    .set_condition_expression(condition)
                    .set_expression_attribute_names(names)
                    .set_expression_attribute_values(values)
                    .build()?,
            ),
            What::Check(key) => item.condition_check(
                ConditionCheck::builder()
                    .table_name(name)
                    .set_key(Some(key))
                    .set_condition_expression(condition)
                    .set_expression_attribute_names(names)
                    .set_expression_attribute_values(values)
                    .build()?,
            ),
        };
        Ok(item.build())
    }
}
