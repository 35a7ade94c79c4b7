//! Makes Fanfold ignore the present data in Valkey, as if it were lost. An operator uses this instead of a restart,
//! because ElastiCache Serverless cannot be restarted.

use fanfold_core::Time;
use fanfold_core::limits::CONCURRENCY;
use fanfold_engines::valkey::Valkey;
use fanfold_runtime::clock::{self, Stopwatch};
use fanfold_runtime::log::Chain;
use futures::stream::{self, StreamExt as _};
use serde::Serialize;

/// The number of buckets that have a new memory. If some failed, the operator repeats the order.
#[derive(Debug, Serialize)]
pub struct BegunMemory {
    /// Buckets that have a new memory.
    pub begun: u64,
    /// Buckets that failed.
    pub failed: u64,
    /// The error of the first bucket that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Begins a new memory of every bucket: from then on, no feed and no relation from before is used. A bucket that fails
/// does not stop the others.
pub async fn begin(valkey: &Valkey, now: Time) -> BegunMemory {
    let token = format!("{:016x}", clock::random());
    let stopwatch = Stopwatch::start();
    let renew = valkey.keys().all_buckets().map(|bucket| {
        let (token, stopwatch) = (&token, &stopwatch);
        // a memory must not claim to know the time before its script ran
        async move { valkey.renew(bucket, token, now + stopwatch.elapsed()).await }
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
