//! The posts that an `Idempotency-Key` made.

use fanfold_core::limits::IDEMPOTENCY_KEPT;
use fanfold_core::{PostId, Second, Time, UserId};
use serde::{Deserialize, Serialize};

use super::PostStore;
use fanfold_engines::table::{ItemKind, Pk, Stored, Write, hashed, key, number, read, write};
use fanfold_runtime::error::StoreError;

/// An `Idempotency-Key` of a user, with the request that it was sent with. Key and request are hashed, so the item
/// always has the same form and length.
#[derive(Debug, Clone)]
pub struct RequestKey {
    user: UserId,
    name: String,
    request: String,
}

/// An earlier use of an `Idempotency-Key`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyUse {
    /// The id of the post or the scheduled post that it made.
    pub post: PostId,
    /// Whether the earlier request was the same.
    pub same_request: bool,
}

#[derive(Serialize, Deserialize)]
struct KeyItem {
    sk: String,
    v: u32,
    request: String,
    post: PostId,
    expires_at: Second,
}

impl Stored for KeyItem {
    const V: u32 = 1;
}

impl RequestKey {
    /// The key `name` of a user, with a text that stands for the request.
    pub fn new(user: UserId, name: &str, request: &str) -> Self {
        Self { user, name: hashed(name), request: hashed(request) }
    }

    /// The hash of the key, in hexadecimal digits.
    pub(crate) fn name(&self) -> String {
        self.name.clone()
    }

    fn pk(&self) -> Pk {
        key_pk(self.user, &self.name)
    }
}

impl PostStore {
    /// The use of this key in the last 24 hours ([`IDEMPOTENCY_KEPT`]), if there is one.
    pub async fn key_use(
        &self,
        request: &RequestKey,
        now: Time,
    ) -> Result<Option<KeyUse>, StoreError> {
        let doing = "reading an idempotency key";
        let Some(item) = self.table.get(doing, key(&request.pk(), "-")).await? else {
            return Ok(None);
        };
        let item: KeyItem = read(doing, item)?;
        // DynamoDB removes expired items with a delay
        let known = KeyUse { post: item.post, same_request: item.request == request.request };
        Ok((item.expires_at > now.second()).then_some(known))
    }

    /// The write of a key, on condition that it is unused or has expired.
    pub(crate) fn put_key(
        &self,
        doing: &'static str,
        request: &RequestKey,
        post: PostId,
        now: Time,
    ) -> Result<Write, StoreError> {
        let item = KeyItem {
            sk: "-".to_owned(),
            v: KeyItem::V,
            request: request.request.clone(),
            post,
            expires_at: now.expires_after(IDEMPOTENCY_KEPT),
        };
        Ok(self
            .table
            .put(write(doing, &request.pk(), &item)?)
            .condition("attribute_not_exists(pk) OR expires_at <= :now")
            .value(":now", number(now.second())))
    }
}

pub(crate) fn key_pk(user: UserId, name: &str) -> Pk {
    ItemKind::IdempotencyKey.pk(format_args!("{user}#{name}"))
}
