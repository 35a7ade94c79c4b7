//! Reading lists of likes, newest first.

use std::collections::HashSet;

use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use fanfold_core::limits::LIKE_PARTS;
use fanfold_core::{PostId, Time, UserId};
use futures::future::try_join_all;
use serde::Deserialize;

use super::super::{Item, Pk, batch, key, read_key, text};
use super::{Like, LikeStore, like_pk, liked_pk, liked_sk, liker_sk, likers_pk, place};
use fanfold_runtime::error::StoreError;

#[derive(Deserialize)]
struct ListKey {
    sk: String,
}

#[derive(Deserialize)]
struct PostKey {
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
        let rows = self.rows(doing, || self.query(&pk).projection_expression("sk"), count).await?;
        rows.into_iter().map(|row| Ok(read_key::<PostKey>(doing, row)?.sk)).collect()
    }

    /// Those of these posts that the user likes. The posts must differ.
    pub async fn liked_among(
        &self,
        user: UserId,
        posts: &[PostId],
    ) -> Result<HashSet<PostId>, StoreError> {
        let doing = "reading likes of older posts";
        let keys = posts.iter().map(|post| key(&like_pk(user), post)).collect();
        let found = batch::get_all(&self.client, &self.table, doing, keys).await?;
        found.into_iter().map(|row| Ok(read_key::<PostKey>(doing, row)?.sk)).collect()
    }

    /// What a user likes, newest like first: at most `count`, after this place.
    pub async fn liked(
        &self,
        user: UserId,
        after: Option<(Time, PostId)>,
        count: usize,
    ) -> Result<Vec<(Time, PostId)>, StoreError> {
        let doing = "reading what a user likes";
        let after = after.map(|(at, post)| liked_sk(at, post));
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
        let after = after.map(|(at, user)| liker_sk(at, user));
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
    pub(super) async fn of_part(
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
        let query = || match &after {
            None => self.query(pk).projection_expression("sk"),
            Some(after) => self
                .query(pk)
                .key_condition_expression("pk = :pk AND sk < :after")
                .expression_attribute_values(":after", text(after))
                .projection_expression("sk"),
        };
        let rows = self.rows(doing, query, count).await?;
        let places = rows.into_iter().map(|row| {
            let sk = read_key::<ListKey>(doing, row)?.sk;
            let unread = || StoreError::Item { doing, source: format!("the sort key {sk}").into() };
            place(&sk).ok_or_else(unread)
        });
        places.collect()
    }

    /// The first `count` rows of a query. DynamoDB may end a page early.
    async fn rows(
        &self,
        doing: &'static str,
        query: impl Fn() -> QueryFluentBuilder,
        count: usize,
    ) -> Result<Vec<Item>, StoreError> {
        let (mut rows, mut start) = (Vec::new(), None);
        loop {
            let query = query().limit((count - rows.len()) as i32).set_exclusive_start_key(start);
            let page = query.send().await.map_err(StoreError::dynamo(doing))?;
            rows.extend(page.items.unwrap_or_default());
            start = page.last_evaluated_key;
            if start.is_none() || rows.len() >= count {
                return Ok(rows);
            }
        }
    }

    /// A query for the rows under a partition key, by descending sort key.
    pub(super) fn query(&self, pk: &Pk) -> QueryFluentBuilder {
        self.client
            .query()
            .table_name(&self.table)
            .key_condition_expression("pk = :pk")
            .expression_attribute_values(":pk", pk.value())
            .scan_index_forward(false)
            // mutation: consistent-likes
            .consistent_read(true)
    }
}
