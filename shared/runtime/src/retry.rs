//! Pauses between tries.

use std::time::Duration;

use fanfold_core::limits::LOOKS_MAX;

use crate::clock;
use crate::error::StoreError;

/// Waits for a random time before the next try: 1 ms up to 10 ms, doubled with each try, at most 640 ms. The
/// random time keeps callers that conflicted once from conflicting again. `tried` is the number of earlier tries.
pub async fn pause(tried: u32) {
    let bound_ms = 10u64.saturating_mul(1 << tried.min(6));
    clock::sleep(Duration::from_millis(clock::random() % bound_ms + 1)).await;
}

/// Waits before the caller looks again for the commit that an event announced: 20 ms, doubled each time.
/// `looked` counts the looks. After [`LOOKS_MAX`] of them returns an error, with which the event returns to its
/// queue.
pub async fn look_again(what: &'static str, looked: &mut u32) -> Result<(), StoreError> {
    *looked += 1;
    if *looked > LOOKS_MAX {
        return Err(StoreError::NotCommittedYet { what });
    }
    clock::sleep(Duration::from_millis(10 << *looked)).await;
    Ok(())
}
