//! The keys of items.

use std::collections::HashMap;
use std::fmt::Display;
use std::str::FromStr;

use fanfold_core::Time;
use fanfold_core::kinds::{ItemKind, Pk};
use sha2::{Digest as _, Sha256};

use super::attribute::{Item, text};

/// The SHA-256 of a text, in hexadecimal digits. Keys have it in place of texts of any form and length.
pub fn hashed(text: &str) -> String {
    base16ct::lower::encode_string(&Sha256::digest(text))
}

/// The key of an item in a table without a sort key.
pub fn pk_only(pk: &Pk) -> Item {
    HashMap::from([("pk".to_owned(), text(pk))])
}

/// The key of an item in a table with a sort key.
pub fn key(pk: &Pk, sk: impl ToString) -> Item {
    let mut key = pk_only(pk);
    key.insert("sk".to_owned(), text(sk));
    key
}

/// What the partition key of this item was made for. `None` if the item is of another kind.
pub fn owner(kind: ItemKind, item: &Item) -> Option<&str> {
    kind.owner(item.get("pk")?.as_s().ok()?)
}

/// The sort key of a row in a list by time. Times have 15 digits, so the keys sort by time.
pub fn timed(at: Time, id: impl Display) -> String {
    format!("{:015}#{id}", at.ms())
}

/// The time and the id in a sort key that [`timed`] made. `None` for other keys.
pub fn time_and_id<T: FromStr>(sk: &str) -> Option<(Time, T)> {
    let (at, id) = sk.split_once('#')?;
    Some((Time::from_ms(at.parse().ok()?), id.parse().ok()?))
}
