//! The names of tables and the URLs of queues.

use crate::config::{Config, ConfigError};
use crate::error::StoreError;

/// The name of a table or the URL of a queue. If the function does not list it in the registry, each use fails.
#[derive(Debug, Clone)]
pub struct StoreName(Result<String, ConfigError>);

impl StoreName {
    /// Reads the setting. Fails if it is missing.
    pub fn read(config: &Config, setting: &'static str) -> Result<Self, ConfigError> {
        match config.store(setting) {
            Err(unlisted @ ConfigError::Unlisted { .. }) => Ok(Self(Err(unlisted))),
            name => Ok(Self(Ok(name?))),
        }
    }

    /// The name or URL. Fails if the function does not list it. `doing` names the operation in an error.
    pub fn get(&self, doing: &'static str) -> Result<&str, StoreError> {
        self.0.as_deref().map_err(|source| StoreError::Unlisted { doing, source: source.clone() })
    }
}
