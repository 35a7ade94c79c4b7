//! The settings of fan-out.

use fanfold_core::limits;
use fanfold_runtime::config::{Config, ConfigError};

/// The settings of fan-out. All values are numbers of followers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FanOutSettings {
    /// Followers in one message (`CHUNK_FOLLOWERS`).
    pub chunk: usize,
    /// Dispatch itself pushes to an audience up to this size (`SMALL_FOLLOWERS`).
    pub small: u64,
    /// A larger audience goes through queues of its own (`BULK_FOLLOWERS`).
    pub bulk: u64,
    /// An author with this many followers is pulled (`PULL_FOLLOWERS`). 0: no author is.
    pub pull: u64,
}

impl FanOutSettings {
    /// Reads the settings. An error names the setting that is malformed or out of range.
    pub fn read(config: &Config) -> Result<Self, ConfigError> {
        let number = |name, default, max| config.number(name, default, 0..=max);
        let (chunk, chunk_max) = (limits::CHUNK_FOLLOWERS_DEFAULT, limits::CHUNK_FOLLOWERS_MAX);
        let chunk = config.number("CHUNK_FOLLOWERS", chunk as u64, 1..=(chunk_max as u64))?;
        let (small, small_max) = (limits::SMALL_FOLLOWERS_DEFAULT, limits::SMALL_FOLLOWERS_MAX);
        let (bulk, bulk_max) = (limits::BULK_FOLLOWERS_DEFAULT, limits::BULK_FOLLOWERS_MAX);
        Ok(Self {
            chunk: chunk as usize,
            small: number("SMALL_FOLLOWERS", small as u64, small_max as u64)?,
            bulk: number("BULK_FOLLOWERS", bulk, bulk_max)?,
            pull: number("PULL_FOLLOWERS", limits::PULL_FOLLOWERS_DEFAULT, bulk_max)?,
        })
    }
}
