//! Idempotency: a request that is repeated with its `Idempotency-Key` returns what the first one made, for 24 hours
//! ([`IDEMPOTENCY_KEPT`]).
//!
//! The key is stored in the transaction that makes something, on condition that it is unused or has expired.

use std::fmt::Display;

use fanfold_core::kinds::Pk;
use fanfold_core::limits::IDEMPOTENCY_KEPT;
use fanfold_core::{Second, Time};
use fanfold_runtime::StoreError;
use serde::{Deserialize, Serialize};

use crate::table::{Stored, Table, Write, hashed, key, number, read, write};

/// A key, with the request that it was sent with. The request is hashed, so the item always has the same form and length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestKey {
    pk: Pk,
    request: String,
}

/// An earlier use of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyUse {
    /// What it made.
    pub made: String,
    /// Whether the earlier request was the same.
    pub same_request: bool,
}

#[derive(Serialize, Deserialize)]
struct KeyItem {
    sk: String,
    v: u32,
    request: String,
    made: String,
    expires_at: Second,
}

impl Stored for KeyItem {
    const V: u32 = 1;
}

impl RequestKey {
    /// A key with this partition key, and a text that stands for the request.
    pub fn new(pk: Pk, request: &str) -> Self {
        Self { pk, request: hashed(request) }
    }
}

impl Table {
    /// The use of a key, if there is one that has not expired.
    pub async fn key_use(
        &self,
        name: &RequestKey,
        now: Time,
    ) -> Result<Option<KeyUse>, StoreError> {
        let doing = "reading an idempotency key";
        let Some(item) = self.get(doing, key(&name.pk, "-")).await? else { return Ok(None) };
        let item: KeyItem = read(doing, item)?;
        let used = KeyUse { same_request: item.request == name.request, made: item.made };
        // DynamoDB removes expired items with a delay
        Ok((item.expires_at > now.second()).then_some(used))
    }

    /// The write of a key, on condition that it is unused or has expired.
    pub fn put_key(
        &self,
        doing: &'static str,
        name: &RequestKey,
        made: impl Display,
        now: Time,
    ) -> Result<Write, StoreError> {
        let item = KeyItem {
            sk: "-".to_owned(),
            v: KeyItem::V,
            request: name.request.clone(),
            made: made.to_string(),
            expires_at: now.expires_after(IDEMPOTENCY_KEPT),
        };
        Ok(self
            .put(write(doing, &name.pk, &item)?)
            .condition("attribute_not_exists(pk) OR expires_at <= :now")
            .value(":now", number(now.second())))
    }
}
