//! Applies changed relations to feeds (`lua/relate.lua`).

use fanfold_core::limits::REL_KEPT;
use fanfold_core::time::millis;
use fanfold_core::{FeedId, RelationChange, Slice, UserId, order};
use fanfold_runtime::error::StoreError;

use super::{Valkey, failed, scripts};

/// The result of applying a change of a relation to a feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelationApplied {
    /// The server has another memory than when the relation was read, so it must be read again.
    Again,
    /// A later change is recorded already.
    Stale,
    /// The change is recorded. The reader's feed is not live, or a full server has dropped it.
    NotLive,
    /// The follow is recorded, so later pushes reach the feed. The caller must read a backfill now.
    Recorded,
    /// The change is recorded, and this many entries were removed from the feed or written to it.
    Done(u64),
}

/// The author's posts that are added to a new follower's feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backfill {
    /// The author's newest posts.
    pub slice: Slice,
    /// Whether the author is pulled, so that the feed needs a pointer.
    pub pulled: bool,
}

impl Valkey {
    /// Records a change of `reader`'s relation to `author`, and removes or adds the author's entries. `memory` is
    /// the result of [`Valkey::memory`] before the relation was read. A follow takes two calls: the first without
    /// a backfill, and after [`RelationApplied::Recorded`] the second with one.
    pub async fn relate(
        &self,
        reader: UserId,
        author: UserId,
        change: RelationChange,
        backfill: Option<Backfill>,
        memory: &str,
    ) -> Result<RelationApplied, StoreError> {
        let doing = "recording a relation";
        let (bucket, feed) = (self.keys.bucket(reader), FeedId::home(reader));
        let mut script = scripts::RELATE.call();
        script.key(self.keys.live(bucket)).key(self.keys.memory(bucket));
        script.key(self.keys.feed(feed)).key(self.keys.rel(bucket, author));
        script.key(self.keys.rels(bucket));
        script.arg(reader.to_string()).arg(change.score()).arg(millis(REL_KEPT));
        script.arg(self.full()).arg(self.keep()).arg(memory);
        script.arg(&order::author_suffix(author)[..]);
        match &backfill {
            Some(backfill) => script.arg(order::score(backfill.slice.floor())),
            None => script.arg(""),
        };
        let pulled = backfill.as_ref().is_some_and(|backfill| backfill.pulled);
        script.arg(&order::pointer(author)[..]).arg(u8::from(pulled));
        let posts = backfill.as_ref().map_or(&[][..], |backfill| &backfill.slice.posts);
        script.arg(order::packed(posts));
        let (outcome, count): (String, u64) = script.run(&self.link, doing).await?;
        match outcome.as_str() {
            "again" => Ok(RelationApplied::Again),
            "stale" => Ok(RelationApplied::Stale),
            "absent" => Ok(RelationApplied::NotLive),
            "recorded" => Ok(RelationApplied::Recorded),
            "done" => Ok(RelationApplied::Done(count)),
            other => Err(failed(doing)(scripts::unknown(other))),
        }
    }
}
