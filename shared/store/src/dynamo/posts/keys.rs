//! What an `Idempotency-Key` made.

use aws_sdk_dynamodb::types::Put;
use aws_sdk_dynamodb::types::builders::PutBuilder;
use fanfold_core::limits::IDEMPOTENCY_KEPT_S;
use fanfold_core::{PostId, UserId};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::super::{Stored, key, number, read, write};
use super::PostStore;
use crate::error::StoreError;

/// What an `Idempotency-Key` stands for: whose it is, its name, and the request.
/// Both are hashed: whatever was sent, the item has one form and length.
#[derive(Debug, Clone)]
pub struct RequestKey {
    user: UserId,
    name: String,
    request: String,
}

/// What a key made earlier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyUse {
    pub post: PostId,
    pub same_request: bool,
}

#[derive(Serialize, Deserialize)]
struct KeyItem {
    pk: String,
    sk: String,
    v: u32,
    request: String,
    post: PostId,
    expires_at: u64,
}

impl Stored for KeyItem {
    const V: u32 = 1;
}

impl RequestKey {
    pub fn new(user: UserId, name: &str, request: &str) -> Self {
        Self { user, name: hex(name), request: hex(request) }
    }

    /// Its name, hashed.
    pub(super) fn name(&self) -> String {
        self.name.clone()
    }

    fn pk(&self) -> String {
        key_pk(self.user, &self.name)
    }
}

impl PostStore {
    /// What this key made in the last 24 hours.
    pub async fn key_use(
        &self,
        request: &RequestKey,
        now_ms: u64,
    ) -> Result<Option<KeyUse>, StoreError> {
        let doing = "reading an idempotency key";
        let Some(item) = self.get(doing, key(request.pk(), "-")).await? else { return Ok(None) };
        let item: KeyItem = read(doing, item)?;
        // DynamoDB removes what has expired when it gets to it
        let known = KeyUse { post: item.post, same_request: item.request == request.request };
        Ok((item.expires_at > now_ms / 1000).then_some(known))
    }

    /// The write of a key, on condition that it is free.
    pub(super) fn put_key(
        &self,
        doing: &'static str,
        request: &RequestKey,
        post: PostId,
        now_ms: u64,
    ) -> Result<PutBuilder, StoreError> {
        let item = KeyItem {
            pk: request.pk(),
            sk: "-".to_owned(),
            v: KeyItem::V,
            request: request.request.clone(),
            post,
            expires_at: now_ms / 1000 + IDEMPOTENCY_KEPT_S,
        };
        Ok(Put::builder()
            .table_name(&self.table)
            .set_item(Some(write(doing, &item)?))
            .condition_expression("attribute_not_exists(pk) OR expires_at <= :now")
            .expression_attribute_values(":now", number(now_ms / 1000)))
    }
}

pub(super) fn key_pk(user: UserId, name: &str) -> String {
    format!("key#{user}#{name}")
}

fn hex(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}
