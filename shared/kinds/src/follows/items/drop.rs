//! The relations of a user who is being dropped. The user cannot add relations, because the profile is gone. Other
//! users can, until functions that had read the profile have ended.

use fanfold_core::limits::DROP_PAGE;
use fanfold_core::{Partition, RelationChange, UserId};
use fanfold_engines::table::key;
use fanfold_engines::table::transact::{CommitResult, Transaction};
use fanfold_runtime::StoreError;
use fanfold_runtime::sqs::Announced;

use super::count::count_key;
use super::relate::RelationWrite;
use super::{GraphStore, RelationRow, follower_sk, followers_pk, following_pk};
use crate::follows::messages::RelationChanged;
use crate::people::items::{Counter, Owner, UserStore};

/// A relation to end, because one of its two users is being dropped.
#[derive(Debug, Clone, Copy)]
pub enum Ends {
    /// The follower is being dropped.
    Follower { follower: UserId, author: UserId },
    /// The author is being dropped.
    Author { follower: UserId, author: UserId },
}

/// The result of ending a relation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The relation has ended.
    Done,
    /// The follower has no profile, because the follower is being dropped too.
    FollowerGone,
    /// The relation changed since it was read.
    Raced,
}

impl GraphStore {
    /// Ends a relation: both rows and the counter of the user who stays, all or nothing. `old` is the row that was
    /// read. `counts_follower` tells whether a follower who stays has a profile with a counter.
    pub async fn commit_end(
        &self,
        _sent: Announced<RelationChanged>,
        users: &UserStore,
        ends: Ends,
        old: &RelationRow,
        change: RelationChange,
        counts_follower: bool,
    ) -> Result<Ended, StoreError> {
        let (Ends::Follower { follower, author } | Ends::Author { follower, author }) = ends;
        let mut transaction = Transaction::new("ending a relation");
        let partition = old.0.partition;
        self.add_rows(&mut transaction, (follower, author), partition, Some(old), change)?;
        match ends {
            Ends::Follower { .. } => {
                let count = self.table.add(count_key((follower, author), partition), -1);
                transaction.add(RelationWrite::Count, count);
            }
            Ends::Author { .. } if counts_follower => {
                let fewer = Counter::Following.add(users.table(), -1, Owner::User(follower));
                transaction.add(RelationWrite::Counter, fewer);
            }
            Ends::Author { .. } => {}
        }
        Ok(match transaction.commit().await? {
            CommitResult::Done => Ended::Done,
            outcome if outcome.refused(RelationWrite::Counter) => Ended::FollowerGone,
            CommitResult::Refused(_) => Ended::Raced,
        })
    }

    /// Removes a follower's row whose relation does not exist any more.
    pub async fn forget_follower(
        &self,
        author: UserId,
        partition: Partition,
        follower: UserId,
    ) -> Result<(), StoreError> {
        let sk = follower_sk(follower.bucket(self.buckets), follower);
        let keys = vec![key(&followers_pk(author, partition), sk)];
        self.table.delete_all("removing a follower's row", keys).await
    }

    /// Removes a page of the tombstones of relations that a user ended. Returns false if none were left.
    pub async fn forget_following(&self, user: UserId) -> Result<bool, StoreError> {
        let doing = "removing the ended relations of a user";
        let pk = following_pk(user);
        let keys =
            self.table.rows(doing, &pk).only("pk, sk").first(None, DROP_PAGE as usize).await?;
        let some = !keys.is_empty();
        self.table.delete_all(doing, keys).await?;
        Ok(some)
    }
}
