//! The forms of items. Each item has its version as the attribute `v`. A newer version than the known one was
//! written by a newer function, during a deployment or before a roll-back.
//!
//! A newer item is neither read nor overwritten. This is an error that passes when a newer function takes the
//! work. **Every change of an item's form is therefore a new version**, and takes two releases: the first reads
//! both versions and writes the old one; the second writes the new one. Functions must read an old version for
//! as long as such items exist.
//!
//! Rows of lists (posts by author, followers, followed authors) are read by their keys only. Another meaning
//! needs other keys.

use fanfold_core::kinds::Pk;
use fanfold_runtime::error::StoreError;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::attribute::Item;
use super::keys::pk_only;

/// An item with a version.
pub trait Stored {
    /// The newest known version.
    const V: u32;
}

/// Converts a value to an item with this partition key. `doing` names the operation in an error.
pub fn write<T: Stored + Serialize>(
    doing: &'static str,
    pk: &Pk,
    value: &T,
) -> Result<Item, StoreError> {
    let item: Result<Item, _> = serde_dynamo::to_item(value);
    let mut item = item.map_err(|error| StoreError::Item { doing, source: error.into() })?;
    item.extend(pk_only(pk));
    Ok(item)
}

/// Converts an item to a value. Fails with [`StoreError::Newer`] if the version is newer than the known one, and
/// with [`StoreError::Item`] if the form is wrong.
pub fn read<T: Stored + DeserializeOwned>(
    doing: &'static str,
    item: Item,
) -> Result<T, StoreError> {
    check(doing, &item, T::V)?;
    read_key(doing, item)
}

/// Converts the keys of an item to a value, without a check of the version.
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
