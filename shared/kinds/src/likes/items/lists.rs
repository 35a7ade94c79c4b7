//! Reading lists of likes, newest first.

use std::collections::HashSet;

use fanfold_core::kinds::Pk;
use fanfold_core::limits::LIKE_PARTS;
use fanfold_core::{PostId, Time, UserId};
use fanfold_engines::table::rows::Rows;
use fanfold_engines::table::{key, read_key, time_and_id, timed};
use fanfold_runtime::error::StoreError;
use futures::future::try_join_all;
use serde::Deserialize;

use super::{Like, LikeStore, like_pk, liked_pk, likers_pk};

#[derive(Deserialize)]
struct ListKey {
    sk: String,
}

#[derive(Deserialize)]
struct ListedPost {
    sk: PostId,
}

impl LikeStore {
    /// The liked posts of a user with the greatest ids, which are the newest posts: at most `count`.
    pub async fn newest_liked(
        &self,
        user: UserId,
        count: usize,
    ) -> Result<Vec<PostId>, StoreError> {
        let doing = "reading the newest posts that a user likes";
        let pk = like_pk(user);
        let rows = self.rows(doing, &pk).only("sk").first(None, count).await?;
        rows.into_iter().map(|row| Ok(read_key::<ListedPost>(doing, row)?.sk)).collect()
    }

    /// Those of these posts that the user likes. The posts must differ.
    pub async fn liked_among(
        &self,
        user: UserId,
        posts: &[PostId],
    ) -> Result<HashSet<PostId>, StoreError> {
        let doing = "reading likes of older posts";
        let keys = posts.iter().map(|post| key(&like_pk(user), post)).collect();
        let found = self.table.get_all(doing, keys).await?;
        found.into_iter().map(|row| Ok(read_key::<ListedPost>(doing, row)?.sk)).collect()
    }

    /// What a user likes, newest like first: at most `count`, after this place.
    pub async fn liked(
        &self,
        user: UserId,
        after: Option<(Time, PostId)>,
        count: usize,
    ) -> Result<Vec<(Time, PostId)>, StoreError> {
        let doing = "reading what a user likes";
        let after = after.map(|(at, post)| timed(at, post));
        self.list(doing, &liked_pk(user), after, count).await
    }

    /// Who likes a post, newest like first: at most `count`, after this place.
    pub async fn likers(
        &self,
        post: PostId,
        after: Option<(Time, UserId)>,
        count: usize,
    ) -> Result<Vec<(Time, UserId)>, StoreError> {
        let doing = "reading who likes a post";
        let after = after.map(|(at, user)| timed(at, user));
        let pks: Vec<Pk> = (0..LIKE_PARTS).map(|part| likers_pk(post, part)).collect();
        let parts = pks.iter().map(|pk| self.list::<UserId>(doing, pk, after.clone(), count));
        let mut likers: Vec<(Time, UserId)> =
            try_join_all(parts).await?.into_iter().flatten().collect();
        // mutation: likers-merged
        likers.sort_unstable_by(|a, b| b.cmp(a));
        likers.truncate(count);
        Ok(likers)
    }

    /// Likes of one part of a post, newest first: at most `count`.
    pub(crate) async fn of_part(
        &self,
        post: PostId,
        part: u8,
        count: usize,
    ) -> Result<Vec<Like>, StoreError> {
        let doing = "reading the likes of a deleted post";
        let pk = likers_pk(post, part);
        let likers = self.list::<UserId>(doing, &pk, None, count).await?;
        Ok(likers.into_iter().map(|(at, user)| Like { user, post, at }).collect())
    }

    /// Likes of one user: at most `count`.
    pub async fn of_user(&self, user: UserId, count: usize) -> Result<Vec<Like>, StoreError> {
        let liked = self.liked(user, None, count).await?;
        Ok(liked.into_iter().map(|(at, post)| Like { user, post, at }).collect())
    }

    /// The rows of a list, by descending sort key: at most `count`, after this sort key.
    async fn list<T: std::str::FromStr + Ord>(
        &self,
        doing: &'static str,
        pk: &Pk,
        after: Option<String>,
        count: usize,
    ) -> Result<Vec<(Time, T)>, StoreError> {
        let rows = self.rows(doing, pk).only("sk");
        let rows = match after {
            Some(after) => rows.below(after),
            None => rows,
        };
        let rows = rows.first(None, count).await?;
        let places = rows.into_iter().map(|row| {
            let sk = read_key::<ListKey>(doing, row)?.sk;
            let unread = || StoreError::Item { doing, source: format!("the sort key {sk}").into() };
            time_and_id(&sk).ok_or_else(unread)
        });
        places.collect()
    }

    /// The rows under a partition key, newest first.
    pub(crate) fn rows<'a>(&'a self, doing: &'static str, pk: &'a Pk) -> Rows<'a> {
        self.table.rows(doing, pk).newest_first()
    }
}
