//! The tables, over one client. The other files of this engine add what it does.

use aws_config::SdkConfig;
use aws_sdk_dynamodb::Client;
use fanfold_runtime::config::{Config, ConfigError};
use fanfold_runtime::error::StoreError;
use fanfold_runtime::store::StoreName;

use super::attribute::Item;

/// A table of DynamoDB.
#[derive(Debug, Clone)]
pub struct Table {
    pub(super) client: Client,
    name: StoreName,
}

/// The tables of a function, over one client.
pub struct Tables<'a> {
    client: Client,
    config: &'a Config,
}

impl<'a> Tables<'a> {
    /// Makes the client.
    pub fn new(sdk: &SdkConfig, config: &'a Config) -> Self {
        Self { client: Client::new(sdk), config }
    }

    /// The table that a setting names. Fails if the setting is missing.
    pub fn table(&self, setting: &'static str) -> Result<Table, ConfigError> {
        let name = StoreName::read(self.config, setting)?;
        Ok(Table { client: self.client.clone(), name })
    }
}

impl Table {
    /// The name. Fails if the function does not list the table.
    pub(super) fn name(&self, doing: &'static str) -> Result<&str, StoreError> {
        self.name.get(doing)
    }

    /// Reads one item, strongly consistent. `None` if it does not exist. `doing` names the operation in an error.
    pub async fn get(&self, doing: &'static str, key: Item) -> Result<Option<Item>, StoreError> {
        let call = self.client.get_item().table_name(self.name(doing)?).set_key(Some(key));
        let call = call.consistent_read(true);
        Ok(call.send().await.map_err(StoreError::dynamo(doing))?.item)
    }
}
