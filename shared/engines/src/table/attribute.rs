//! The values of items.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

/// The value of an attribute.
pub type Value = AttributeValue;

/// An item, or its keys.
pub type Item = HashMap<String, Value>;

/// A string attribute.
pub fn text(value: impl ToString) -> Value {
    AttributeValue::S(value.to_string())
}

/// A number attribute.
pub fn number(value: impl ToString) -> Value {
    AttributeValue::N(value.to_string())
}

/// A boolean attribute.
pub fn flag(value: bool) -> Value {
    AttributeValue::Bool(value)
}

/// A set of numbers.
pub fn numbers(values: impl IntoIterator<Item = impl ToString>) -> Value {
    AttributeValue::Ns(values.into_iter().map(|value| value.to_string()).collect())
}

/// The number of elements of a set of numbers.
pub fn length_of(item: &Item, name: &str) -> usize {
    match item.get(name) {
        Some(AttributeValue::Ns(numbers)) => numbers.len(),
        _ => 0,
    }
}
