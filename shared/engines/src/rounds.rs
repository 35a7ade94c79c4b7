//! Batches from several sorted sets in turn, so that a long one does not hold up the others. Look-aheads take due items in
//! this way, and the sweep feeds that nobody reads.

use fanfold_core::limits::CONCURRENCY;
use fanfold_runtime::StoreError;
use futures::stream::{self, StreamExt as _};

/// Takes a batch from each key in turn, until none has more, `most` items are taken, or `is_over` says so. `take` gets a
/// key and the size of its batch, and returns how many items it took. Returns how many were taken in all, and
/// the keys that failed; they are not asked again.
pub async fn rounds<K: Copy>(
    keys: impl IntoIterator<Item = K>,
    (batch, most): (usize, u64),
    is_over: impl Fn() -> bool,
    take: impl AsyncFn(K, usize) -> Result<u64, StoreError>,
) -> (u64, Vec<(K, StoreError)>) {
    let mut keys: Vec<K> = keys.into_iter().collect();
    let (mut taken, mut failed) = (0, Vec::new());
    while !keys.is_empty() && taken < most && !is_over() {
        let size = (most - taken).min(batch as u64) as usize;
        let take = &take;
        let round: Vec<_> =
            keys.iter().map(|key| async move { (*key, take(*key, size).await) }).collect();
        let round: Vec<(K, Result<u64, StoreError>)> =
            stream::iter(round).buffer_unordered(CONCURRENCY).collect().await;
        keys.clear();
        for (key, count) in round {
            match count {
                Ok(0) => {}
                Ok(count) => {
                    taken += count;
                    keys.push(key);
                }
                Err(error) => failed.push((key, error)),
            }
        }
    }
    (taken, failed)
}
