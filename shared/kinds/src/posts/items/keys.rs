//! The posts that an `Idempotency-Key` made.

use fanfold_core::id::IdError;
use fanfold_core::kinds::{ItemKind, Pk};
use fanfold_core::{PostId, Time, UserId};
use fanfold_engines::idempotency::RequestKey;
use fanfold_engines::table::{Write, hashed};
use fanfold_runtime::error::StoreError;

use super::PostStore;

/// An `Idempotency-Key` of a user, with the request that it was sent with.
#[derive(Debug, Clone)]
pub struct PostKey {
    /// The hash of the key, in hexadecimal digits.
    name: String,
    key: RequestKey,
}

/// An earlier use of an `Idempotency-Key`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostKeyUse {
    /// The id of the post or the scheduled post that it made.
    pub post: PostId,
    /// Whether the earlier request was the same.
    pub same_request: bool,
}

impl PostKey {
    /// The key `name` of a user, with a text that stands for the request.
    pub fn new(user: UserId, name: &str, request: &str) -> Self {
        let name = hashed(name);
        Self { key: RequestKey::new(key_pk(user, &name), request), name }
    }

    /// The hash of the key, in hexadecimal digits.
    pub(crate) fn name(&self) -> String {
        self.name.clone()
    }
}

impl PostStore {
    /// The use of this key in the last 24 hours, if there is one.
    pub async fn key_use(
        &self,
        request: &PostKey,
        now: Time,
    ) -> Result<Option<PostKeyUse>, StoreError> {
        let Some(used) = self.table.key_use(&request.key, now).await? else { return Ok(None) };
        let doing = "reading an idempotency key";
        let unread = |error: IdError| StoreError::Item { doing, source: error.into() };
        let post = used.made.parse().map_err(unread)?;
        Ok(Some(PostKeyUse { post, same_request: used.same_request }))
    }

    /// The write of a key, on condition that it is unused or has expired.
    pub(crate) fn put_key(
        &self,
        doing: &'static str,
        request: &PostKey,
        post: PostId,
        now: Time,
    ) -> Result<Write, StoreError> {
        self.table.put_key(doing, &request.key, post, now)
    }
}

pub(super) fn key_pk(user: UserId, name: &str) -> Pk {
    ItemKind::IdempotencyKey.pk(format_args!("{user}#{name}"))
}
