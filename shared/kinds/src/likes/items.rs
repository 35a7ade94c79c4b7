//! What a like writes beside the mark: a row in the list of who likes the post, and a count. A transaction writes them together.
//!
//! Very many users may like one post in the same second. No item is therefore written by each like of a post: the list of
//! who likes it has [`LIKE_PARTS`] partition keys, and each of these parts has `LIKE_COUNT_ROWS` rows that count. The
//! post's item has the sum, which is computed later.

use fanfold_core::kinds::{ItemKind, Pk};
use fanfold_core::{PostId, Time, UserId};
use fanfold_engines::mark::Mark;
use fanfold_engines::table::transact::Transaction;
use fanfold_engines::table::{ByTime, Item, Table, key, timed};
use fanfold_engines::tally::Tallied;
use fanfold_runtime::error::StoreError;

use crate::marks::writes::MarkWrite;

/// Parts of the likes of a post. DynamoDB takes 1,000 write units a second in each part, and the transaction of a like takes
/// two for a row, so a post can get 4,000 likes a second.
const LIKE_PARTS: u8 = 8;

/// Rows that count the likes of one part. Transactions that write the same row at the same time are cancelled.
const LIKE_COUNT_ROWS: u64 = 16;
/// Likes of a deleted post that are read and removed in one step.
const LIKES_REMOVED_PAGE: usize = 200;

/// The table of marks, with who likes which post.
#[derive(Clone)]
pub struct LikeStore {
    table: Table,
}

impl LikeStore {
    /// Over this table.
    pub fn new(table: Table) -> Self {
        Self { table }
    }

    /// The table, which has all marks.
    pub(crate) fn table(&self) -> &Table {
        &self.table
    }

    /// The number of likes of a post.
    pub async fn counted(&self, post: PostId) -> Result<Tallied, StoreError> {
        self.table.tally("counting likes", counts(post), LIKE_PARTS.into()).await
    }

    /// Removes the rows that count the likes of a post.
    pub async fn forget_counts(&self, post: PostId) -> Result<(), StoreError> {
        let doing = "removing the rows that count the likes of a post";
        self.table.forget_tally(doing, counts(post), LIKE_PARTS.into()).await
    }

    /// Adds the row of a like in the list of who likes the post, and its count, to a transaction.
    pub(crate) fn put_liker(
        &self,
        transaction: &mut Transaction<MarkWrite>,
        like: Mark,
    ) -> Result<(), StoreError> {
        let put = self.table.put_timed(&likers_pk(like.post, part(like)), like.at, like.user)?;
        transaction.add(MarkWrite::OtherRow, put);
        transaction.add(MarkWrite::Count, self.table.add(count_key(like), 1));
        Ok(())
    }

    /// Adds the removal of the row of a like in the list of who likes the post, and of its count, to a transaction.
    pub(crate) fn remove_liker(&self, transaction: &mut Transaction<MarkWrite>, like: Mark) {
        transaction.add(MarkWrite::OtherRow, self.table.delete(liker_key(like)));
        transaction.add(MarkWrite::Count, self.table.add(count_key(like), -1));
    }

    /// Fails if the row that counts this like has a newer version.
    pub(crate) async fn check_count(&self, like: Mark) -> Result<(), StoreError> {
        self.table.check_row("changing a like", count_key(like)).await
    }

    /// Who likes a post, newest like first: at most `count`, after this place.
    pub async fn likers(
        &self,
        post: PostId,
        after: Option<(Time, UserId)>,
        count: usize,
    ) -> Result<Vec<(Time, UserId)>, StoreError> {
        let doing = "reading who likes a post";
        let pks = (0..LIKE_PARTS).map(|part| likers_pk(post, part));
        self.table.timed_parts(doing, pks, ByTime::NewestFirst, after, count).await
    }

    /// Some likes of a post that is gone. Empty: none are left.
    pub async fn some_of(&self, post: PostId) -> Result<Vec<Mark>, StoreError> {
        let doing = "reading the likes of a deleted post";
        for part in 0..LIKE_PARTS {
            let pk = likers_pk(post, part);
            let likers = self.table.timed_rows(doing, &pk, None, LIKES_REMOVED_PAGE).await?;
            if !likers.is_empty() {
                return Ok(likers.into_iter().map(|(at, user)| Mark { user, post, at }).collect());
            }
        }
        Ok(Vec::new())
    }

    /// Removes the rows of likes in the list of who likes the post.
    pub async fn forget_likers(&self, likes: &[Mark]) -> Result<(), StoreError> {
        let doing = "removing likes from the list of a deleted post";
        let rows = likes.iter().map(|like| liker_key(*like)).collect();
        self.table.delete_all(doing, rows).await
    }
}

/// The part of the post's likes that a like is in.
fn part(like: Mark) -> u8 {
    (like.user.0 >> 56) as u8 % LIKE_PARTS
}

/// The key of the row in the list of who likes the post.
fn liker_key(like: Mark) -> Item {
    key(&likers_pk(like.post, part(like)), timed(like.at, like.user))
}

/// The key of the row that counts a like. These bits of the user's id are not those of the part.
fn count_key(like: Mark) -> Item {
    // mutation: like-count-rows
    key(&like_counts_pk(like.post, part(like)), (like.user.0 >> 48) % LIKE_COUNT_ROWS)
}

fn likers_pk(post: PostId, part: u8) -> Pk {
    ItemKind::Liker.pk(format_args!("{post}#{part}"))
}

fn like_counts_pk(post: PostId, part: u8) -> Pk {
    ItemKind::LikeCount.pk(format_args!("{post}#{part}"))
}

/// The partition keys of the rows that count the likes of a post.
fn counts(post: PostId) -> impl Iterator<Item = Pk> {
    (0..LIKE_PARTS).map(move |part| like_counts_pk(post, part))
}
