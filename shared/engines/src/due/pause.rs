//! Leaves Valkey alone for a while.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use fanfold_core::Time;

/// How long the function `due` leaves Valkey alone after a call that failed.
const DUE_VALKEY_PAUSE: Duration = Duration::from_secs(5);

/// Whether the function `due` asks Valkey. After a call that failed, it does not for a while: its items are
/// published and fired without Valkey, and each wait would make the others late.
#[derive(Debug, Clone, Default)]
pub struct Pause(Arc<AtomicU64>);

impl Pause {
    /// Whether Valkey is left alone.
    pub fn is_on(&self, now: Time) -> bool {
        now.ms() < self.0.load(Ordering::Relaxed)
    }

    /// Begins a pause.
    pub fn begin(&self, now: Time) {
        self.0.store((now + DUE_VALKEY_PAUSE).ms(), Ordering::Relaxed);
    }
}
