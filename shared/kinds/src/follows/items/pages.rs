//! Reading lists of users in pages.

use fanfold_core::fanout::FollowerPlace;
use fanfold_core::limits::FOLLOWERS_PER_QUERY;
use fanfold_core::{Partition, Time, UserId};
use fanfold_engines::list::Page;
use fanfold_engines::table::{key, read_key};
use fanfold_runtime::error::StoreError;
use serde::Deserialize;

use super::{GraphStore, follower_sk, followers_pk, following_pk};

#[derive(Deserialize)]
struct FollowingKey {
    sk: UserId,
}

/// An author whom a user follows.
#[derive(Deserialize)]
pub struct Followed {
    #[serde(rename = "sk")]
    pub author: UserId,
    /// The last change of the relation, if it was asked for.
    #[serde(rename = "changed_at_ms")]
    pub changed_at: Option<Time>,
}

#[derive(Deserialize)]
struct FollowerKey {
    sk: String,
}

impl GraphStore {
    /// All authors that a user follows, in the order of their ids. With `times`, each has the time of the last change; that
    /// takes a twentieth longer for thousands of authors.
    pub async fn following(&self, user: UserId, times: bool) -> Result<Vec<Followed>, StoreError> {
        let (doing, pk) = ("reading the authors that a user follows", following_pk(user));
        let rows = self.table.rows(doing, &pk).only(if times { "sk, changed_at_ms" } else { "sk" });
        let rows = rows.kept_by("attribute_not_exists(expires_at)");
        let rows = rows.all(Some(FOLLOWERS_PER_QUERY)).await?;
        rows.into_iter().map(|row| read_key(doing, row)).collect()
    }

    /// A page of the authors that a user follows. The query reads `count` rows; tombstones among them are left out.
    pub async fn following_page(
        &self,
        user: UserId,
        after: Option<UserId>,
        count: i32,
    ) -> Result<Page<UserId, UserId>, StoreError> {
        let doing = "reading the authors that a user follows";
        let pk = following_pk(user);
        let rows =
            self.table.rows(doing, &pk).only("sk").kept_by("attribute_not_exists(expires_at)");
        let page = rows.page(after.map(|after| key(&pk, after)), Some(count)).await?;
        let user = |item| Ok(read_key::<FollowingKey>(doing, item)?.sk);
        let users: Result<Vec<UserId>, StoreError> = page.rows.into_iter().map(user).collect();
        Ok(Page { items: users?, next: page.next.map(user).transpose()? })
    }

    /// Followers in one partition of an author: at most `count`. The list is empty only if no follower is left.
    pub async fn some_followers(
        &self,
        author: UserId,
        partition: Partition,
        count: usize,
    ) -> Result<Vec<UserId>, StoreError> {
        let (doing, pk) = ("reading some followers", followers_pk(author, partition));
        let rows = self.table.rows(doing, &pk).only("sk").first(None, count).await?;
        let user = |item| follower_of(doing, &read_key::<FollowerKey>(doing, item)?.sk);
        rows.into_iter().map(user).collect()
    }

    /// A page of the followers in one partition of an author, after this follower, in bucket order.
    pub async fn followers_page(
        &self,
        author: UserId,
        partition: Partition,
        after: Option<UserId>,
        count: i32,
    ) -> Result<Page<UserId, UserId>, StoreError> {
        let after = after.map(|after| (after.bucket(self.buckets), after.0));
        self.followers_after(author, partition, after, count).await
    }

    /// A page of the followers in one partition of an author, after this place, in bucket order. No follower needs to
    /// be at the place.
    pub async fn followers_after(
        &self,
        author: UserId,
        partition: Partition,
        after: Option<FollowerPlace>,
        count: i32,
    ) -> Result<Page<UserId, UserId>, StoreError> {
        let doing = "reading an author's followers";
        let pk = followers_pk(author, partition);
        let start = after.map(|(bucket, user)| key(&pk, follower_sk(bucket, UserId(user))));
        let page = self.table.rows(doing, &pk).only("sk").page(start, Some(count)).await?;
        let user = |item| follower_of(doing, &read_key::<FollowerKey>(doing, item)?.sk);
        let followers: Result<_, _> = page.rows.into_iter().map(user).collect();
        Ok(Page { items: followers?, next: page.next.map(user).transpose()? })
    }
}

fn follower_of(doing: &'static str, sk: &str) -> Result<UserId, StoreError> {
    let id = sk.get(4..).unwrap_or_default().parse();
    id.map_err(|error: fanfold_core::IdError| StoreError::Item { doing, source: error.into() })
}
