use fanfold_core::limits::{REL_KEPT_MS, SWEEP_BATCH};
use fanfold_core::{Change, PostId, Slice, UserId, order};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};

use super::{Feed, Valkey, failed, scripts};
use crate::error::StoreError;

/// What became of a push.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pushed {
    pub delivered: u64,
    pub not_live: u64,
    pub unfollowed: u64,
}

/// What became of a change of relation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Related {
    /// A later change is known already.
    Stale,
    /// Recorded; the feed is not live.
    NotLive,
    /// Recorded, and this many entries were removed, or offered to the feed.
    Done(u64),
}

/// The posts that a new follower gets, and how far down they are complete.
pub type Backfill = Slice;

/// Feeds in one script call: bounds the time for which the server does nothing else.
const FEEDS_PER_CALL: usize = 1_000;
const CALLS_AT_ONCE: usize = 64;

impl Valkey {
    /// Pushes a post to those of the feeds that are live, one script call per bucket.
    pub async fn push(&self, post: PostId, feeds: &[Feed]) -> Result<Pushed, StoreError> {
        let mut feeds: Vec<(u16, Feed)> =
            feeds.iter().map(|feed| (self.keys.bucket(feed.user), *feed)).collect();
        feeds.sort_by_key(|(bucket, _)| *bucket);
        let calls: Vec<_> = feeds
            .chunk_by(|(a, _), (b, _)| a == b)
            .flat_map(|bucket| bucket.chunks(FEEDS_PER_CALL))
            .map(|call| self.push_call(post, call))
            .collect();
        stream::iter(calls)
            .buffer_unordered(CALLS_AT_ONCE)
            .try_fold(Pushed::default(), async |sum, call| {
                Ok(Pushed {
                    delivered: sum.delivered + call.delivered,
                    not_live: sum.not_live + call.not_live,
                    unfollowed: sum.unfollowed + call.unfollowed,
                })
            })
            .await
    }

    async fn push_call(&self, post: PostId, call: &[(u16, Feed)]) -> Result<Pushed, StoreError> {
        let Some((bucket, _)) = call.first() else { return Ok(Pushed::default()) };
        let mut script = scripts::PUSH.prepare_invoke();
        script.key(self.keys.live(*bucket)).key(self.keys.rel(*bucket, post.author()));
        script.arg(order::score(post.time_ms())).arg(&order::member(post)[..]);
        script.arg(self.cap).arg(self.keep());
        for (_, feed) in call {
            script.key(self.keys.feed(*feed)).arg(feed.member());
        }
        let (delivered, not_live, unfollowed) = script
            .invoke_async(&mut self.connection.clone())
            .await
            .map_err(failed("pushing a post"))?;
        Ok(Pushed { delivered, not_live, unfollowed })
    }

    /// Records a change of `reader`'s relation to `author`, and removes or backfills entries.
    pub async fn relate(
        &self,
        reader: UserId,
        author: UserId,
        change: Change,
        backfill: &Backfill,
    ) -> Result<Related, StoreError> {
        let (bucket, feed) = (self.keys.bucket(reader), Feed::home(reader));
        let mut script = scripts::RELATE.prepare_invoke();
        script.key(self.keys.live(bucket)).key(self.keys.feed(feed));
        script.key(self.keys.rel(bucket, author));
        script.arg(feed.member()).arg(reader.to_string()).arg(change.score()).arg(REL_KEPT_MS);
        script.arg(self.cap).arg(self.keep()).arg(&order::author_suffix(author)[..]);
        script.arg(order::score(backfill.floor_ms()));
        for post in &backfill.posts {
            script.arg(order::score(post.time_ms())).arg(&order::member(*post)[..]);
        }
        let (outcome, count): (String, u64) = script
            .invoke_async(&mut self.connection.clone())
            .await
            .map_err(failed("recording a relation"))?;
        Ok(match outcome.as_str() {
            "stale" => Related::Stale,
            "absent" => Related::NotLive,
            _ => Related::Done(count),
        })
    }

    /// Takes posts that are gone out of a feed.
    pub async fn remove(&self, feed: Feed, posts: &[PostId]) -> Result<(), StoreError> {
        for batch in posts.chunks(SWEEP_BATCH) {
            let mut command = redis::cmd("ZREM");
            command.arg(self.keys.feed(feed));
            for post in batch {
                command.arg(&order::member(*post)[..]);
            }
            let () = command
                .query_async(&mut self.connection.clone())
                .await
                .map_err(failed("removing posts from a feed"))?;
        }
        Ok(())
    }
}
