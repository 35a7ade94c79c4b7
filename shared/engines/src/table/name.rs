//! A table with its client. The other files of this engine add what it does.

use aws_config::SdkConfig;
use aws_sdk_dynamodb::Client;
use fanfold_runtime::config::{Config, ConfigError};
use fanfold_runtime::error::StoreError;

use super::attribute::Item;

/// A table of DynamoDB.
#[derive(Debug, Clone)]
pub struct Table {
    pub(super) client: Client,
    name: Result<String, ConfigError>,
}

impl Table {
    /// Reads the name of the table from a setting. Fails if the setting is missing. If the function does not list the table in
    /// the registry, each use of the table fails.
    pub fn new(sdk: &SdkConfig, config: &Config, name: &'static str) -> Result<Self, ConfigError> {
        let name = match config.store(name) {
            Err(missing @ (ConfigError::Missing(_) | ConfigError::Bad { .. })) => {
                return Err(missing);
            }
            name => name,
        };
        Ok(Self { client: Client::new(sdk), name })
    }

    /// The name. Fails if the function does not list the table.
    pub(super) fn name(&self, doing: &'static str) -> Result<&str, StoreError> {
        self.name
            .as_deref()
            .map_err(|source| StoreError::Unlisted { doing, source: source.clone() })
    }

    /// Reads one item, strongly consistent. `None` if it does not exist. `doing` names the operation in an error.
    pub async fn get(&self, doing: &'static str, key: Item) -> Result<Option<Item>, StoreError> {
        let call = self.client.get_item().table_name(self.name(doing)?).set_key(Some(key));
        let call = call.consistent_read(true);
        Ok(call.send().await.map_err(StoreError::dynamo(doing))?.item)
    }
}
