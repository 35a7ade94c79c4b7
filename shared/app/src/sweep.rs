//! The sweep drops feeds that nobody reads, and forgets changes of relations that no message relies on any more.

use std::time::Duration;

use fanfold_core::Time;
use fanfold_core::limits::{CONCURRENCY, REL_KEPT, SWEEP_BATCH, SWEEP_FEEDS_MAX};
use fanfold_runtime::aws::SdkConfig;
use fanfold_runtime::{Config, StartError, StoreError};
use fanfold_store::valkey::{FeedSettings, Valkey};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use serde::Serialize;

use crate::due::rounds::rounds;

/// The client of Valkey and the settings of the sweep.
#[derive(Clone)]
pub struct Sweep {
    pub valkey: Valkey,
    /// A feed that was not read for this long is dropped.
    pub inactive_after: Duration,
    /// The most feeds that one run drops, and the most `rel` keys that it removes. The last round over the buckets may
    /// exceed the limit.
    pub feeds_max: u64,
}

/// The result of one run of the sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Swept {
    /// Feeds that were dropped.
    pub dropped: u64,
    /// Feeds that are due but were left to the next run.
    pub remaining: u64,
    /// `rel` keys that were removed: their last change is older than any message that relies on them.
    pub forgotten: u64,
}

impl Sweep {
    /// Makes the clients from the settings. An error names the setting that is missing or malformed.
    pub fn new(sdk: &SdkConfig, config: &Config) -> Result<Self, StartError> {
        let feeds = FeedSettings::read(config)?;
        Ok(Self {
            valkey: Valkey::with_settings(sdk, &feeds)?,
            inactive_after: feeds.inactive_after,
            feeds_max: SWEEP_FEEDS_MAX as u64,
        })
    }
}

/// Drops feeds and forgets relations until nothing is due or the limit of a run is reached.
///
/// A bucket that fails does not stop the others. The first error is returned at the end.
pub async fn sweep(app: &Sweep, now: Time) -> Result<Swept, StoreError> {
    let until = now - app.inactive_after;
    let expire = async |bucket, batch| app.valkey.expire(bucket, until, batch).await;
    let (buckets, bounds) = (app.valkey.keys().all_buckets(), (SWEEP_BATCH, app.feeds_max));
    let (dropped, not_expired) = rounds(buckets.clone(), bounds, || false, expire).await;
    let unchanged_since = now - REL_KEPT;
    let forget = async |bucket, batch| app.valkey.forget(bucket, unchanged_since, batch).await;
    let (forgotten, not_forgotten) = rounds(buckets.clone(), bounds, || false, forget).await;
    let due: Vec<_> = buckets.map(|bucket| app.valkey.due(bucket, until)).collect();
    let due: Result<Vec<u64>, _> =
        stream::iter(due).buffer_unordered(CONCURRENCY).try_collect().await;
    tracing::info!(dropped, forgotten, "swept");
    if let Some((_, error)) = not_expired.into_iter().chain(not_forgotten).next() {
        return Err(error);
    }
    let swept = Swept { dropped, remaining: due?.iter().sum(), forgotten };
    Ok(swept)
}
