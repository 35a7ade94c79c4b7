//! Request limits (`lua/limit.lua`).

use std::time::Duration;

use fanfold_core::kinds::LimitKind;
use fanfold_core::time::millis;
use fanfold_core::{Time, UserId};
use fanfold_runtime::config::{Config, ConfigError};
use fanfold_runtime::error::StoreError;

use super::keys::Key;
use super::{Valkey, failed, scripts};

/// The period that request limits count in.
const REQUEST_LIMIT_WINDOW: Duration = Duration::from_secs(60);

/// The number of requests of a kind that one user may make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// The kind of requests.
    pub kind: LimitKind,
    /// Requests per minute, or changes or queries that they make, which may come all at once. 0: no limit.
    pub per_minute: u64,
}

impl RateLimit {
    /// Reads the setting of the limit.
    pub fn read(config: &Config, kind: LimitKind) -> Result<Self, ConfigError> {
        let (name, default, max) = kind.setting();
        let per_minute = config.number(name, default, 0..=max)?;
        Ok(Self { kind, per_minute })
    }
}

impl Valkey {
    /// Counts a request as so many. Returns `None` if all are within the limit. Otherwise none is counted, and the result
    /// is the time until they are allowed. With 0, it is the time until any is.
    pub fn count_requests(
        &self,
        limit: RateLimit,
        user: UserId,
        count: u64,
        now: Time,
    ) -> impl Future<Output = Result<Option<Duration>, StoreError>> {
        self.count(limit, user, count, "", now)
    }

    /// Counts what a request has made already, also above the limit. Then the next requests must wait.
    pub async fn charge(
        &self,
        limit: RateLimit,
        user: UserId,
        made: u64,
        now: Time,
    ) -> Result<(), StoreError> {
        self.count(limit, user, made, "made", now).await.map(drop)
    }

    async fn count(
        &self,
        limit: RateLimit,
        user: UserId,
        count: u64,
        made: &str,
        now: Time,
    ) -> Result<Option<Duration>, StoreError> {
        let RateLimit { kind, per_minute } = limit;
        if per_minute == 0 {
            return Ok(None);
        }
        let interval_ms = millis(REQUEST_LIMIT_WINDOW) as f64 / per_minute as f64;
        let mut script = scripts::LIMIT.call();
        script.key(self.keys.limit(kind, user));
        script
            .arg(now.ms())
            .arg(interval_ms)
            .arg(millis(REQUEST_LIMIT_WINDOW))
            .arg(count)
            .arg(made);
        let wait_ms: u64 = script.run(&self.link, "counting a request").await?;
        Ok((wait_ms > 0).then_some(Duration::from_millis(wait_ms)))
    }

    /// Deletes the counters of a user's requests.
    pub async fn forget_limits(&self, user: UserId) -> Result<(), StoreError> {
        let keys: Vec<Key> =
            LimitKind::ALL.iter().map(|kind| self.keys.limit(*kind, user)).collect();
        redis::cmd("UNLINK")
            .arg(keys)
            .query_async(&mut self.link.clone())
            .await
            .map_err(failed("deleting the request counters of a user"))
    }
}
