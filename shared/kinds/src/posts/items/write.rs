//! Storing and deleting posts.

use fanfold_core::id::Identity;
use fanfold_core::limits::{POST_TOMBSTONE_KEPT, TRIES_MAX};
use fanfold_core::{PostId, Time};
use fanfold_engines::table::transact::{CommitResult, Transaction};
use fanfold_engines::table::{Stored as _, Write, key, number, write};
use fanfold_runtime::error::StoreError;
use fanfold_runtime::sqs::Announced;

use super::{Post, PostItem, PostKey, PostState, PostStore, posts_pk};
use crate::people::items::{Counter, HeadBounds, HeadChange, Heads, Owner, UserStore};
use crate::posts::messages::{PostDeleted, PostPublished};
use crate::replies::items::ReplyStore;
use crate::tags::tagging::hashes;

/// The names of the writes of a transaction about a post.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PostWrite {
    /// The post.
    Post,
    /// The author's counter of posts.
    Author,
    /// The `Idempotency-Key`.
    Key,
    /// A row of a reply in its thread, or its count.
    Reply,
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
            entities: post.entities.clone(),
            extras: post.extras.clone(),
            tagged: hashes(&post.entities).collect(),
            version: None,
            edited_at: None,
            above: post.thread.clone(),
            deleted_at: None,
            made_by: request.map(PostKey::name),
            likes: 0,
            like_changes: 0,
            replies: 0,
            reply_changes: 0,
            expires_at: None,
        };
        let item = write(doing, &posts_pk(post.id.author()), &item)?;
        Ok(self.table.put(item).condition("attribute_not_exists(pk)"))
    }

    /// Stores a post, adds 1 to the author's counter, adds the head, puts a reply into its thread, and stores the request's key, all
    /// or nothing. `heads` were read before.
    pub async fn create(
        &self,
        _sent: Announced<PostPublished>,
        (users, bounds, heads): (&UserStore, HeadBounds, &Heads),
        author: &Identity,
        (post, replies): (&Post, &ReplyStore),
        request: Option<&PostKey>,
        now: Time,
    ) -> Result<Created, StoreError> {
        let doing = "storing a post";
        let mut change = heads.published(post.id, bounds);
        for _ in 0..TRIES_MAX {
            let mut transaction = Transaction::new(doing);
            transaction.add(PostWrite::Post, self.put(doing, post, request)?);
            let counter = users.count_posts(&[(Counter::Posts, 1)], &change, Owner::Is(author));
            transaction.add(PostWrite::Author, counter);
            for row in replies.put(post)? {
                transaction.add(PostWrite::Reply, row);
            }
            if let Some(request) = request {
                transaction.add(PostWrite::Key, self.put_key(doing, request, post.id, now)?);
            }
            let outcome = transaction.commit().await?;
            // the key is checked first, because the post with this id may be the one that it made
            if outcome.refused(PostWrite::Key) {
                return Ok(Created::KeyUsed);
            }
            if !outcome.refused(PostWrite::Author) {
                if outcome.refused(PostWrite::Reply) {
                    replies.check_count(post).await?;
                }
                let is_done = outcome == CommitResult::Done;
                return Ok(if is_done { Created::Created } else { Created::IdTaken });
            }
            // the heads may have changed since they were read
            match users.profile(author.user()).await? {
                Some(profile) if profile.is_of(author) => {
                    change = profile.heads.published(post.id, bounds);
                }
                _ => return Ok(Created::NoProfile),
            }
        }
        Err(StoreError::GaveUp { doing, tries: TRIES_MAX })
    }

    /// Replaces a post by a tombstone, subtracts 1 from the author's counter, and removes the head, all or nothing.
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
                "SET deleted_at_ms = :now, expires_at = :gone REMOVE #text, entities, extras, edited_at_ms",
            )
            .condition("v <= :v AND attribute_not_exists(deleted_at_ms)")
            .value(":v", number(PostItem::V))
            .name("#text", "text")
            .value(":now", number(now))
            .value(":gone", number(now.expires_after(POST_TOMBSTONE_KEPT)));
        let mut transaction = Transaction::new(doing);
        transaction.add(PostWrite::Post, bury);
        // mutation: head-kept
        let heads = HeadChange::Remove(id.head());
        let counter = users.count_posts(&[(Counter::Posts, -1)], &heads, Owner::Is(author));
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
