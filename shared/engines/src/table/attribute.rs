//! The values of items.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

/// An item, or its keys.
pub type Item = HashMap<String, AttributeValue>;

/// A string attribute.
pub fn text(value: impl ToString) -> AttributeValue {
    AttributeValue::S(value.to_string())
}

/// A number attribute.
pub fn number(value: impl ToString) -> AttributeValue {
    AttributeValue::N(value.to_string())
}
