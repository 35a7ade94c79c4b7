//! Feeds: from Valkey where it holds them, from DynamoDB where it does not.

mod page;
mod pull;
mod rebuild;

use fanfold_core::{PostId, Slice};
use serde::Serialize;
use utoipa::ToSchema;

use crate::dynamo::{GraphStore, PostStore};
use crate::error::StoreError;
use crate::log::Chain;
use crate::valkey::{Feed, Read, Valkey};
pub use page::{Page, Span};

/// Where a page comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The feed was live.
    Cache,
    /// The feed was rebuilt for this request.
    Rebuild,
    /// Merged for this request, below the floor of the feed or beside it.
    Pull,
}

#[derive(Clone)]
pub struct Feeds {
    pub valkey: Valkey,
    pub posts: PostStore,
    pub graph: GraphStore,
}

impl Feeds {
    pub fn new(valkey: Valkey, posts: PostStore, graph: GraphStore) -> Self {
        Self { valkey, posts, graph }
    }

    /// The next posts of a feed that are older than `before`.
    pub async fn slice(
        &self,
        feed: Feed,
        before: PostId,
        count: usize,
        now_ms: u64,
    ) -> Result<(Slice, Source), StoreError> {
        let (known, valkey_answers) = match self.read_or_rebuild(feed, before, count, now_ms).await
        {
            Ok(known) => (known, true),
            // Valkey is a cache: without it, reads go on
            Err(error) if error.is_valkey() => {
                tracing::warn!(error = %Chain(&error), "pulling a feed without Valkey");
                (None, false)
            }
            Err(error) => return Err(error),
        };
        match known {
            Some((slice, source)) if !slice.posts.is_empty() || slice.is_end() => {
                Ok((slice, source))
            }
            _ => {
                let slice = self.pull(feed, before, count, now_ms, valkey_answers).await?;
                Ok((slice, Source::Pull))
            }
        }
    }

    /// Reads a feed that is live; one that is not is rebuilt first, unless somebody else is at it.
    async fn read_or_rebuild(
        &self,
        feed: Feed,
        before: PostId,
        count: usize,
        now_ms: u64,
    ) -> Result<Option<(Slice, Source)>, StoreError> {
        if let Read::Known(slice) = self.valkey.read(feed, before, count, now_ms).await? {
            return Ok(Some((slice, Source::Cache)));
        }
        if !Box::pin(self.rebuild(feed, now_ms)).await? {
            return Ok(None);
        }
        match self.valkey.read(feed, before, count, now_ms).await? {
            Read::Known(slice) => Ok(Some((slice, Source::Rebuild))),
            Read::Unknown => Ok(None),
        }
    }
}
