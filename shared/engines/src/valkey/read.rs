//! Reads feeds (`lua/read.lua`).

use std::time::Duration;

use fanfold_core::limits::{MEMORY_BEGINS_WITHIN, REBUILD_LEASE};
use fanfold_core::time::millis;
use fanfold_core::{FeedId, PostId, Slice, Time, UserId, order};
use fanfold_runtime::error::StoreError;
use redis::{FromRedisValue, RedisError, Value};

use super::scripts::{self, unknown};
use super::{Valkey, failed};

/// The result of reading a feed from Valkey.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Read {
    /// The feed cannot be shown: it is not live, or is being rebuilt.
    Unknown,
    /// The feed cannot be shown. This read began a rebuild, and the caller holds its lease.
    Begun,
    /// The feed cannot be shown. Another caller holds the lease of its rebuild.
    Busy,
    /// The feed cannot be shown, and a full server has no room for a rebuild.
    Full,
    /// Posts of a live feed.
    Known(CachedSlice),
}

/// Posts of a live feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedSlice {
    /// The posts. They are complete down to the slice's bound, except for posts of `pulled` authors.
    pub slice: Slice,
    /// Pulled authors that the feed points to. Some of their posts may be in the slice, others not.
    pub pulled: Vec<UserId>,
}

impl Read {
    /// The posts, if the feed can be shown.
    pub fn known(self) -> Option<CachedSlice> {
        match self {
            Read::Known(cached) => Some(cached),
            Read::Unknown | Read::Begun | Read::Busy | Read::Full => None,
        }
    }
}

impl Valkey {
    /// Reads up to `count` posts that are older than `before`, and notes the time of the read.
    pub async fn read(
        &self,
        feed: FeedId,
        before: PostId,
        count: usize,
        now: Time,
    ) -> Result<Read, StoreError> {
        self.read_and_note(feed, before, count, now, Some(self.touch_every), None).await
    }

    /// Reads up to `count` posts that are older than `before`, and notes the time of the read. If the feed cannot be
    /// shown, begins a rebuild with this token.
    pub async fn read_or_begin(
        &self,
        feed: FeedId,
        before: PostId,
        count: usize,
        now: Time,
        token: &str,
    ) -> Result<Read, StoreError> {
        self.read_and_note(feed, before, count, now, Some(self.touch_every), Some(token)).await
    }

    /// Reads the newest `count` posts without noting the time, for callers that are not readers.
    pub async fn peek(&self, feed: FeedId, count: usize) -> Result<Read, StoreError> {
        self.read_and_note(feed, PostId::MAX, count, Time::EPOCH, None, None).await
    }

    async fn read_and_note(
        &self,
        feed: FeedId,
        before: PostId,
        count: usize,
        now: Time,
        touch_every: Option<Duration>,
        token: Option<&str>,
    ) -> Result<Read, StoreError> {
        let from = match before {
            PostId::MAX => "-inf".to_owned(),
            before => order::score(before.time()).to_string(),
        };
        let bucket = self.keys.bucket_of(feed);
        let mut script = scripts::READ.call();
        script.key(self.keys.live(bucket)).key(self.keys.memory(bucket));
        script.key(self.keys.feed(feed));
        let touch_every_ms = touch_every.map_or(-1, |every| millis(every) as i64);
        script.arg(now.ms()).arg(touch_every_ms).arg(from).arg(count);
        if let Some(token) = token {
            script.key(self.keys.lock(feed)).arg((now + MEMORY_BEGINS_WITHIN).ms());
            script.arg(token).arg(millis(REBUILD_LEASE));
        }
        let doing = "reading a feed";
        let reply: Value = script.run(&self.link, doing).await?;
        let (floor, members, heads) = match Answer::of(reply).map_err(failed(doing))? {
            Answer::Absent | Answer::Hidden => return Ok(Read::Unknown),
            Answer::Begun => return Ok(Read::Begun),
            Answer::Busy => return Ok(Read::Busy),
            Answer::Full => return Ok(Read::Full),
            Answer::Shown { floor, members, heads } => (floor, members, heads),
        };
        let posts = members.iter().filter_map(|member| order::post(member));
        let posts = posts.filter(|post| *post < before).take(count).collect();
        let slice = Slice::above_floor(posts, count, Time::from_ms(floor.unsigned_abs()));
        let pulled = heads.iter().filter_map(|member| order::pointed_at(member)).collect();
        Ok(Read::Known(CachedSlice { slice, pulled }))
    }

    /// The name of the memory of a user's bucket. Empty if the server has none.
    pub async fn memory(&self, user: UserId) -> Result<String, StoreError> {
        let memory: Option<String> = self
            .keys
            .memory(self.keys.bucket(user))
            .command("GET")
            .query_async(&mut self.link.clone())
            .await
            .map_err(failed("reading the memory of Valkey"))?;
        Ok(memory.unwrap_or_default())
    }
}

/// The answer of the script: a number for the state, and for a feed that can be shown two or three more values.
#[derive(Debug, PartialEq)]
enum Answer {
    Absent,
    Hidden,
    Begun,
    Busy,
    Full,
    Shown { floor: i64, members: Vec<Vec<u8>>, heads: Vec<Vec<u8>> },
}

impl Answer {
    fn of(reply: Value) -> Result<Self, RedisError> {
        let values = Vec::<Value>::from_redis_value(reply)?;
        let state = |value: &Value| u8::from_redis_value_ref(value);
        match values.as_slice() {
            [one] => match state(one)? {
                0 => Ok(Self::Absent),
                1 => Ok(Self::Hidden),
                3 => Ok(Self::Begun),
                4 => Ok(Self::Busy),
                5 => Ok(Self::Full),
                other => Err(unknown(&other.to_string())),
            },
            [shown, floor, members, heads @ ..] if state(shown)? == 2 && heads.len() < 2 => {
                let score = String::from_redis_value_ref(floor)?;
                let floor = score.parse::<f64>().ok().filter(|floor| floor.is_finite());
                let floor = floor.ok_or_else(|| unknown(&score))? as i64;
                let members = Vec::from_redis_value_ref(members)?;
                let heads = heads.first().map(Vec::from_redis_value_ref).transpose()?;
                Ok(Self::Shown { floor, members, heads: heads.unwrap_or_default() })
            }
            other => Err(unknown(&format!("{other:?}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_answer_is_an_error() {
        let text = |text: &str| Value::BulkString(text.as_bytes().to_vec());
        let list = |values: &[Value]| Value::Array(values.to_vec());
        let shown = list(&[Value::Int(2), text("-5"), list(&[text("0123456789abcdef")])]);
        let members = vec![b"0123456789abcdef".to_vec()];
        let heads = Vec::new();
        assert_eq!(Answer::of(shown).unwrap(), Answer::Shown { floor: -5, members, heads });
        assert_eq!(Answer::of(list(&[Value::Int(4)])).unwrap(), Answer::Busy);
        for odd in [
            list(&[]),
            list(&[Value::Int(2)]),
            list(&[Value::Int(6)]),
            list(&[Value::Int(2), text("-5")]),
            list(&[Value::Int(2), text("no number"), list(&[])]),
            list(&[Value::Int(2), text("nan"), list(&[])]),
            list(&[Value::Int(3), text("-5"), list(&[])]),
            list(&[Value::Int(2), text("-5"), list(&[]), list(&[]), list(&[])]),
            text("begun"),
            Value::Nil,
        ] {
            assert!(Answer::of(odd.clone()).is_err(), "{odd:?}");
        }
    }
}
