//! Checks of the assumptions about DynamoDB, for `doctor`. The checks use separate items, and delete them.

use std::time::Duration;

use aws_config::SdkConfig;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{Delete, Put};
use fanfold_core::Time;

use super::transact::{CommitResult, Transaction};
use super::{ItemKind, Pk, key, number};
use fanfold_runtime::clock;
use fanfold_runtime::config::{Config, ConfigError};
use fanfold_runtime::error::StoreError;

/// How long the items of a check stay, if the check dies before it deletes them.
const PROBE_ITEM_KEPT: Duration = Duration::from_secs(3_600);

/// Checks of the tables and of transactions.
#[derive(Clone)]
pub struct TableProbe {
    client: Client,
    users: String,
    posts: String,
    graph: String,
    due: String,
    likes: String,
}

impl TableProbe {
    /// Reads the names of the tables. Fails if a setting is missing.
    pub fn new(sdk: &SdkConfig, config: &Config) -> Result<Self, ConfigError> {
        Ok(Self {
            client: Client::new(sdk),
            users: config.text("USERS_TABLE")?,
            posts: config.text("POSTS_TABLE")?,
            graph: config.text("GRAPH_TABLE")?,
            due: config.text("DUE_TABLE")?,
            likes: config.text("LIKES_TABLE")?,
        })
    }

    /// Reads an item that does not exist from each table.
    pub async fn read_each(&self) -> Result<(), StoreError> {
        let nobody = nobody();
        let sorted = key(&nobody, "-");
        let mut unsorted = sorted.clone();
        unsorted.remove("sk");
        for (table, key) in [
            (&self.users, &unsorted),
            (&self.posts, &sorted),
            (&self.graph, &sorted),
            (&self.due, &sorted),
            (&self.likes, &sorted),
        ] {
            let call = self.client.get_item().table_name(table).consistent_read(true);
            let read = call.set_key(Some(key.clone())).send().await;
            read.map_err(StoreError::dynamo("reading an item of each table"))?;
        }
        Ok(())
    }

    /// Writes two new items in a transaction, repeats it, and deletes the items. Returns whether the second
    /// transaction was refused because of both conditions. If a check dies in between, the items expire after
    /// `PROBE_ITEM_KEPT`.
    pub async fn transact(&self, now: Time) -> Result<bool, StoreError> {
        let doing = "writing two items in a transaction";
        let nobody = nobody();
        let keys = ["1", "2"].map(|sk| key(&nobody, sk));
        let expires_at = now.expires_after(PROBE_ITEM_KEPT);
        let (mut puts, mut deletes) = (Transaction::new(doing), Transaction::new(doing));
        for (nth, key) in keys.iter().enumerate() {
            let put = Put::builder().table_name(&self.graph).set_item(Some(key.clone()));
            let put = put.item("expires_at", number(expires_at));
            puts.put(nth, put.condition_expression("attribute_not_exists(pk)"))?;
            let delete = Delete::builder().table_name(&self.graph);
            deletes.delete(nth, delete.set_key(Some(key.clone())))?;
        }
        let first = puts.commit(&self.client).await?;
        let second = puts.commit(&self.client).await?;
        deletes.commit(&self.client).await?;
        Ok(first == CommitResult::Done && second == CommitResult::Refused(vec![0, 1]))
    }
}

/// The partition key of a new item that belongs to nobody.
fn nobody() -> Pk {
    ItemKind::Probe.pk(format_args!("{:016x}", clock::random()))
}
