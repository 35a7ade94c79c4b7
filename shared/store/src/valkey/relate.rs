use fanfold_core::limits::REL_KEPT_MS;
use fanfold_core::{Change, Slice, UserId, order};

use super::{Feed, Valkey, scripts};
use crate::error::StoreError;

/// What became of a change of relation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Related {
    /// The server remembers less than before the relation was read: it must be read again.
    Again,
    /// A later change is known already.
    Stale,
    /// The feed is not live.
    NotLive,
    /// Pushes land from now on; a backfill that is read from now on is wanted.
    Recorded,
    /// Recorded, and this many entries were removed, or offered to the feed.
    Done(u64),
}

/// What a new follower gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backfill {
    /// The author's newest posts.
    pub slice: Slice,
    /// Whether posts of this author may not be pushed.
    pub pulled: bool,
}

impl Valkey {
    /// Records a change of `reader`'s relation to `author`, and removes or backfills entries.
    /// `memory` is what [`Valkey::memory`] said before the relation was read. A follow is recorded
    /// first, without a backfill, and called for again with one.
    pub async fn relate(
        &self,
        reader: UserId,
        author: UserId,
        change: Change,
        backfill: Option<Backfill>,
        memory: &str,
    ) -> Result<Related, StoreError> {
        let (bucket, feed) = (self.keys.bucket(reader), Feed::home(reader));
        let mut script = scripts::RELATE.call();
        script.key(self.keys.live(bucket)).key(self.keys.memory(bucket));
        script.key(self.keys.feed(feed)).key(self.keys.rel(bucket, author));
        script.key(self.keys.rels(bucket));
        script.arg(reader.to_string()).arg(change.score()).arg(REL_KEPT_MS);
        script.arg(self.full()).arg(self.keep()).arg(memory);
        script.arg(&order::author_suffix(author)[..]);
        match &backfill {
            Some(backfill) => script.arg(order::score(backfill.slice.floor_ms())),
            None => script.arg(""),
        };
        let pulled = backfill.as_ref().is_some_and(|backfill| backfill.pulled);
        script.arg(&order::pointer(author)[..]).arg(u8::from(pulled));
        let posts = backfill.as_ref().map_or(&[][..], |backfill| &backfill.slice.posts);
        script.arg(order::packed(posts));
        let (outcome, count): (String, u64) =
            script.run(&self.link, "recording a relation").await?;
        Ok(match outcome.as_str() {
            "again" => Related::Again,
            "stale" => Related::Stale,
            "absent" => Related::NotLive,
            "recorded" => Related::Recorded,
            _ => Related::Done(count),
        })
    }
}
