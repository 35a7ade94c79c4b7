//! Changing a relation.

use std::time::Duration;

use fanfold_core::id::Identity;
use fanfold_core::{Partition, Relation, RelationChange, UserId, fanout};
use fanfold_engines::table::transact::{CommitResult, Transaction};
use fanfold_engines::table::{Stored, key, number, write};
use fanfold_runtime::StoreError;
use fanfold_runtime::sqs::Announced;
use serde::Serialize;

use super::count::count_key;
use super::{FollowingItem, GraphStore, RelationRow, follower_sk, followers_pk, following_pk};
use crate::follows::messages::RelationChanged;
use crate::people::items::{Counter, Owner, Profile, UserStore};

/// How long the row of an ended relation stays, so that the next change gets a later time.
const RELATION_TOMBSTONE_KEPT: Duration = Duration::from_secs(2 * 24 * 3600);

#[derive(Serialize)]
struct FollowerItem {
    sk: String,
    v: u32,
}

impl Stored for FollowerItem {
    const V: u32 = 1;
}

/// The names of the writes of a transaction that changes a relation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RelationWrite {
    /// The row of the relation, under the follower.
    Following,
    /// The row of the other direction, in a partition of the author's followers.
    Follower,
    /// The follower's counter of followed authors.
    Counter,
    /// A count row of the author's followers.
    Count,
}

/// The result of changing a relation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Committed {
    /// The relation was changed.
    Done,
    /// The follower has no profile, or it belongs to another identity.
    NoProfile,
    /// The relation changed since it was read.
    Raced,
}

impl GraphStore {
    /// Changes a relation: both rows, the follower's counter, and a count row of the author, all or nothing. `old` is
    /// the row that was read; `change` must be later. The transaction does not write the author's profile, because
    /// concurrent follows would conflict on it.
    pub async fn commit(
        &self,
        _sent: Announced<RelationChanged>,
        users: &UserStore,
        follower: &Identity,
        author: &Profile,
        old: Option<&RelationRow>,
        change: RelationChange,
    ) -> Result<Committed, StoreError> {
        let doing = "changing a relation";
        let (partition, by) = match (change.relation, old) {
            (Relation::NotFollowing, Some(old)) => (old.0.partition, -1),
            _ => {
                let partitions = author.follower_partitions;
                (fanout::partition_of(follower.user(), partitions, self.first_partitions), 1)
            }
        };
        let mut transaction = Transaction::new(doing);
        self.add_rows(&mut transaction, (follower.user(), author.id), partition, old, change)?;
        let counter = Counter::Following.add(users.table(), by, Owner::Is(follower));
        transaction.add(RelationWrite::Counter, counter);
        let row = count_key((follower.user(), author.id), partition);
        transaction.add(RelationWrite::Count, self.table.add(row.clone(), by));
        match transaction.commit().await? {
            CommitResult::Done => Ok(Committed::Done),
            outcome if outcome.refused(RelationWrite::Counter) => Ok(Committed::NoProfile),
            outcome => {
                if outcome.refused(RelationWrite::Count) {
                    self.table.check_row(doing, row).await?;
                }
                Ok(Committed::Raced)
            }
        }
    }

    /// Adds the writes of both rows to a transaction, on condition that the relation is unchanged since it was read.
    pub(crate) fn add_rows(
        &self,
        transaction: &mut Transaction<RelationWrite>,
        (follower, author): (UserId, UserId),
        partition: Partition,
        old: Option<&RelationRow>,
        change: RelationChange,
    ) -> Result<(), StoreError> {
        let doing = "changing a relation";
        let follows = change.relation == Relation::Following;
        let expires_at = (!follows).then_some(change.at.expires_after(RELATION_TOMBSTONE_KEPT));
        let following = FollowingItem {
            sk: author,
            v: FollowingItem::V,
            relation: change.relation,
            changed_at: change.at,
            partition,
            expires_at,
        };
        let mut state = self.table.put(write(doing, &following_pk(follower), &following)?);
        state = match old {
            None => state.condition("attribute_not_exists(pk)"),
            Some(old) => state
                .condition("changed_at_ms = :old AND v <= :v")
                .value(":v", number(FollowingItem::V))
                .value(":old", number(old.0.changed_at)),
        };
        let bucket = follower.bucket(self.buckets);
        let (pk, sk) = (followers_pk(author, partition), follower_sk(bucket, follower));
        transaction.add(RelationWrite::Following, state);
        if follows {
            let item = write(doing, &pk, &FollowerItem { sk, v: FollowerItem::V })?;
            transaction.add(RelationWrite::Follower, self.table.put(item));
        } else {
            transaction.add(RelationWrite::Follower, self.table.delete(key(&pk, sk)));
        }
        Ok(())
    }
}
