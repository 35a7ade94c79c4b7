//! Waiting between tries.

use fanfold_core::limits::LOOKS_MAX;

use crate::clock;
use crate::error::StoreError;

/// Full jitter: anything up to the exponentially growing bound, so that those who met once do
/// not meet again.
pub async fn pause(tried: u32) {
    let bound_ms = 10u64.saturating_mul(1 << tried.min(6));
    clock::sleep(clock::random() % bound_ms + 1).await;
}

/// Waits before looking once more for what an event announced; after a few times gives up, and
/// the event goes back to its queue.
pub async fn look_again(what: &'static str, looked: &mut u32) -> Result<(), StoreError> {
    *looked += 1;
    if *looked > LOOKS_MAX {
        return Err(StoreError::NotCommittedYet { what });
    }
    clock::sleep(10 << *looked).await;
    Ok(())
}
