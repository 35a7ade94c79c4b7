//! The setting of the public feed.

use std::time::Duration;

use fanfold_core::limits::{PUBLIC_DAYS_DEFAULT, PUBLIC_DAYS_MAX};
use fanfold_core::{PostId, Time};
use fanfold_runtime::config::{Config, ConfigError};

/// How long posts are in the public feed.
#[derive(Debug, Clone, Copy)]
pub struct PublicSettings {
    /// Zero: there is no public feed.
    pub kept: Duration,
}

impl PublicSettings {
    /// Reads `PUBLIC_DAYS`. An error names the setting.
    pub fn read(config: &Config) -> Result<Self, ConfigError> {
        let days = config.number("PUBLIC_DAYS", PUBLIC_DAYS_DEFAULT, 0..=PUBLIC_DAYS_MAX)?;
        Ok(Self { kept: Duration::from_secs(days * 24 * 3_600) })
    }

    /// Whether there is a public feed.
    pub fn is_on(&self) -> bool {
        !self.kept.is_zero()
    }

    /// Newer posts are in the public feed.
    pub fn since(&self, now: Time) -> PostId {
        PostId::last_of(now - self.kept)
    }
}
