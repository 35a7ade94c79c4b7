//! The relations of a user who is being dropped. Nobody adds to them any more: what counts something
//! in the profile is refused.

use fanfold_core::limits::{DROP_PAGE, TRIES_MAX};
use fanfold_core::message::RelationChanged;
use fanfold_core::{Change, Relation, UserId};

use super::super::retry::pause;
use super::super::transact::{Outcome, transact, update_item};
use super::super::users::{UserStore, counter};
use super::super::{Item, batch, key, text};
use super::{GraphStore, follower_sk, followers_pk, following_pk};
use crate::error::StoreError;
use crate::sqs::Queue;

/// A relation, and which of the two is being dropped.
#[derive(Debug, Clone, Copy)]
pub enum Ends {
    Follower { follower: UserId, author: UserId },
    Author { follower: UserId, author: UserId },
}

impl GraphStore {
    /// Ends a relation: both directions and the counter of whoever stays, or nothing. The event goes
    /// out before, as with any other unfollow. True: it was this call that ended it.
    pub async fn end(
        &self,
        users: &UserStore,
        ends: Ends,
        now_ms: u64,
        events: &Queue<RelationChanged>,
    ) -> Result<bool, StoreError> {
        let doing = "ending a relation";
        let (follower, author, stays, counts) = match ends {
            Ends::Follower { follower, author } => (follower, author, author, "followers"),
            Ends::Author { follower, author } => (follower, author, follower, "following"),
        };
        let mut counted = true;
        for tried in 0..TRIES_MAX {
            let old = self.following_item(follower, author).await?;
            let Some(old) = old.filter(|old| old.relation == Relation::Following) else {
                return Ok(false);
            };
            let last = Change { relation: old.relation, at_ms: old.changed_at_ms };
            let at_ms = Change::next_at(Some(last), now_ms);
            let change = Change { relation: Relation::NotFollowing, at_ms };
            events.send(&RelationChanged::new(follower, author, at_ms)).await?;
            let rows = self.both_rows(doing, follower, author, old.shard, Some(&old), change)?;
            let mut items = Vec::from(rows);
            if counted {
                let fewer = counter(users.table(), stays, counts, -1, None);
                items.push(update_item(doing, fewer)?);
            }
            match transact(&self.client, doing, items).await? {
                Outcome::Done => return Ok(true),
                // who stays is being dropped as well, and comes back after this relation has ended
                outcome if outcome.refused(2) => counted = false,
                Outcome::Refused(_) => pause(tried).await,
            }
        }
        Err(StoreError::GaveUp { doing, tries: TRIES_MAX })
    }

    /// Takes away a follower's row whose relation is no more.
    pub async fn forget_follower(
        &self,
        author: UserId,
        shard: u16,
        follower: UserId,
    ) -> Result<(), StoreError> {
        let sk = follower_sk(follower.bucket(self.buckets), follower);
        let keys = vec![key(followers_pk(author, shard), sk)];
        batch::delete_all(&self.client, &self.table, "forgetting a follower", keys).await
    }

    /// Takes away what remembers relations that a user ended, a page of it. False: nothing was left.
    pub async fn forget_following(&self, user: UserId) -> Result<bool, StoreError> {
        let doing = "forgetting whom a user followed";
        let page = self
            .client
            .query()
            .table_name(&self.table)
            .key_condition_expression("pk = :pk")
            .projection_expression("pk, sk")
            .expression_attribute_values(":pk", text(following_pk(user)))
            .consistent_read(true)
            .limit(DROP_PAGE)
            .send()
            .await
            .map_err(StoreError::dynamo(doing))?;
        let keys: Vec<Item> = page.items.unwrap_or_default();
        let some = !keys.is_empty();
        batch::delete_all(&self.client, &self.table, doing, keys).await?;
        Ok(some)
    }
}
