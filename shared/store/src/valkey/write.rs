use fanfold_core::limits::{CLOCKS_DIFFER_MS, SWEEP_BATCH};
use fanfold_core::{PostId, order};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use redis::{FromRedisValue as _, Value};

use super::{Feed, Valkey, failed, scripts};
use crate::error::StoreError;

/// What became of a push.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pushed {
    pub delivered: u64,
    pub not_live: u64,
    pub unfollowed: u64,
    /// What was not pushed to, because unfollows since may be forgotten.
    pub forgotten: Vec<Forgotten>,
}

/// Feeds of a bucket, to be chosen anew; the next push names the memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forgotten {
    pub memory: String,
    pub feeds: Vec<Feed>,
}

/// What the feeds of a push were chosen by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Chosen {
    /// An author's own feeds: no relation is asked for.
    Own,
    /// The followers, as they were at this time.
    AtMs(u64),
    /// The followers, read after the server had named this memory.
    Since(String),
}

/// Feeds in one script call: bounds the time for which the server does nothing else.
const FEEDS_PER_CALL: usize = 1_000;
const CALLS_AT_ONCE: usize = 64;

impl Valkey {
    /// Pushes a post to those of the feeds that are live, one script call per bucket.
    pub async fn push(
        &self,
        post: PostId,
        feeds: &[Feed],
        chosen: &Chosen,
    ) -> Result<Pushed, StoreError> {
        let chosen = match chosen {
            Chosen::Own => "*".to_owned(),
            Chosen::AtMs(at) => at.saturating_sub(CLOCKS_DIFFER_MS).to_string(),
            Chosen::Since(memory) => memory.clone(),
        };
        let mut feeds: Vec<(u16, Feed)> =
            feeds.iter().map(|feed| (self.keys.bucket(feed.user), *feed)).collect();
        feeds.sort_by_key(|(bucket, _)| *bucket);
        let calls: Vec<_> = feeds
            .chunk_by(|(a, _), (b, _)| a == b)
            .flat_map(|bucket| bucket.chunks(FEEDS_PER_CALL))
            .map(|call| self.push_call(post, call, &chosen))
            .collect();
        stream::iter(calls)
            .buffer_unordered(CALLS_AT_ONCE)
            .try_fold(Pushed::default(), async |mut sum, call| {
                sum.delivered += call.delivered;
                sum.not_live += call.not_live;
                sum.unfollowed += call.unfollowed;
                sum.forgotten.extend(call.forgotten);
                Ok(sum)
            })
            .await
    }

    async fn push_call(
        &self,
        post: PostId,
        call: &[(u16, Feed)],
        chosen: &str,
    ) -> Result<Pushed, StoreError> {
        let Some((bucket, _)) = call.first() else { return Ok(Pushed::default()) };
        let mut script = scripts::PUSH.prepare_invoke();
        script.key(self.keys.live(*bucket)).key(self.keys.memory(*bucket));
        script.key(self.keys.rel(*bucket, post.author()));
        script.arg(order::score(post.time_ms())).arg(&order::member(post)[..]);
        script.arg(self.cap).arg(self.keep()).arg(chosen);
        for (_, feed) in call {
            script.key(self.keys.feed(*feed)).arg(feed.member());
        }
        let reply: Value =
            script.invoke_async(&mut self.link.clone()).await.map_err(failed("pushing a post"))?;
        if matches!(reply, Value::Array(_)) {
            let counts = <(u64, u64, u64)>::from_redis_value(reply);
            let (delivered, not_live, unfollowed) =
                counts.map_err(|error| failed("reading a push's answer")(error.into()))?;
            return Ok(Pushed { delivered, not_live, unfollowed, forgotten: Vec::new() });
        }
        let memory = String::from_redis_value(reply);
        let memory = memory.map_err(|error| failed("reading a push's answer")(error.into()))?;
        let feeds = call.iter().map(|(_, feed)| *feed).collect();
        Ok(Pushed { forgotten: vec![Forgotten { memory, feeds }], ..Pushed::default() })
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
                .query_async(&mut self.link.clone())
                .await
                .map_err(failed("removing posts from a feed"))?;
        }
        Ok(())
    }

    /// Gives up what a live feed holds: whoever reads it next rebuilds it.
    pub async fn distrust(&self, feed: Feed) -> Result<(), StoreError> {
        redis::cmd("UNLINK")
            .arg(self.keys.feed(feed))
            .query_async(&mut self.link.clone())
            .await
            .map_err(failed("giving up a feed"))
    }
}
