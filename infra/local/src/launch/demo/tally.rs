//! What demo users have done, and the calls that failed.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::base::failure::Failure;

/// The least time between two lines about failed calls.
const SAID_EVERY: Duration = Duration::from_secs(60);

#[derive(Default)]
pub struct Tally(Mutex<Counts>);

#[derive(Default)]
struct Counts {
    done: BTreeMap<&'static str, u64>,
    failed: u64,
    /// Failed calls that no line has reported, and the last of them.
    unsaid: Option<(u64, String)>,
    said: Option<Instant>,
}

impl Tally {
    pub fn done(&self, what: &'static str) {
        *self.counts().done.entry(what).or_default() += 1;
    }

    pub fn failed(&self, error: &Failure) {
        let mut counts = self.counts();
        counts.failed += 1;
        let unsaid = counts.unsaid.take().map_or(0, |(count, _)| count);
        counts.unsaid = Some((unsaid + 1, error.to_string()));
    }

    /// A line about failed calls, at most one a minute.
    pub fn complaint(&self, now: Instant) -> Option<String> {
        let mut counts = self.counts();
        if counts.said.is_some_and(|said| now < said + SAID_EVERY) {
            return None;
        }
        let (count, last) = counts.unsaid.take()?;
        counts.said = Some(now);
        Some(format!("{count} calls of the demo users failed, the last one: {last}"))
    }

    /// All counts in one line. `None`: nothing was done.
    pub fn summary(&self) -> Option<String> {
        let counts = self.counts();
        let done = counts.done.iter().map(|(what, count)| format!("{count} {what}"));
        let failed = (counts.failed > 0).then(|| format!("{} that failed", counts.failed));
        let parts: Vec<String> = done.chain(failed).collect();
        (!parts.is_empty()).then(|| format!("Calls of the demo users: {}", parts.join(", ")))
    }

    fn counts(&self) -> std::sync::MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::failure::failure;

    #[test]
    fn failed_calls_are_counted_and_reported_once_a_minute() {
        let (tally, now) = (Tally::default(), Instant::now());
        assert_eq!((tally.complaint(now), tally.summary()), (None, None));
        tally.done("likes");
        for status in [429, 503] {
            tally.failed(&failure(status));
        }
        let line = tally.complaint(now).unwrap();
        assert_eq!(line, "2 calls of the demo users failed, the last one: 503");
        tally.failed(&failure(500));
        assert_eq!(tally.complaint(now + SAID_EVERY / 2), None);
        assert!(tally.complaint(now + SAID_EVERY).is_some_and(|line| line.starts_with("1 calls")));
        assert_eq!(tally.complaint(now + 3 * SAID_EVERY), None);
        let summary = tally.summary();
        assert_eq!(summary.as_deref(), Some("Calls of the demo users: 1 likes, 3 that failed"));
    }
}
