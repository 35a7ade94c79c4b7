use fanfold_core::limits::{MEMORY_BEGINS_WITHIN_MS, REBUILD_LEASE_MS};
use fanfold_core::{PostId, Slice, UserId, order};
use redis::{FromRedisValue, Value};

use super::{Feed, Valkey, failed, scripts};
use crate::error::StoreError;

/// What Valkey knows of a feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Read {
    /// It is not live, or is being rebuilt: nothing may be shown of it.
    Unknown,
    /// The same, and the caller has the lease of its rebuild now.
    Begun,
    /// The same, and somebody else has.
    Busy,
    Known(Held),
}

/// What a live feed holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// Complete down to the slice's bound, but for those authors.
    pub slice: Slice,
    /// Authors whose posts may be missing, since they are not pushed. Others of them may be there.
    pub pulled: Vec<UserId>,
}

impl Read {
    pub fn known(self) -> Option<Held> {
        match self {
            Read::Known(held) => Some(held),
            Read::Unknown | Read::Begun | Read::Busy => None,
        }
    }
}

impl Valkey {
    /// Reads up to `count` posts older than `before`, and notes that the feed was read.
    pub async fn read(
        &self,
        feed: Feed,
        before: PostId,
        count: usize,
        now_ms: u64,
    ) -> Result<Read, StoreError> {
        let touch_every_ms = self.touch_every_ms as i64;
        self.read_noting(feed, before, count, now_ms, touch_every_ms, None).await
    }

    /// The same, and begins a rebuild with this token where nothing may be shown.
    pub async fn read_or_begin(
        &self,
        feed: Feed,
        before: PostId,
        count: usize,
        now_ms: u64,
        token: &str,
    ) -> Result<Read, StoreError> {
        let touch_every_ms = self.touch_every_ms as i64;
        self.read_noting(feed, before, count, now_ms, touch_every_ms, Some(token)).await
    }

    /// The same for somebody who is not its reader: no note is left.
    pub async fn peek(&self, feed: Feed, count: usize) -> Result<Read, StoreError> {
        self.read_noting(feed, PostId::MAX, count, 0, -1, None).await
    }

    async fn read_noting(
        &self,
        feed: Feed,
        before: PostId,
        count: usize,
        now_ms: u64,
        touch_every_ms: i64,
        token: Option<&str>,
    ) -> Result<Read, StoreError> {
        let from = match before {
            PostId::MAX => "-inf".to_owned(),
            before => order::score(before.time_ms()).to_string(),
        };
        let bucket = self.keys.bucket(feed.user);
        let mut script = scripts::READ.call();
        script.key(self.keys.live(bucket)).key(self.keys.memory(bucket));
        script.key(self.keys.feed(feed));
        script.arg(now_ms).arg(touch_every_ms).arg(from).arg(count);
        if let Some(token) = token {
            script.key(self.keys.lock(feed)).arg(now_ms + MEMORY_BEGINS_WITHIN_MS);
            script.arg(token).arg(REBUILD_LEASE_MS);
        }
        let reply: Value = script.run(&self.link, "reading a feed").await?;
        let Answer { state, floor, members, heads } =
            Answer::of(reply).map_err(failed("reading a feed's answer"))?;
        let (2, Some(floor)) = (state, floor) else {
            return Ok(match state {
                3 => Read::Begun,
                4 => Read::Busy,
                _ => Read::Unknown,
            });
        };
        let posts = members.iter().filter_map(|member| order::post(member));
        let posts = posts.filter(|post| *post < before).take(count).collect();
        let slice = Slice::above_floor(posts, count, floor.unsigned_abs());
        let pulled = heads.iter().filter_map(|member| order::pointed_at(member)).collect();
        Ok(Read::Known(Held { slice, pulled }))
    }

    /// Since when the server remembers a user's bucket; nothing, if it does not.
    pub async fn memory(&self, user: UserId) -> Result<String, StoreError> {
        let memory: Option<String> = redis::cmd("GET")
            .arg(self.keys.memory(self.keys.bucket(user)))
            .query_async(&mut self.link.clone())
            .await
            .map_err(failed("asking what Valkey remembers"))?;
        Ok(memory.unwrap_or_default())
    }
}

/// The script answers with one to four values.
struct Answer {
    state: u8,
    floor: Option<i64>,
    members: Vec<Vec<u8>>,
    heads: Vec<Vec<u8>>,
}

impl Answer {
    fn of(reply: Value) -> Result<Self, redis::RedisError> {
        let mut values = Vec::<Value>::from_redis_value(reply)?.into_iter();
        let state = values.next().map_or(Ok(0), u8::from_redis_value)?;
        let floor = values.next().map(String::from_redis_value).transpose()?;
        let floor = floor.and_then(|score| score.parse::<f64>().ok()).map(|score| score as i64);
        let members = values.next().map(Vec::from_redis_value).transpose()?.unwrap_or_default();
        let heads = values.next().map(Vec::from_redis_value).transpose()?.unwrap_or_default();
        Ok(Self { state, floor, members, heads })
    }
}
