//! Reading lists of users page by page.

use fanfold_core::UserId;
use fanfold_core::fanout::Place;
use fanfold_core::limits::FOLLOWERS_PER_QUERY;
use serde::Deserialize;

use super::super::{key, read_key, text};
use super::{GraphStore, follower_sk, followers_pk, following_pk};
use crate::error::StoreError;

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

impl GraphStore {
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
            .map_err(StoreError::dynamo(doing))?;
        let users: Result<Vec<UserId>, StoreError> = page
            .items
            .unwrap_or_default()
            .into_iter()
            .map(|item| Ok(read_key::<FollowingKey>(doing, item)?.sk))
            .collect();
        let next = page.last_evaluated_key.map(|last| read_key::<FollowingKey>(doing, last));
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
        let after = after.map(|after| (after.bucket(self.buckets), after.0));
        self.followers_after(author, shard, after, count).await
    }

    /// The same after a place where there need not be a follower.
    pub async fn followers_after(
        &self,
        author: UserId,
        shard: u16,
        after: Option<Place>,
        count: i32,
    ) -> Result<FollowerPage, StoreError> {
        let doing = "reading an author's followers";
        let pk = followers_pk(author, shard);
        let start = after.map(|(bucket, user)| key(&pk, follower_sk(bucket, UserId(user))));
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
            .map_err(StoreError::dynamo(doing))?;
        let user = |item| follower_of(doing, &read_key::<FollowerKey>(doing, item)?.sk);
        let followers: Result<_, _> =
            page.items.unwrap_or_default().into_iter().map(user).collect();
        let next = page.last_evaluated_key.map(user).transpose()?;
        Ok(FollowerPage { followers: followers?, next })
    }
}

fn follower_of(doing: &'static str, sk: &str) -> Result<UserId, StoreError> {
    let id = sk.get(4..).unwrap_or_default().parse();
    id.map_err(|error: fanfold_core::IdError| StoreError::Item { doing, source: error.into() })
}
