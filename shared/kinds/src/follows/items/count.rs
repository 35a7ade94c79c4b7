//! Counting an author's followers.
//!
//! The transaction of a follow or unfollow adds to one of the rows of the follower's partition. The author's profile has
//! the total.

use fanfold_core::kinds::{ItemKind, Pk};
use fanfold_core::limits::{PARTITIONS_AT_ONCE, TRIES_MAX};
use fanfold_core::{Partition, UserId, fanout};
use fanfold_engines::table::{Item, key};
use fanfold_runtime::error::StoreError;
use fanfold_runtime::retry::pause;

use super::GraphStore;
use crate::people::items::{Total, UserStore};

/// Rows that count the followers of one partition. DynamoDB cancels transactions that write the same item
/// at the same time, so each row takes about 60 changes a second.
const COUNT_ROWS: u64 = 16;

impl GraphStore {
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
            let pks = counts(author, profile.follower_partitions);
            let counted = self.table.tally(doing, pks, PARTITIONS_AT_ONCE).await?;
            let followers = counted.number;
            let partitions = fanout::partitions(followers, self.followers_per_partition);
            let total = Total {
                followers,
                changes: counted.changes,
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

    /// Removes the count rows of an author without followers.
    pub async fn forget_counts(&self, author: UserId, partitions: u16) -> Result<(), StoreError> {
        let doing = "removing the count rows of an author";
        self.table.forget_tally(doing, counts(author, partitions), PARTITIONS_AT_ONCE).await
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

/// The key of the row that counts a follower.
pub(super) fn count_key((follower, author): (UserId, UserId), partition: Partition) -> Item {
    // any row works; these bits of the hash are not those of the partition or the bucket
    // mutation: count-rows
    key(&counts_pk(author, partition), (follower.0 >> 52) % COUNT_ROWS)
}

fn counts_pk(author: UserId, partition: Partition) -> Pk {
    ItemKind::Count.pk(format_args!("{author}#{partition}"))
}

/// The partition keys of the rows that count the followers of an author.
fn counts(author: UserId, partitions: u16) -> impl Iterator<Item = Pk> {
    Partition::first(partitions).map(move |partition| counts_pk(author, partition))
}
