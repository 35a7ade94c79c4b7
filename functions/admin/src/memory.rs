//! Lets all feeds begin again, as if Valkey had lost everything. ElastiCache Serverless cannot be
//! restarted.

use fanfold_core::limits::CONCURRENCY;
use fanfold_store::clock::{self, Stopwatch};
use fanfold_store::log::Chain;
use fanfold_store::valkey::Valkey;
use futures::stream::{self, StreamExt as _};
use serde::Serialize;

/// How many buckets have a new memory. The order is given again if any failed.
#[derive(Debug, Serialize)]
pub struct BegunMemory {
    pub begun: u64,
    pub failed: u64,
    /// Why the first of them failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A bucket that fails keeps no other from its new memory.
pub async fn begin(valkey: &Valkey, now_ms: u64) -> BegunMemory {
    let token = format!("{:016x}", clock::random());
    let stopwatch = Stopwatch::start();
    let renew = (0..valkey.keys().buckets()).map(|bucket| {
        let (token, stopwatch) = (&token, &stopwatch);
        // the memory's time must be later than the moment in which it begins
        async move { valkey.renew(bucket, token, now_ms + stopwatch.ms()).await }
    });
    let renew: Vec<_> = renew.collect();
    let renewed: Vec<_> = stream::iter(renew).buffer_unordered(CONCURRENCY).collect().await;
    let begun = renewed.iter().filter(|renewed| renewed.is_ok()).count() as u64;
    let failed = renewed.len() as u64 - begun;
    let reason = renewed.iter().find_map(|renewed| renewed.as_ref().err());
    let reason = reason.map(|error| Chain(error).to_string());
    tracing::info!(begun, failed, reason, "began new memories");
    BegunMemory { begun, failed, reason }
}
