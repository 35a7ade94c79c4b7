//! Decides which feeds are dropped, and which relations are forgotten.

use std::error::Error;

use fanfold_core::limits::{CONCURRENCY, REL_KEPT_MS, SWEEP_BATCH, SWEEP_FEEDS_MAX};
use fanfold_store::aws::SdkConfig;
use fanfold_store::valkey::Valkey;
use fanfold_store::{Config, StoreError};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use serde::Serialize;

#[derive(Clone)]
pub struct App {
    pub valkey: Valkey,
    pub inactive_after_ms: u64,
    /// Feeds that one run drops at the most, and authors whose relations it forgets (give or take one
    /// round over the buckets).
    pub feeds_max: u64,
}

/// What a run did, and what it left to the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Swept {
    pub dropped: u64,
    pub remaining: u64,
    /// `rel` keys in which nothing has changed for as long as messages rely on them.
    pub forgotten: u64,
}

impl App {
    pub fn new(sdk: &SdkConfig, config: &Config) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let feeds = config.feeds()?;
        Ok(Self {
            valkey: Valkey::new(sdk, &feeds)?,
            inactive_after_ms: feeds.inactive_after_s * 1000,
            feeds_max: SWEEP_FEEDS_MAX as u64,
        })
    }
}

/// Drops feeds and forgets relations until nothing is due or the run has done its share. A bucket that
/// fails keeps no other from its turn; the first error is answered in the end.
pub async fn sweep(app: &App, now_ms: u64) -> Result<Swept, StoreError> {
    let until_ms = now_ms.saturating_sub(app.inactive_after_ms);
    let expire = async |bucket, batch| app.valkey.expire(bucket, until_ms, batch).await;
    let (dropped, expired) = round_the_buckets(app, expire).await;
    let unchanged_since_ms = now_ms.saturating_sub(REL_KEPT_MS);
    let forget = async |bucket, batch| app.valkey.forget(bucket, unchanged_since_ms, batch).await;
    let (forgotten, forgot) = round_the_buckets(app, forget).await;
    let due: Vec<_> =
        (0..app.valkey.keys().buckets()).map(|bucket| app.valkey.due(bucket, until_ms)).collect();
    let due: Result<Vec<u64>, _> =
        stream::iter(due).buffer_unordered(CONCURRENCY).try_collect().await;
    tracing::info!(dropped, forgotten, "swept");
    expired.and(forgot)?;
    let swept = Swept { dropped, remaining: due?.iter().sum(), forgotten };
    Ok(swept)
}

/// Takes a batch from each bucket in turn, until none has more or the run has done its share. Returns
/// how many were taken, and what failed first.
async fn round_the_buckets(
    app: &App,
    take: impl AsyncFn(u16, usize) -> Result<u64, StoreError>,
) -> (u64, Result<(), StoreError>) {
    let mut buckets: Vec<u16> = (0..app.valkey.keys().buckets()).collect();
    let (mut taken, mut failed) = (0, Ok(()));
    while !buckets.is_empty() && taken < app.feeds_max {
        let batch = (app.feeds_max - taken).min(SWEEP_BATCH as u64) as usize;
        let take = &take;
        let round =
            buckets.iter().map(|bucket| async move { (*bucket, take(*bucket, batch).await) });
        let round: Vec<_> = round.collect();
        let round: Vec<(u16, Result<u64, StoreError>)> =
            stream::iter(round).buffer_unordered(CONCURRENCY).collect().await;
        buckets.clear();
        for (bucket, count) in round {
            match count {
                Ok(0) => {}
                Ok(count) => {
                    taken += count;
                    buckets.push(bucket);
                }
                Err(error) => failed = failed.and(Err(error)),
            }
        }
    }
    (taken, failed)
}
