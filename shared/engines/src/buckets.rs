//! The setting of the number of buckets, which keys of both stores depend on.

use fanfold_core::limits;
use fanfold_runtime::config::{Config, ConfigError};

/// Reads the number of buckets. DynamoDB's keys depend on it too.
pub fn buckets(config: &Config) -> Result<u16, ConfigError> {
    Ok(config.number("BUCKETS", limits::BUCKETS_DEFAULT.into(), 1..=16_384)? as u16)
}
