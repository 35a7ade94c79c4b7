//! The clock and the dice, read where a handler is wired; what is decided below takes them as
//! arguments.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970.
pub fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

/// 64 random bits. They keep ids and leases apart and are no secrets.
pub fn random() -> u64 {
    fastrand::u64(..)
}

pub async fn sleep(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

/// Milliseconds since it was started, for work that outlives the time it was given as now.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch(tokio::time::Instant);

impl Stopwatch {
    pub fn start() -> Self {
        Self(tokio::time::Instant::now())
    }

    pub fn ms(self) -> u64 {
        self.0.elapsed().as_millis() as u64
    }
}

/// What a call gives, or nothing if that takes longer.
pub async fn within<T>(ms: u64, call: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(Duration::from_millis(ms), call).await.ok()
}

/// When the function that runs is ended.
#[derive(Debug, Clone, Copy)]
pub struct Deadline(u64);

impl Deadline {
    pub const NONE: Deadline = Deadline(u64::MAX);

    pub fn at_ms(at_ms: u64) -> Self {
        Self(at_ms)
    }

    /// Whether less than this is left.
    pub fn is_within_ms(self, ms: u64) -> bool {
        now_ms().saturating_add(ms) >= self.0
    }
}
