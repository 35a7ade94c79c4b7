//! Who follows whom, in both directions.

use aws_config::SdkConfig;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{Delete, Put, TransactWriteItem};
use fanfold_core::id::Identity;
use fanfold_core::limits::{
    FOLLOWERS_PER_QUERY, RELATION_TOMBSTONE_KEPT_S, TRIES_MAX, follower_shard, follower_shards,
};
use fanfold_core::message::RelationChanged;
use fanfold_core::{Change, Relation, UserId};
use serde::{Deserialize, Serialize};

use super::retry::pause;
use super::transact::{Outcome, delete_item, put_item, transact, update_item};
use super::users::{Profile, UserStore, counter};
use super::{batch, key, number, read, text, write};
use crate::config::{Config, ConfigError};
use crate::error::StoreError;
use crate::sqs::Queue;

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

#[derive(Serialize, Deserialize)]
struct FollowerItem {
    pk: String,
    sk: String,
    v: u32,
}

#[derive(Deserialize)]
struct FollowingKey {
    sk: UserId,
}

#[derive(Deserialize)]
struct FollowerKey {
    sk: String,
}

/// One page of an author's followers.
#[derive(Debug)]
pub struct FollowerPage {
    pub followers: Vec<UserId>,
    /// Where the next page begins, if there is one.
    pub next: Option<UserId>,
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

    /// Changes a relation: both directions and both counters, or nothing. The event is
    /// sent before the commit, with the time that the change is going to have.
    pub async fn relate(
        &self,
        users: &UserStore,
        follower: &Identity,
        author: UserId,
        relation: Relation,
        now_ms: u64,
        events: &Queue<RelationChanged>,
    ) -> Result<Related, StoreError> {
        let doing = "changing a relation";
        for tried in 0..TRIES_MAX {
            let Some(profile) = users.profile(author).await? else {
                return Ok(Related::NoProfile);
            };
            let old = self.following_item(follower.user(), author).await?;
            let was = old.as_ref().map_or(Relation::NotFollowing, |old| old.relation);
            if was == relation {
                return Ok(Related::Unchanged);
            }
            let last = old.as_ref().map(|o| Change { relation: was, at_ms: o.changed_at_ms });
            let change = Change { relation, at_ms: Change::next_at(last, now_ms) };
            let event = RelationChanged::new(follower.user(), author, change.at_ms);
            events.send(&event).await?;
            let items =
                self.relate_items(doing, users, follower, &profile, old.as_ref(), change)?;
            match transact(&self.client, doing, items).await? {
                Outcome::Done => return Ok(Related::Changed),
                outcome if outcome.refused(2) => return Ok(Related::NoProfile),
                // the relation, or the author's partitions, changed since they were read
                Outcome::Refused(_) => pause(tried).await,
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
        let shards = follower_shards(author.followers).max(author.follower_shards);
        let shard = match old {
            Some(old) if !follows => old.shard,
            _ => follower_shard(follower, shards),
        };
        let expires_at = (!follows).then_some(change.at_ms / 1000 + RELATION_TOMBSTONE_KEPT_S);
        let following = FollowingItem {
            pk: following_pk(follower),
            sk: author.id,
            v: 1,
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
                .condition_expression("changed_at_ms = :old")
                .expression_attribute_values(":old", number(old.changed_at_ms)),
        };
        let (pk, sk) = (followers_pk(author.id, shard), self.follower_sk(follower));
        let other = if follows {
            let item = write(doing, &FollowerItem { pk, sk, v: 1 })?;
            put_item(doing, Put::builder().table_name(&self.table).set_item(Some(item)))?
        } else {
            let gone = Delete::builder().table_name(&self.table).set_key(Some(key(pk, sk)));
            delete_item(doing, gone)?
        };
        let by = if follows { 1 } else { -1 };
        let mine = counter(users.table(), follower, "following", by, Some(identity));
        let mut theirs = counter(users.table(), author.id, "followers", by, None);
        if follows && shards > author.follower_shards {
            // of two writers the one with more partitions wins: a reader looks at all of them
            theirs = theirs
                .update_expression("ADD #counter :by SET follower_shards = :shards")
                .condition_expression("attribute_exists(pk) AND follower_shards <= :shards")
                .expression_attribute_values(":shards", number(shards));
        }
        let state = put_item(doing, state)?;
        Ok(vec![state, other, update_item(doing, mine)?, update_item(doing, theirs)?])
    }

    /// Everyone a user follows.
    pub async fn following(&self, user: UserId) -> Result<Vec<UserId>, StoreError> {
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            let (page, next) = self.following_page(user, after, FOLLOWERS_PER_QUERY).await?;
            all.extend(page);
            after = next;
            if after.is_none() {
                return Ok(all);
            }
        }
    }

    /// One page of those a user follows, and where the next one begins.
    pub async fn following_page(
        &self,
        user: UserId,
        after: Option<UserId>,
        count: i32,
    ) -> Result<(Vec<UserId>, Option<UserId>), StoreError> {
        let doing = "reading whom a user follows";
        let page = self
            .client
            .query()
            .table_name(&self.table)
            .key_condition_expression("pk = :pk")
            .filter_expression("attribute_not_exists(expires_at)")
            .projection_expression("sk")
            .expression_attribute_values(":pk", text(following_pk(user)))
            .consistent_read(true)
            .limit(count)
            .set_exclusive_start_key(after.map(|after| key(following_pk(user), after)))
            .send()
            .await
            .map_err(|error| StoreError::dynamo(doing)(error.into()))?;
        let users: Result<Vec<UserId>, StoreError> = page
            .items
            .unwrap_or_default()
            .into_iter()
            .map(|item| Ok(read::<FollowingKey>(doing, item)?.sk))
            .collect();
        let next = page.last_evaluated_key.map(|last| read::<FollowingKey>(doing, last));
        Ok((users?, next.transpose()?.map(|key| key.sk)))
    }

    /// One page of the followers in one of an author's partitions, in bucket order.
    pub async fn followers_page(
        &self,
        author: UserId,
        shard: u16,
        after: Option<UserId>,
        count: i32,
    ) -> Result<FollowerPage, StoreError> {
        let doing = "reading an author's followers";
        let pk = followers_pk(author, shard);
        let start = after.map(|after| key(&pk, self.follower_sk(after)));
        let page = self
            .client
            .query()
            .table_name(&self.table)
            .key_condition_expression("pk = :pk")
            .projection_expression("sk")
            .expression_attribute_values(":pk", text(&pk))
            .consistent_read(true)
            .limit(count)
            .set_exclusive_start_key(start)
            .send()
            .await
            .map_err(|error| StoreError::dynamo(doing)(error.into()))?;
        let user = |item| follower_of(doing, &read::<FollowerKey>(doing, item)?.sk);
        let followers: Result<_, _> =
            page.items.unwrap_or_default().into_iter().map(user).collect();
        let next = page.last_evaluated_key.map(user).transpose()?;
        Ok(FollowerPage { followers: followers?, next })
    }

    /// Those of the users who follow an author now.
    pub async fn still_following(
        &self,
        author: UserId,
        users: &[UserId],
    ) -> Result<Vec<UserId>, StoreError> {
        let doing = "checking who still follows";
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
        let answer = self
            .client
            .get_item()
            .table_name(&self.table)
            .set_key(Some(key(following_pk(follower), author)))
            .consistent_read(true)
            .send()
            .await
            .map_err(|error| StoreError::dynamo(doing)(error.into()))?;
        answer.item.map(|item| read(doing, item)).transpose()
    }

    /// The bucket goes first, so that a query gives followers grouped by bucket.
    fn follower_sk(&self, follower: UserId) -> String {
        format!("{:04x}{follower}", follower.bucket(self.buckets))
    }
}

fn following_pk(user: UserId) -> String {
    format!("following#{user}")
}

fn followers_pk(author: UserId, shard: u16) -> String {
    format!("followers#{author}#{shard}")
}

fn follower_of(doing: &'static str, sk: &str) -> Result<UserId, StoreError> {
    let id = sk.get(4..).unwrap_or_default().parse();
    id.map_err(|error: fanfold_core::IdError| StoreError::Item { doing, source: error.into() })
}
