//! The values of items.

use std::collections::HashMap;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use fanfold_core::PostId;

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

/// A set of words of 8 bytes.
pub fn words(values: impl IntoIterator<Item = u64>) -> Value {
    let blobs = values.into_iter().map(|word| Blob::new(word.to_be_bytes()));
    AttributeValue::Bs(blobs.collect())
}

/// The words of a set of words, in the order of the answer. No set: no words. `None` if the attribute has another form.
pub fn words_of(item: &Item, name: &str) -> Option<Vec<u64>> {
    let set = match item.get(name) {
        None => &[],
        Some(AttributeValue::Bs(set)) => set.as_slice(),
        Some(_) => return None,
    };
    let word = |word: &Blob| Some(u64::from_be_bytes(word.as_ref().try_into().ok()?));
    set.iter().map(word).collect()
}

/// Ids of 16 bytes, one after the other.
pub fn ids(posts: &[PostId]) -> Value {
    let bytes: Vec<u8> = posts.iter().flat_map(|post| post.0.to_be_bytes()).collect();
    AttributeValue::B(Blob::new(bytes))
}

/// The ids of such an attribute. `None` if it has another form.
pub fn ids_of(item: &Item, name: &str) -> Option<Vec<PostId>> {
    let (ids, []) = item.get(name)?.as_b().ok()?.as_ref().as_chunks::<16>() else { return None };
    Some(ids.iter().map(|id| PostId(u128::from_be_bytes(*id))).collect())
}
