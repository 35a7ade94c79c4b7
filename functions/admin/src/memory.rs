//! Lets all feeds begin again, as if Valkey had lost everything. ElastiCache Serverless cannot be
//! restarted.

use fanfold_core::limits::CONCURRENCY;
use fanfold_store::valkey::Valkey;
use fanfold_store::{StoreError, clock};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use serde::Serialize;

#[derive(Debug, Serialize)]
pub struct BegunMemory {
    /// Each of them has a new memory.
    pub buckets: u16,
}

pub async fn begin(valkey: &Valkey, now_ms: u64) -> Result<BegunMemory, StoreError> {
    let token = format!("{:016x}", clock::random());
    let buckets = valkey.keys().buckets();
    let renew = (0..buckets).map(|bucket| valkey.renew(bucket, &token, now_ms));
    let renew: Vec<_> = renew.collect();
    stream::iter(renew).buffer_unordered(CONCURRENCY).try_collect::<Vec<()>>().await?;
    tracing::info!(buckets, "began a new memory");
    Ok(BegunMemory { buckets })
}
