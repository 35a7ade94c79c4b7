//! The sweep drops feeds that nobody reads, and forgets changes of relations that no message relies on any more. On a full
//! server it makes room: it drops some of the feeds that were read longest ago.
//!
//! **Sweep.** The sweep takes a batch from each bucket in turn until no feed is due or 50,000 feeds are removed, and
//! logs how many remain. Then it forgets old relations in the same way. The script checks each due time again, so the
//! feed of a reader who has just returned stays. With `FEEDS_KEPT_DAYS`, home feeds are first kept in DynamoDB
//! ([`crate::feeds::kept`]); the run keeps and drops feeds for 25 s. Those that are dropped from a full server are not kept.

use fanfold_core::Time;
use fanfold_core::limits::{CONCURRENCY, REL_KEPT, SHED_IDLE, SWEEP_BATCH};
use fanfold_runtime::StoreError;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use serde::Serialize;

use crate::App;
use crate::feeds::kept::Keeper;
use fanfold_engines::rounds::rounds;

/// Feeds that one run of the sweep removes to make room on full servers. They take about 50 MB. The last round over the buckets
/// may exceed the limit.
const SHED_FEEDS_MAX: usize = 20_000;

/// The result of one run of the sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Swept {
    /// Feeds that were dropped.
    pub dropped: u64,
    /// Feeds that were kept in DynamoDB.
    pub kept: u64,
    /// Feeds that are due but were left to the next run.
    pub remaining: u64,
    /// `rel` keys that were removed: their last change is older than any message that relies on them.
    pub forgotten: u64,
    /// Feeds that were dropped to make room on full servers.
    pub shed: u64,
}

/// Drops feeds and forgets relations until nothing is due or the limit of a run is reached.
///
/// A bucket that fails does not stop the others. The first error is returned at the end.
pub async fn sweep(app: &App, now: Time) -> Result<Swept, StoreError> {
    let until = now - app.settings.inactive_after;
    let keeper = app.settings.kept.is_on().then(|| Keeper::new(app, now));
    let expire = async |bucket, batch| {
        // before they are dropped: those of readers who return meanwhile stay
        // mutation: kept-first
        if let Some(keeper) = &keeper
            && !keeper.keep(bucket, until, batch).await?
        {
            return Ok(0);
        }
        app.valkey.expire(bucket, until, batch).await
    };
    let (buckets, bounds) =
        (app.valkey.keys().all_buckets(), (SWEEP_BATCH, app.settings.sweep_feeds_max));
    let (dropped, not_expired) = rounds(buckets.clone(), bounds, || false, expire).await;
    let kept = keeper.map_or(0, Keeper::kept);
    let unchanged_since = now - REL_KEPT;
    let forget = async |bucket, batch| app.valkey.forget(bucket, unchanged_since, batch).await;
    let (forgotten, not_forgotten) = rounds(buckets.clone(), bounds, || false, forget).await;
    let due: Vec<_> = buckets.map(|bucket| app.valkey.due(bucket, until)).collect();
    let due: Result<Vec<u64>, _> =
        stream::iter(due).buffer_unordered(CONCURRENCY).try_collect().await;
    let shed = shed(app, now).await;
    tracing::info!(dropped, kept, forgotten, "swept");
    if let Some((_, error)) = not_expired.into_iter().chain(not_forgotten).next() {
        return Err(error);
    }
    Ok(Swept { dropped, kept, remaining: due?.iter().sum(), forgotten, shed: shed? })
}

/// Makes room on full servers: drops the feeds of their buckets that were read longest ago, if nobody has read them for
/// [`SHED_IDLE`]. The schedule runs one sweep a minute, so about [`SHED_FEEDS_MAX`] feeds a minute are dropped.
async fn shed(app: &App, now: Time) -> Result<u64, StoreError> {
    let valkey = &app.valkey;
    let ask =
        valkey.keys().all_buckets().map(async |bucket| (bucket, valkey.is_full(bucket).await));
    let ask: Vec<_> = ask.collect();
    let asked: Vec<_> = stream::iter(ask).buffer_unordered(CONCURRENCY).collect().await;
    let (mut full, mut failed) = (Vec::new(), None);
    for (bucket, is_full) in asked {
        match is_full {
            Ok(true) => full.push(bucket),
            Ok(false) => {}
            Err(error) => failed = Some(error),
        }
    }
    let until = now - SHED_IDLE;
    let drop = async |bucket, batch| valkey.expire(bucket, until, batch).await;
    let (buckets, bounds) = (full.iter().copied(), (SWEEP_BATCH, SHED_FEEDS_MAX as u64));
    let (shed, not_dropped) = rounds(buckets, bounds, || false, drop).await;
    failed = not_dropped.into_iter().next().map(|(_, error)| error).or(failed);
    if !full.is_empty() {
        tracing::warn!(buckets = full.len(), shed, "Valkey is full: dropped feeds to make room");
    }
    failed.map_or(Ok(shed), Err)
}
