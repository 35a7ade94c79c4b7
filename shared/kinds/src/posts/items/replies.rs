//! The number of replies in a post, and what a tombstone keeps of a thread.

use fanfold_core::PostId;
use fanfold_engines::table::{Stored as _, key, number, read};
use fanfold_engines::tally::Tallied;
use fanfold_runtime::error::StoreError;

use super::{CountPut, PostItem, PostStore, posts_pk};
use crate::posts::thread::Thread;

/// What is left of a deleted post.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tombstone {
    /// The posts above, until the reply is taken from their lists.
    pub thread: Thread,
    /// Whether replies to the post may have been counted.
    pub had_replies: bool,
    /// Whether the post may have earlier versions.
    pub had_versions: bool,
    /// Whether the post ever had tags.
    pub had_tags: bool,
}

impl Tombstone {
    /// What is known of a post without an item.
    pub const GONE: Self =
        Self { thread: Thread::NONE, had_replies: true, had_versions: true, had_tags: false };
}

impl PostStore {
    /// Writes the number of replies into a post. A post that has the result of a newer count stays as it is. A number that is
    /// wrong after the same changes is corrected.
    pub async fn put_replies(&self, post: PostId, count: Tallied) -> Result<CountPut, StoreError> {
        let doing = "writing the number of replies";
        let item = self.table.get(doing, key(&posts_pk(post.author()), post)).await?;
        let item = item.map(|item| read::<PostItem>(doing, item)).transpose()?;
        let Some(known) = item.filter(|item| item.deleted_at.is_none()) else {
            return Ok(CountPut::Gone);
        };
        if (count.changes, count.number) == (known.reply_changes, known.replies) {
            return Ok(CountPut::Known);
        }
        // mutation: replies-order
        let newer = "attribute_not_exists(reply_changes) OR reply_changes <= :changes";
        let written = self
            .table
            .update(key(&posts_pk(post.author()), post))
            .expression("SET replies = :replies, reply_changes = :changes")
            .condition(format!("attribute_exists(#text) AND ({newer})"))
            .name("#text", "text")
            .value(":replies", number(count.number))
            .value(":changes", number(count.changes))
            .changed(doing, PostItem::V)
            .await?;
        match written {
            Some(_) => Ok(CountPut::Written),
            // it was deleted, or a newer count was written, since it was read
            None if self.tombstone(post).await?.is_some() => Ok(CountPut::Gone),
            None => Ok(CountPut::Known),
        }
    }

    /// What is left of a post. `None`: the post is there.
    pub async fn tombstone(&self, post: PostId) -> Result<Option<Tombstone>, StoreError> {
        let doing = "reading a deleted post";
        let item = self.table.get(doing, key(&posts_pk(post.author()), post)).await?;
        let Some(item) = item else { return Ok(Some(Tombstone::GONE)) };
        let item: PostItem = read(doing, item)?;
        let (had_replies, had_versions) = (item.reply_changes > 0, item.version.is_some());
        let had_tags = !item.tagged.is_empty();
        Ok(item.deleted_at.map(|_| {
            let thread = item.above;
            Tombstone { thread, had_replies, had_versions, had_tags }
        }))
    }

    /// Removes the posts above from a tombstone, which is in no list any more.
    pub async fn forget_thread(&self, reply: PostId) -> Result<(), StoreError> {
        self.table
            .update(key(&posts_pk(reply.author()), reply))
            .expression("REMOVE above")
            .condition("attribute_exists(deleted_at_ms)")
            .changed("removing the thread of a deleted reply", PostItem::V)
            .await
            .map(drop)
    }
}
