//! Kept feeds in the graph table.

use fanfold_core::kinds::{ItemKind, Pk};
use fanfold_core::{PostId, Second, Time, UserId};
use fanfold_engines::table::{Item, Stored, Table, ids, ids_of, key, read, write};
use fanfold_runtime::error::StoreError;
use serde::{Deserialize, Serialize};

/// The sort key of a copy.
const COPY: &str = "copy";

/// A home feed that the sweep has kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptFeed {
    /// The posts, newest first.
    pub posts: Vec<PostId>,
    /// The copy is complete down to this id.
    pub bound: PostId,
    /// The pulled authors that the feed pointed to. Their posts are not in the copy.
    pub pulled: Vec<UserId>,
    /// The time before the feed was read.
    pub made_at: Time,
    /// The memory of the reader's bucket at that time.
    pub memory: String,
}

#[derive(Serialize, Deserialize)]
struct CopyItem {
    sk: String,
    v: u32,
    bound: PostId,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pulled: Vec<UserId>,
    #[serde(rename = "made_at_ms")]
    made_at: Time,
    memory: String,
    expires_at: Second,
}

impl Stored for CopyItem {
    const V: u32 = 1;
}

/// The kept feeds, in the graph table.
#[derive(Clone)]
pub struct KeptStore {
    table: Table,
}

impl KeptStore {
    /// The store over its table.
    pub fn new(table: Table) -> Self {
        Self { table }
    }

    /// Keeps feeds until this time. Replaces earlier copies.
    pub async fn put(
        &self,
        feeds: Vec<(UserId, KeptFeed)>,
        expires_at: Second,
    ) -> Result<(), StoreError> {
        let doing = "keeping feeds";
        let item = |(user, feed): (UserId, KeptFeed)| {
            let KeptFeed { posts, bound, pulled, made_at, memory } = feed;
            let copy = CopyItem {
                sk: COPY.to_owned(),
                v: CopyItem::V,
                bound,
                pulled,
                made_at,
                memory,
                expires_at,
            };
            let mut item = write(doing, &pk(user), &copy)?;
            item.insert("posts".to_owned(), ids(&posts));
            Ok(item)
        };
        let items: Result<Vec<Item>, StoreError> = feeds.into_iter().map(item).collect();
        self.table.put_all(doing, items?).await
    }

    /// The copy of a user's feed. `None` if there is none, or it has expired.
    pub async fn of(&self, user: UserId, now: Time) -> Result<Option<KeptFeed>, StoreError> {
        let doing = "reading a kept feed";
        let Some(item) = self.table.get(doing, key(&pk(user), COPY)).await? else {
            return Ok(None);
        };
        let damaged = || StoreError::Item { doing, source: "the posts have another form".into() };
        let posts = ids_of(&item, "posts").ok_or_else(damaged)?;
        let CopyItem { bound, pulled, made_at, memory, expires_at, .. } = read(doing, item)?;
        // DynamoDB removes it later
        // mutation: kept-expired
        let is_there = now.second() < expires_at;
        Ok(is_there.then_some(KeptFeed { posts, bound, pulled, made_at, memory }))
    }

    /// Removes what is kept of a user.
    pub async fn forget(&self, user: UserId) -> Result<(), StoreError> {
        self.table.delete(key(&pk(user), COPY)).deleted("removing a kept feed").await
    }
}

fn pk(user: UserId) -> Pk {
    ItemKind::KeptFeed.pk(user)
}
