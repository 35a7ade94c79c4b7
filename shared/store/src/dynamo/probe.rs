//! Asks DynamoDB whether tables and transactions are as the rest of this crate assumes. The items are
//! nobody's and are gone afterwards.

use aws_config::SdkConfig;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{Delete, Put};
use fanfold_core::limits::PROBE_ITEM_KEPT_S;

use super::transact::{Outcome, delete_item, put_item, transact};
use super::{Item, key, number};
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
        let sorted = key(&nobody, "-");
        let mut unsorted = sorted.clone();
        unsorted.remove("sk");
        for (table, key) in
            [(&self.users, &unsorted), (&self.posts, &sorted), (&self.graph, &sorted)]
        {
            let call = self.client.get_item().table_name(table).consistent_read(true);
            let read = call.set_key(Some(key.clone())).send().await;
            read.map_err(StoreError::dynamo("reading an item of each table"))?;
        }
        Ok(())
    }

    /// Writes two items if they are not there, tries that again, and deletes them. Returns whether the
    /// second try was refused because of both conditions. If a check dies in between, they expire.
    pub async fn transact(&self, now_ms: u64) -> Result<bool, StoreError> {
        let doing = "writing two items in a transaction";
        let nobody = format!("probe#{:016x}", clock::random());
        let keys = ["1", "2"].map(|sk| key(&nobody, sk));
        let expires_at = now_ms / 1000 + PROBE_ITEM_KEPT_S;
        let put = |key: &Item| {
            let put = Put::builder().table_name(&self.graph).set_item(Some(key.clone()));
            let put = put.item("expires_at", number(expires_at));
            put_item(doing, put.condition_expression("attribute_not_exists(pk)"))
        };
        let puts = keys.iter().map(put).collect::<Result<Vec<_>, _>>()?;
        let first = transact(&self.client, doing, puts.clone()).await?;
        let second = transact(&self.client, doing, puts).await?;
        let delete = |key: &Item| {
            let delete = Delete::builder().table_name(&self.graph);
            delete_item(doing, delete.set_key(Some(key.clone())))
        };
        let deletes = keys.iter().map(delete).collect::<Result<Vec<_>, _>>()?;
        transact(&self.client, doing, deletes).await?;
        Ok(first == Outcome::Done && second == Outcome::Refused(vec![true, true]))
    }
}
