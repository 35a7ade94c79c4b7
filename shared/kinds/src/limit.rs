//! Limits how many requests of a kind a user may make: writes, and reads that cost as much.
//!
//! **Request limits.** Valkey counts each user's posts, likes, changes of boards, relations and profiles, and timers
//! with the generic cell rate algorithm (`valkey/lua/limit.lua`). The count runs while the profile is read. If Valkey
//! has not answered 20 ms after the profile was read, the request is allowed. Further requests are answered with 429
//! and `Retry-After`.

use std::pin::pin;
use std::time::Duration;

use fanfold_core::time::millis;
use fanfold_core::{Time, UserId};
use fanfold_engines::valkey::{RateLimit, Valkey};
use fanfold_runtime::log::Chain;
use fanfold_runtime::{StoreError, clock, metrics};
use futures::future::{Either, select};

use crate::Error;
use crate::owned::erasing::{Erasing, Progress};
use crate::owned::{Owned, Step, nothing};

/// How long a request waits for Valkey's count after all its other reads are done. If there is no count
/// by then, the request is allowed.
const REQUEST_LIMIT_GRACE: Duration = Duration::from_millis(20);

/// Counts a request of a user in Valkey while `read` runs, so that the count adds no time. Returns what `read` returned,
/// or [`Error::TooManyRequests`] if the user is above the limit.
///
/// If Valkey does not answer within `REQUEST_LIMIT_GRACE` after `read`, the request is allowed.
pub fn within_limit<T, E: Into<Error>>(
    valkey: &Valkey,
    limit: RateLimit,
    user: UserId,
    now: Time,
    read: impl Future<Output = Result<T, E>>,
) -> impl Future<Output = Result<T, Error>> {
    all_within_limit(valkey, limit, user, 1, now, read)
}

/// The same, for a request that counts as several, or as 0 if it is charged later.
pub async fn all_within_limit<T, E: Into<Error>>(
    valkey: &Valkey,
    limit: RateLimit,
    user: UserId,
    count: u64,
    now: Time,
    read: impl Future<Output = Result<T, E>>,
) -> Result<T, Error> {
    let (count, read) = (pin!(valkey.count_requests(limit, user, count, now)), pin!(read));
    let (counted, read) = match select(count, read).await {
        Either::Left((counted, read)) => (Some(counted), read.await),
        Either::Right((read, count)) => (clock::within(REQUEST_LIMIT_GRACE, count).await, read),
    };
    if let Some(wait) = wait(counted) {
        return Err(refused(limit, user, wait));
    }
    read.map_err(Into::into)
}

/// The refusal of a user who must wait.
pub(crate) fn refused(limit: RateLimit, user: UserId, wait: Duration) -> Error {
    let RateLimit { kind, per_minute } = limit;
    tracing::info!(%user, kind = kind.name(), wait_ms = millis(wait), "request limited");
    metrics::request_limited();
    let retry_after = Duration::from_secs(millis(wait).div_ceil(1_000));
    Error::TooManyRequests { kind, per_minute, retry_after }
}

/// How long the user must wait. None: the request is allowed.
fn wait(counted: Option<Result<Option<Duration>, StoreError>>) -> Option<Duration> {
    match counted {
        Some(Ok(wait)) => wait,
        // mutation: limit-without-valkey
        Some(Err(error)) => {
            tracing::warn!(error = %Chain(&error), "a request was not counted");
            None
        }
        None => {
            tracing::warn!("a request was not counted: Valkey did not answer in time");
            None
        }
    }
}

/// What engines keep of a user: the counters of requests.
pub(crate) struct Engines;

impl Owned for Engines {
    nothing!(empty is_left erase export cards audit);

    fn forget<'a>(&'a self, erasing: &'a mut Erasing<'_>) -> Step<'a> {
        Box::pin(async move {
            erasing.app.valkey.forget_limits(erasing.user).await?;
            Ok(Progress::Done)
        })
    }
}
