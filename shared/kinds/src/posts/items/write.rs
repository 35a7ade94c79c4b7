//! Storing and deleting posts.

use fanfold_core::id::Identity;
use fanfold_core::limits::POST_TOMBSTONE_KEPT;
use fanfold_core::{PostId, Time};
use fanfold_engines::table::transact::{CommitResult, Transaction};
use fanfold_engines::table::{Stored as _, Write, key, number, write};
use fanfold_runtime::error::StoreError;
use fanfold_runtime::sqs::Announced;

use super::{Post, PostItem, PostKey, PostState, PostStore, posts_pk};
use crate::people::items::{Counter, Owner, UserStore};
use crate::posts::messages::{PostDeleted, PostPublished};

/// The names of the writes of a transaction about a post.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PostWrite {
    /// The post.
    Post,
    /// The author's counter of posts.
    Author,
    /// The `Idempotency-Key`.
    Key,
}

/// The result of storing a post.
#[derive(Debug, PartialEq, Eq)]
pub enum Created {
    /// The post was stored.
    Created,
    /// Another post has this id.
    IdTaken,
    /// Another request with the same `Idempotency-Key` was first.
    KeyUsed,
    /// The author has no profile, or it belongs to another identity with the same id.
    NoProfile,
}

/// The result of deleting a post.
#[derive(Debug, PartialEq, Eq)]
pub enum Deleted {
    /// The post was deleted now.
    Deleted,
    /// The post was deleted before.
    Already,
    /// No post was deleted: it does not exist, or the author's profile does not belong to this identity.
    Missing,
}

impl PostStore {
    /// The write of a new post.
    pub(crate) fn put(
        &self,
        doing: &'static str,
        post: &Post,
        request: Option<&PostKey>,
    ) -> Result<Write, StoreError> {
        let item = PostItem {
            sk: post.id,
            v: PostItem::V,
            text: Some(post.text.clone()),
            deleted_at: None,
            made_by: request.map(PostKey::name),
            likes: 0,
            like_changes: 0,
            expires_at: None,
        };
        Ok(self
            .table
            .put(write(doing, &posts_pk(post.id.author()), &item)?)
            .condition("attribute_not_exists(pk)"))
    }

    /// Stores a post, adds 1 to the author's counter, and stores the request's key, all or nothing.
    pub async fn create(
        &self,
        _sent: Announced<PostPublished>,
        users: &UserStore,
        author: &Identity,
        post: &Post,
        request: Option<&PostKey>,
        now: Time,
    ) -> Result<Created, StoreError> {
        let doing = "storing a post";
        let mut transaction = Transaction::new(doing);
        transaction.add(PostWrite::Post, self.put(doing, post, request)?);
        let counter = Counter::Posts.add(users.table(), 1, Owner::Is(author));
        transaction.add(PostWrite::Author, counter);
        if let Some(request) = request {
            transaction.add(PostWrite::Key, self.put_key(doing, request, post.id, now)?);
        }
        Ok(match transaction.commit().await? {
            CommitResult::Done => Created::Created,
            // the key is checked first, because the post with this id may be the one that it made
            outcome if outcome.refused(PostWrite::Key) => Created::KeyUsed,
            outcome if outcome.refused(PostWrite::Author) => Created::NoProfile,
            CommitResult::Refused(_) => Created::IdTaken,
        })
    }

    /// Replaces a post by a tombstone, and subtracts 1 from the author's counter, all or nothing.
    pub async fn delete(
        &self,
        _sent: Announced<PostDeleted>,
        users: &UserStore,
        author: &Identity,
        id: PostId,
        now: Time,
    ) -> Result<Deleted, StoreError> {
        let doing = "deleting a post";
        let bury = self
            .table
            .update(key(&posts_pk(id.author()), id))
            .expression(
                // the handler of the event takes the likes from those of the author
                "SET deleted_at_ms = :now, expires_at = :gone REMOVE #text",
            )
            .condition("v <= :v AND attribute_not_exists(deleted_at_ms)")
            .value(":v", number(PostItem::V))
            .name("#text", "text")
            .value(":now", number(now))
            .value(":gone", number(now.expires_after(POST_TOMBSTONE_KEPT)));
        let mut transaction = Transaction::new(doing);
        transaction.add(PostWrite::Post, bury);
        let counter = Counter::Posts.add(users.table(), -1, Owner::Is(author));
        transaction.add(PostWrite::Author, counter);
        match transaction.commit().await? {
            CommitResult::Done => Ok(Deleted::Deleted),
            CommitResult::Refused(_) => Ok(match self.state(id).await? {
                PostState::Deleted => Deleted::Already,
                _ => Deleted::Missing,
            }),
        }
    }
}
