//! Changing a relation.

use aws_sdk_dynamodb::types::{Delete, Put, TransactWriteItem};
use fanfold_core::fanout;
use fanfold_core::id::Identity;
use fanfold_core::limits::{RELATION_TOMBSTONE_KEPT_S, TRIES_MAX};
use fanfold_core::message::RelationChanged;
use fanfold_core::{Change, Relation, UserId};
use serde::Serialize;

use super::super::retry::pause;
use super::super::transact::{Outcome, delete_item, put_item, transact, update_item};
use super::super::users::{HAS_PROFILE, Profile, UserStore, counter};
use super::super::{Stored, key, number, write};
use super::{FollowingItem, GraphStore, Related, follower_sk, followers_pk, following_pk};
use crate::error::StoreError;
use crate::sqs::Queue;

#[derive(Serialize)]
struct FollowerItem {
    pk: String,
    sk: String,
    v: u32,
}

impl Stored for FollowerItem {
    const V: u32 = 1;
}

impl GraphStore {
    /// Changes a relation: both directions and both counters, or nothing. The event is
    /// sent before the commit, with the time that the change is going to have.
    pub async fn relate(
        &self,
        users: &UserStore,
        follower: &Identity,
        mut author: Profile,
        relation: Relation,
        now_ms: u64,
        events: &Queue<RelationChanged>,
    ) -> Result<Related, StoreError> {
        let doing = "changing a relation";
        for tried in 0..TRIES_MAX {
            let old = self.following_item(follower.user(), author.id).await?;
            let was = old.as_ref().map_or(Relation::NotFollowing, |old| old.relation);
            if was == relation {
                return Ok(Related::Unchanged);
            }
            let last = old.as_ref().map(|o| Change { relation: was, at_ms: o.changed_at_ms });
            let change = Change { relation, at_ms: Change::next_at(last, now_ms) };
            let event = RelationChanged::new(follower.user(), author.id, change.at_ms);
            events.send(&event).await?;
            let items = self.relate_items(doing, users, follower, &author, old.as_ref(), change)?;
            match transact(&self.client, doing, items).await? {
                Outcome::Done => return Ok(Related::Changed),
                outcome if outcome.refused(2) => return Ok(Related::NoProfile),
                // the relation, or the author's partitions, changed since they were read
                Outcome::Refused(_) => pause(tried).await,
            }
            match users.profile(author.id).await? {
                Some(profile) => author = profile,
                None => return Ok(Related::NoProfile),
            }
        }
        Err(StoreError::GaveUp { doing, tries: TRIES_MAX })
    }

    fn relate_items(
        &self,
        doing: &'static str,
        users: &UserStore,
        identity: &Identity,
        author: &Profile,
        old: Option<&FollowingItem>,
        change: Change,
    ) -> Result<Vec<TransactWriteItem>, StoreError> {
        let (follower, follows) = (identity.user(), change.relation == Relation::Following);
        let shards = fanout::shards(author.followers).max(author.follower_shards);
        let shard = match old {
            Some(old) if !follows => old.shard,
            _ => fanout::shard_of(follower, shards),
        };
        let [state, other] = self.both_rows(doing, follower, author.id, shard, old, change)?;
        let by = if follows { 1 } else { -1 };
        let mine = counter(users.table(), follower, "following", by, Some(identity));
        let mut theirs = counter(users.table(), author.id, "followers", by, None);
        if follows && shards > author.follower_shards {
            // of two writers the one with more partitions wins: a reader looks at all of them
            theirs = theirs
                .update_expression("ADD #counter :by SET follower_shards = :shards")
                .condition_expression(format!("{HAS_PROFILE} AND follower_shards <= :shards"))
                .expression_attribute_values(":shards", number(shards));
        }
        Ok(vec![state, other, update_item(doing, mine)?, update_item(doing, theirs)?])
    }

    /// The rows of both directions, on condition that the relation is what was read.
    pub(super) fn both_rows(
        &self,
        doing: &'static str,
        follower: UserId,
        author: UserId,
        shard: u16,
        old: Option<&FollowingItem>,
        change: Change,
    ) -> Result<[TransactWriteItem; 2], StoreError> {
        let follows = change.relation == Relation::Following;
        let expires_at = (!follows).then_some(change.at_ms / 1000 + RELATION_TOMBSTONE_KEPT_S);
        let following = FollowingItem {
            pk: following_pk(follower),
            sk: author,
            v: FollowingItem::V,
            relation: change.relation,
            changed_at_ms: change.at_ms,
            shard,
            expires_at,
        };
        let mut state =
            Put::builder().table_name(&self.table).set_item(Some(write(doing, &following)?));
        state = match old {
            None => state.condition_expression("attribute_not_exists(pk)"),
            Some(old) => state
                .condition_expression("changed_at_ms = :old AND v <= :v")
                .expression_attribute_values(":v", number(FollowingItem::V))
                .expression_attribute_values(":old", number(old.changed_at_ms)),
        };
        let bucket = follower.bucket(self.buckets);
        let (pk, sk) = (followers_pk(author, shard), follower_sk(bucket, follower));
        let other = if follows {
            let item = write(doing, &FollowerItem { pk, sk, v: FollowerItem::V })?;
            put_item(doing, Put::builder().table_name(&self.table).set_item(Some(item)))?
        } else {
            let gone = Delete::builder().table_name(&self.table).set_key(Some(key(pk, sk)));
            delete_item(doing, gone)?
        };
        Ok([put_item(doing, state)?, other])
    }
}
