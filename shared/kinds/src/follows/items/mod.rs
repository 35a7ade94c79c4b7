//! Relations between users, in both directions.

mod count;
mod drop;
mod pages;
mod relate;

use std::collections::BTreeSet;

use fanfold_core::fanout::FirstPartitions;
use fanfold_core::kinds::{ItemKind, Pk};
use fanfold_core::{Bucket, Partition, Relation, RelationChange, Second, Time, UserId};
use fanfold_engines::buckets::buckets;
use fanfold_engines::table::{Stored, Table, key, owner, read};
use fanfold_runtime::config::{Config, ConfigError};
use fanfold_runtime::error::StoreError;
use serde::{Deserialize, Serialize};

use super::partitions::{first_partitions, followers_per_partition};
pub use count::Counting;
pub use drop::{Ended, Ends};
pub use pages::Followed;
pub use relate::Committed;

/// The row of a relation. After an unfollow it stays for a limited time as a tombstone, so that the next change
/// gets a later time, even if a clock is slow.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct FollowingItem {
    sk: UserId,
    v: u32,
    relation: Relation,
    #[serde(rename = "changed_at_ms")]
    changed_at: Time,
    /// The partition of the other direction's row.
    partition: Partition,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<Second>,
}

impl Stored for FollowingItem {
    const V: u32 = 1;
}

/// The row of a relation, as it was read.
#[derive(Debug, Clone)]
pub struct RelationRow(FollowingItem);

impl RelationRow {
    /// The last change of the relation.
    pub fn change(&self) -> RelationChange {
        RelationChange { relation: self.0.relation, at: self.0.changed_at }
    }
}

/// The graph table.
#[derive(Clone)]
pub struct GraphStore {
    table: Table,
    buckets: u16,
    /// Partitions of a new author's followers.
    first_partitions: FirstPartitions,
    followers_per_partition: u64,
}

impl GraphStore {
    /// Reads the name of the table and the settings of partitions and buckets. An error names the setting.
    pub fn new(table: Table, config: &Config) -> Result<Self, ConfigError> {
        Ok(Self {
            table,
            buckets: buckets(config)?,
            first_partitions: first_partitions(config)?,
            followers_per_partition: followers_per_partition(config)?,
        })
    }

    /// The last change of a relation. `None` if there is neither a relation nor a tombstone.
    pub async fn relation(
        &self,
        follower: UserId,
        author: UserId,
    ) -> Result<Option<RelationChange>, StoreError> {
        Ok(self.row(follower, author).await?.map(|row| row.change()))
    }

    /// The users of this list who follow the author now.
    pub async fn still_following(
        &self,
        author: UserId,
        users: Vec<UserId>,
    ) -> Result<Vec<UserId>, StoreError> {
        let pairs = users.into_iter().map(|user| (user, author)).collect();
        let still = self.following_pairs("checking who still follows", pairs).await?;
        Ok(still.into_iter().map(|(user, _)| user).collect())
    }

    /// Those of these pairs, of a user and an author, in which the user follows the author.
    pub async fn following_pairs(
        &self,
        doing: &'static str,
        pairs: BTreeSet<(UserId, UserId)>,
    ) -> Result<BTreeSet<(UserId, UserId)>, StoreError> {
        let keys = pairs.iter().map(|(user, author)| key(&following_pk(*user), author)).collect();
        let mut following = BTreeSet::new();
        for item in self.table.get_all(doing, keys).await? {
            let user = owner(ItemKind::Following, &item).and_then(|user| user.parse().ok());
            let item: FollowingItem = read(doing, item)?;
            if let (Relation::Following, Some(user)) = (item.relation, user) {
                following.insert((user, item.sk));
            }
        }
        Ok(following)
    }

    /// The row of a relation, or its tombstone.
    pub async fn row(
        &self,
        follower: UserId,
        author: UserId,
    ) -> Result<Option<RelationRow>, StoreError> {
        let doing = "reading a relation";
        let key = key(&following_pk(follower), author);
        let item = self.table.get(doing, key).await?;
        Ok(item.map(|item| read(doing, item)).transpose()?.map(RelationRow))
    }

    /// The number of buckets of the deployment.
    pub fn buckets(&self) -> u16 {
        self.buckets
    }
}

/// The sort key of a follower's row. It begins with the bucket, so that a query returns followers grouped by
/// bucket.
fn follower_sk(bucket: Bucket, follower: UserId) -> String {
    format!("{:04x}{follower}", bucket.0)
}

fn following_pk(user: UserId) -> Pk {
    ItemKind::Following.pk(user)
}

fn followers_pk(author: UserId, partition: Partition) -> Pk {
    ItemKind::Follower.pk(format_args!("{author}#{partition}"))
}
