//! Who follows whom, in both directions.

mod drop;
mod pages;
mod relate;

use aws_config::SdkConfig;
use aws_sdk_dynamodb::Client;
use fanfold_core::{Change, Relation, UserId};
use serde::{Deserialize, Serialize};

use super::{Stored, batch, key, read};
use crate::config::{Config, ConfigError};
use crate::error::StoreError;
pub use drop::Ends;
pub use pages::FollowerPage;

/// The state of a relation. After an unfollow it stays for a while as a tombstone, so that the
/// next change is later than the last one whatever the clocks say.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct FollowingItem {
    pk: String,
    sk: UserId,
    v: u32,
    relation: Relation,
    changed_at_ms: u64,
    /// The partition of the other direction's row.
    shard: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<u64>,
}

impl Stored for FollowingItem {
    const V: u32 = 1;
}

#[derive(Debug, PartialEq, Eq)]
pub enum Related {
    Changed,
    /// It was so already.
    Unchanged,
    /// One of the two has no profile (or the caller's belongs to another identity).
    NoProfile,
}

#[derive(Clone)]
pub struct GraphStore {
    client: Client,
    table: String,
    buckets: u16,
}

impl GraphStore {
    pub fn new(sdk: &SdkConfig, config: &Config) -> Result<Self, ConfigError> {
        Ok(Self {
            client: Client::new(sdk),
            table: config.text("GRAPH_TABLE")?,
            buckets: config.feeds()?.buckets,
        })
    }

    /// The last change of a relation, as it is now.
    pub async fn relation(
        &self,
        follower: UserId,
        author: UserId,
    ) -> Result<Option<Change>, StoreError> {
        let item = self.following_item(follower, author).await?;
        Ok(item.map(|item| Change { relation: item.relation, at_ms: item.changed_at_ms }))
    }

    /// Those of the users who follow an author now.
    pub async fn still_following(
        &self,
        author: UserId,
        mut users: Vec<UserId>,
    ) -> Result<Vec<UserId>, StoreError> {
        let doing = "checking who still follows";
        users.sort_unstable();
        users.dedup();
        let keys = users.iter().map(|user| key(following_pk(*user), author)).collect();
        let mut still = Vec::new();
        for item in batch::get_all(&self.client, &self.table, doing, keys).await? {
            let item: FollowingItem = read(doing, item)?;
            let user = item.pk.strip_prefix("following#").and_then(|user| user.parse().ok());
            if let (Relation::Following, Some(user)) = (item.relation, user) {
                still.push(user);
            }
        }
        Ok(still)
    }

    async fn following_item(
        &self,
        follower: UserId,
        author: UserId,
    ) -> Result<Option<FollowingItem>, StoreError> {
        let doing = "reading a relation";
        let key = key(following_pk(follower), author);
        let item = batch::get_one(&self.client, &self.table, doing, key).await?;
        item.map(|item| read(doing, item)).transpose()
    }

    pub fn buckets(&self) -> u16 {
        self.buckets
    }
}

/// The bucket goes first, so that a query gives followers grouped by bucket.
fn follower_sk(bucket: u16, follower: UserId) -> String {
    format!("{bucket:04x}{follower}")
}

fn following_pk(user: UserId) -> String {
    format!("following#{user}")
}

fn followers_pk(author: UserId, shard: u16) -> String {
    format!("followers#{author}#{shard}")
}
