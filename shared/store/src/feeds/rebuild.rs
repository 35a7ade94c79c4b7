use fanfold_core::PostId;

use super::Feeds;
use crate::clock;
use crate::error::StoreError;
use crate::valkey::{Begun, Feed};

impl Feeds {
    /// Makes a feed live, reads, and commits. False: somebody else is at it, or took over.
    pub async fn rebuild(&self, feed: Feed, now_ms: u64) -> Result<bool, StoreError> {
        let token = clock::random();
        match self.valkey.begin(feed, token, now_ms).await? {
            Begun::Busy => return Ok(false),
            Begun::Built => return Ok(true),
            Begun::Begun => {}
        }
        let keep = self.valkey.keep();
        let slice = self.pull(feed, PostId::MAX, keep, now_ms, true).await?;
        let committed = self.valkey.commit(feed, token, &slice).await?;
        tracing::info!(
            feed = feed.member(),
            posts = slice.posts.len(),
            floor_ms = slice.floor_ms(),
            committed,
            "rebuilt a feed"
        );
        Ok(committed)
    }
}
