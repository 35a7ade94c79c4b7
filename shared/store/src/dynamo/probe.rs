//! Asks DynamoDB whether tables and transactions are as the rest of this crate assumes. The items are
//! nobody's and are gone afterwards.

use aws_config::SdkConfig;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{Delete, Put};

use super::transact::{Outcome, delete_item, put_item, transact};
use super::{Item, key};
use crate::clock;
use crate::config::{Config, ConfigError};
use crate::error::StoreError;

#[derive(Clone)]
pub struct TableProbe {
    client: Client,
    users: String,
    posts: String,
    graph: String,
}

impl TableProbe {
    pub fn new(sdk: &SdkConfig, config: &Config) -> Result<Self, ConfigError> {
        Ok(Self {
            client: Client::new(sdk),
            users: config.text("USERS_TABLE")?,
            posts: config.text("POSTS_TABLE")?,
            graph: config.text("GRAPH_TABLE")?,
        })
    }

    /// Reads an item that is not there from each table.
    pub async fn read_each(&self) -> Result<(), StoreError> {
        let nobody = format!("probe#{:016x}", clock::random());
        for table in [&self.users, &self.posts, &self.graph] {
            let call = self.client.get_item().table_name(table).consistent_read(true);
            let call = call.set_key(Some(self.key_in(table, &nobody)));
            call.send().await.map_err(StoreError::dynamo("reading an item of each table"))?;
        }
        Ok(())
    }

    /// Writes one item to each of two tables, if they are not there, tries that again, and deletes them.
    /// Returns whether the second try was refused because of both conditions.
    pub async fn transact(&self) -> Result<bool, StoreError> {
        let doing = "writing two items in a transaction";
        let nobody = format!("probe#{:016x}", clock::random());
        let tables = [&self.users, &self.graph];
        let put = |table: &&String| {
            let put = Put::builder().table_name(*table).set_item(Some(self.key_in(table, &nobody)));
            put_item(doing, put.condition_expression("attribute_not_exists(pk)"))
        };
        let puts = tables.iter().map(put).collect::<Result<Vec<_>, _>>()?;
        let first = transact(&self.client, doing, puts.clone()).await?;
        let second = transact(&self.client, doing, puts).await?;
        let delete = |table: &&String| {
            let delete = Delete::builder().table_name(*table);
            delete_item(doing, delete.set_key(Some(self.key_in(table, &nobody))))
        };
        let deletes = tables.iter().map(delete).collect::<Result<Vec<_>, _>>()?;
        transact(&self.client, doing, deletes).await?;
        Ok(first == Outcome::Done && second == Outcome::Refused(vec![true, true]))
    }

    /// The key of an item that is nobody's. The table of users has no sort key.
    fn key_in(&self, table: &str, name: &str) -> Item {
        let mut key = key(name, "-");
        if table == self.users {
            key.remove("sk");
        }
        key
    }
}
