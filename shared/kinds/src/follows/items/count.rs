//! Counting an author's followers.
//!
//! The transaction of a follow or unfollow adds to one of several rows of the follower's partition. A single
//! counter would be written by every follow of the author, and DynamoDB cancels transactions that write the same
//! item at the same time. The author's profile has the total. It is the sum of the rows, computed after the
//! change, and can be computed again at any time.
//!
//! Each row also counts its changes, and these numbers only grow. Of two totals, the one with more changes is
//! therefore the newer one, and is kept.

use fanfold_core::kinds::{ItemKind, Pk};
use fanfold_core::limits::{PARTITIONS_AT_ONCE, TRIES_MAX};
use fanfold_core::{Partition, UserId, fanout};
use fanfold_engines::table::{Item, Stored, Write, check, key, number, read};
use fanfold_runtime::error::StoreError;
use fanfold_runtime::retry::pause;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use serde::Deserialize;

use super::GraphStore;
use crate::people::items::{Total, UserStore};

/// Rows that count the followers of one partition. DynamoDB cancels transactions that write the same item
/// at the same time, so each row takes about 60 changes a second.
const COUNT_ROWS: u64 = 16;

/// One of the rows that count the followers of a partition.
#[derive(Deserialize)]
struct CountItem {
    /// Follows minus unfollows.
    followers: i64,
    /// Follows plus unfollows.
    changes: u64,
}

impl Stored for CountItem {
    const V: u32 = 1;
}

impl GraphStore {
    /// The write that adds `by` to a count row of the partition, and the key of that row.
    pub(crate) fn count(
        &self,
        (follower, author): (UserId, UserId),
        partition: Partition,
        by: i64,
    ) -> (Item, Write) {
        // any row works; these bits of the hash are not those of the partition or the bucket
        // mutation: count-rows
        let row = key(&counts_pk(author, partition), (follower.0 >> 52) % COUNT_ROWS);
        let update = self
            .table
            .update(row.clone())
            .expression("ADD followers :by, changes :one SET v = :v")
            .condition("attribute_not_exists(v) OR v <= :v")
            .value(":by", number(by))
            .value(":one", number(1))
            .value(":v", number(CountItem::V));
        (row, update)
    }

    /// Fails if the count row has a newer version, which explains why its write was refused.
    pub(crate) async fn check_count(
        &self,
        doing: &'static str,
        row: Item,
    ) -> Result<(), StoreError> {
        let row = self.table.get(doing, row).await?;
        row.map_or(Ok(()), |row| check(doing, &row, CountItem::V))
    }

    /// Adds up the count rows of an author, and writes the number of followers into the profile, with a greater number
    /// of partitions if necessary.
    pub async fn count_followers(
        &self,
        users: &UserStore,
        author: UserId,
    ) -> Result<Counting, StoreError> {
        let doing = "counting followers";
        for tried in 0..TRIES_MAX {
            let Some(profile) = users.profile(author).await? else {
                return Ok(Counting::NoProfile);
            };
            let counted = Partition::first(profile.follower_partitions)
                .map(|partition| self.partition(author, partition));
            let counted: Vec<_> = counted.collect();
            let rows: Vec<CountItem> =
                stream::iter(counted).buffer_unordered(PARTITIONS_AT_ONCE).try_concat().await?;
            let followers: i64 = rows.iter().map(|row| row.followers).sum();
            // the rows are read at different times, so an unfollow may be counted without its follow
            let followers = followers.max(0) as u64;
            let partitions = fanout::partitions(followers, self.followers_per_partition);
            let total = Total {
                followers,
                changes: rows.iter().map(|row| row.changes).sum(),
                partitions: partitions.max(profile.follower_partitions),
            };
            if total.changes <= profile.followers_changes
                && total.partitions == profile.follower_partitions
            {
                return Ok(Counting::Known);
            }
            if users.put_total(&profile, total).await? {
                return Ok(Counting::Counted { followers });
            }
            // another count has written a total since the profile was read
            pause(tried).await;
        }
        Err(StoreError::GaveUp { doing, tries: TRIES_MAX })
    }

    async fn partition(
        &self,
        author: UserId,
        partition: Partition,
    ) -> Result<Vec<CountItem>, StoreError> {
        let doing = "counting followers";
        let pk = counts_pk(author, partition);
        let rows = self.table.rows(doing, &pk).only("followers, changes, v").all(None).await?;
        rows.into_iter().map(|row| read(doing, row)).collect()
    }

    /// Removes the count rows of an author without followers.
    pub async fn forget_counts(&self, author: UserId, partitions: u16) -> Result<(), StoreError> {
        let doing = "removing the count rows of an author";
        for partition in Partition::first(partitions) {
            let pk = counts_pk(author, partition);
            let keys = self.table.rows(doing, &pk).only("pk, sk").all(None).await?;
            self.table.delete_all(doing, keys).await?;
        }
        Ok(())
    }
}

/// The result of a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counting {
    /// The total was written.
    Counted {
        /// The number of followers.
        followers: u64,
    },
    /// The profile has this total already.
    Known,
    /// The author has no profile.
    NoProfile,
}

fn counts_pk(author: UserId, partition: Partition) -> Pk {
    ItemKind::Count.pk(format_args!("{author}#{partition}"))
}
