//! Decides which feeds are dropped.

use std::error::Error;

use fanfold_core::limits::{CONCURRENCY, SWEEP_BATCH, SWEEP_FEEDS_MAX};
use fanfold_store::aws::SdkConfig;
use fanfold_store::valkey::Valkey;
use fanfold_store::{Config, StoreError};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use serde::Serialize;

#[derive(Clone)]
pub struct App {
    pub valkey: Valkey,
    pub inactive_after_ms: u64,
    /// Feeds that one run drops at the most (give or take one round over the buckets).
    pub feeds_max: u64,
}

/// What a run did, and what it left to the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Swept {
    pub dropped: u64,
    pub remaining: u64,
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

/// Goes round the buckets, a batch from each, until nothing is due or the run has done its share.
pub async fn sweep(app: &App, now_ms: u64) -> Result<Swept, StoreError> {
    let until_ms = now_ms.saturating_sub(app.inactive_after_ms);
    let mut buckets: Vec<u16> = (0..app.valkey.keys().buckets()).collect();
    let mut dropped = 0;
    while !buckets.is_empty() && dropped < app.feeds_max {
        let batch = (app.feeds_max - dropped).min(SWEEP_BATCH as u64) as usize;
        let round: Vec<_> = buckets
            .iter()
            .map(|bucket| async move {
                Ok::<_, StoreError>((*bucket, app.valkey.expire(*bucket, until_ms, batch).await?))
            })
            .collect();
        let round: Vec<(u16, u64)> =
            stream::iter(round).buffer_unordered(CONCURRENCY).try_collect().await?;
        dropped += round.iter().map(|(_, count)| count).sum::<u64>();
        buckets = round.into_iter().filter(|(_, count)| *count > 0).map(|(b, _)| b).collect();
    }
    let due: Vec<_> =
        (0..app.valkey.keys().buckets()).map(|bucket| app.valkey.due(bucket, until_ms)).collect();
    let due: Vec<u64> = stream::iter(due).buffer_unordered(CONCURRENCY).try_collect().await?;
    let swept = Swept { dropped, remaining: due.iter().sum() };
    tracing::info!(swept.dropped, swept.remaining, "swept");
    Ok(swept)
}
