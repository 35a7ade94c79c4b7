//! The settings of kept feeds.

use std::time::Duration;

use fanfold_core::Time;
use fanfold_core::limits::{FEEDS_KEPT_DAYS_DEFAULT, FEEDS_KEPT_DAYS_MAX};
use fanfold_runtime::config::{Config, ConfigError};

/// A message that is handled so long after its cause is late.
const LATE_AFTER: Duration = Duration::from_secs(60);
/// [`LATE_AFTER`], the time that a handler may take (20 s), and differences of clocks.
const KEPT_SLACK: Duration = Duration::from_secs(120);

/// How long feeds are kept, and what counts as late. Tests have shorter times.
#[derive(Debug, Clone, Copy)]
pub struct KeptSettings {
    /// How long copies are kept. Zero: none are made or read.
    pub keep: Duration,
    /// How much older than a copy a change must be that the copy includes.
    pub slack: Duration,
    /// The time after its cause from which a message is late.
    pub late_after: Duration,
}

impl KeptSettings {
    /// Reads `FEEDS_KEPT_DAYS`. An error names the setting.
    pub fn read(config: &Config) -> Result<Self, ConfigError> {
        let (usual, most) = (FEEDS_KEPT_DAYS_DEFAULT, FEEDS_KEPT_DAYS_MAX);
        let days = config.number("FEEDS_KEPT_DAYS", usual, 0..=most)?;
        let keep = Duration::from_secs(days * 24 * 3_600);
        Ok(Self { keep, slack: KEPT_SLACK, late_after: LATE_AFTER })
    }

    /// Whether feeds are kept.
    pub fn is_on(&self) -> bool {
        !self.keep.is_zero()
    }

    /// Whether a message that is handled now is late, so that copies of before must not be used.
    pub fn is_late(&self, cause: Time, now: Time) -> bool {
        now > cause + self.late_after
    }

    /// Whether a change at this time is included in a copy.
    pub(super) fn is_before(&self, change: Time, made_at: Time) -> bool {
        change + self.slack < made_at
    }
}
