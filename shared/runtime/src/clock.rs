//! The clock, pauses, deadlines and random numbers. Functions read the time; use cases get it as an argument.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fanfold_core::Time;

/// The present time.
pub fn now() -> Time {
    Time::EPOCH + SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// 64 random bits for ids, leases and pauses. They are not suitable for secrets.
pub fn random() -> u64 {
    fastrand::u64(..)
}

/// Waits for this long.
pub async fn sleep(length: Duration) {
    tokio::time::sleep(length).await;
}

/// Measures the time since its start. For long work, which cannot use the time of its start throughout.

#[derive(Debug, Clone, Copy)]
pub struct Stopwatch(tokio::time::Instant);

impl Stopwatch {
    /// Starts to measure.
    pub fn start() -> Self {
        Self(tokio::time::Instant::now())
    }

    /// The time since the start.
    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}

/// The result of a call. `None` if the call takes longer than `most`.
pub async fn within<T>(most: Duration, call: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(most, call).await.ok()
}

/// The time at which Lambda ends the present invocation.
#[derive(Debug, Clone, Copy)]
pub struct Deadline(Time);

impl Deadline {
    /// No deadline.
    pub const NONE: Deadline = Deadline(Time::MAX);

    /// A deadline at this time.
    pub fn at(at: Time) -> Self {
        Self(at)
    }

    /// Whether at most this much time is left.
    pub fn is_within(self, left: Duration) -> bool {
        now() + left >= self.0
    }
}
