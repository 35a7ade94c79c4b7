//! Storing and deleting posts.

use aws_sdk_dynamodb::types::{Put, Update};
use fanfold_core::PostId;
use fanfold_core::id::Identity;
use fanfold_core::limits::POST_TOMBSTONE_KEPT_S;

use super::super::transact::{Outcome, put_item, transact, update_item};
use super::super::users::counter;
use super::super::{Stored as _, key, number, write};
use super::{Post, PostItem, PostState, PostStore, RequestKey};
use crate::error::StoreError;

#[derive(Debug, PartialEq, Eq)]
pub enum Created {
    Created,
    /// Another post has this id.
    IdTaken,
    /// Another request with the same key was first.
    KeyUsed,
    /// The author has no profile, or it belongs to somebody else with the same id.
    NoProfile,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Deleted {
    Deleted,
    Already,
    Missing,
}

impl PostStore {
    /// Stores a post, counts it and notes the request's key, all or nothing.
    pub async fn create(
        &self,
        users_table: &str,
        author: &Identity,
        post: &Post,
        request: Option<&RequestKey>,
        now_ms: u64,
    ) -> Result<Created, StoreError> {
        let doing = "storing a post";
        let (pk, sk, text_) = (post.id.author(), post.id, Some(post.text.clone()));
        let made_by = request.map(RequestKey::name);
        let item = PostItem {
            pk,
            sk,
            v: PostItem::V,
            text: text_,
            deleted_at_ms: None,
            made_by,
            expires_at: None,
        };
        let put = Put::builder()
            .table_name(&self.table)
            .set_item(Some(write(doing, &item)?))
            .condition_expression("attribute_not_exists(pk)");
        let counted = counter(users_table, post.id.author(), "posts", 1, Some(author));
        let mut items = vec![put_item(doing, put)?, update_item(doing, counted)?];
        if let Some(request) = request {
            items.push(put_item(doing, self.put_key(doing, request, post.id, now_ms)?)?);
        }
        let outcome = transact(&self.client, doing, items).await?;
        Ok(match outcome {
            Outcome::Done => Created::Created,
            // a used key first: the post that it made may well be the one that has this id
            outcome if outcome.refused(2) => Created::KeyUsed,
            outcome if outcome.refused(1) => Created::NoProfile,
            Outcome::Refused(_) => Created::IdTaken,
        })
    }

    /// Puts a tombstone in the place of a post, once.
    pub async fn delete(
        &self,
        users_table: &str,
        author: &Identity,
        id: PostId,
        now_ms: u64,
    ) -> Result<Deleted, StoreError> {
        let doing = "deleting a post";
        let bury = Update::builder()
            .table_name(&self.table)
            .set_key(Some(key(id.author(), id)))
            .update_expression("SET deleted_at_ms = :now, expires_at = :gone REMOVE #text")
            .condition_expression("v <= :v AND attribute_not_exists(deleted_at_ms)")
            .expression_attribute_values(":v", number(PostItem::V))
            .expression_attribute_names("#text", "text")
            .expression_attribute_values(":now", number(now_ms))
            .expression_attribute_values(":gone", number(now_ms / 1000 + POST_TOMBSTONE_KEPT_S));
        let counted = counter(users_table, id.author(), "posts", -1, Some(author));
        let items = vec![update_item(doing, bury)?, update_item(doing, counted)?];
        match transact(&self.client, doing, items).await? {
            Outcome::Done => Ok(Deleted::Deleted),
            Outcome::Refused(_) => Ok(match self.state(id).await? {
                PostState::Deleted => Deleted::Already,
                _ => Deleted::Missing,
            }),
        }
    }
}
