//! Marks: what users put on posts, such as likes and bookmarks.
//!
//! A mark has two rows, and a transaction writes both: the mark itself, by user and post, and a row in the list of the user's
//! marks, by time. Both are in partitions of the user, so users who mark one post at the same time share no item. A mark has
//! a random token: a mark that was removed and put again is another one.

use std::collections::HashSet;

use fanfold_core::kinds::ItemKind;
use fanfold_core::{PostId, Time, UserId};
use fanfold_runtime::StoreError;
use serde::{Deserialize, Serialize};

use crate::table::transact::Transaction;
use crate::table::{Item, Stored, Table, key, number, read, read_key, timed, write};

/// A mark that a user put on a post.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// The user.
    pub user: UserId,
    /// The post.
    pub post: PostId,
    /// The time of the mark.
    pub at: Time,
}

/// A mark with its token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenMark {
    /// The mark.
    pub mark: Mark,
    /// Random. A mark that was removed and put again has another one.
    pub token: String,
}

#[derive(Serialize, Deserialize)]
struct MarkItem {
    sk: PostId,
    v: u32,
    #[serde(rename = "marked_at_ms")]
    marked_at: Time,
    token: String,
}

impl Stored for MarkItem {
    const V: u32 = 1;
}

#[derive(Deserialize)]
struct MarkKey {
    sk: PostId,
}

/// The marks of one kind.
#[derive(Clone, Copy)]
pub struct Marks<'a> {
    /// The table.
    pub table: &'a Table,
    /// The marks, by user and post.
    pub by_post: ItemKind,
    /// The lists of the users' marks, by time.
    pub by_time: ItemKind,
}

impl Marks<'_> {
    /// The user's mark of a post. `None`: the user did not mark the post.
    pub async fn mark(&self, user: UserId, post: PostId) -> Result<Option<TokenMark>, StoreError> {
        let doing = "reading a mark";
        let item = self.table.get(doing, key(&self.by_post.pk(user), post)).await?;
        let item = item.map(|item| read::<MarkItem>(doing, item)).transpose()?;
        Ok(item.map(|MarkItem { marked_at: at, token, .. }| TokenMark {
            mark: Mark { user, post, at },
            token,
        }))
    }

    /// Adds the rows of a new mark to a transaction, with these names, on condition that the user has not marked the post.
    pub fn put<W: Copy>(
        &self,
        transaction: &mut Transaction<W>,
        [one, row]: [W; 2],
        made: &TokenMark,
    ) -> Result<(), StoreError> {
        let (doing, Mark { user, post, at }) = ("marking a post", made.mark);
        let item = MarkItem { sk: post, v: MarkItem::V, marked_at: at, token: made.token.clone() };
        let put = self
            .table
            .put(write(doing, &self.by_post.pk(user), &item)?)
            // mutation: marked-once
            .condition("attribute_not_exists(pk)");
        transaction.add(one, put);
        transaction.add(row, self.table.put_timed(&self.by_time.pk(user), at, post)?);
        Ok(())
    }

    /// Adds the removal of the rows of a mark to a transaction, with these names, on condition that the mark is as it was read.
    pub fn remove<W: Copy>(
        &self,
        transaction: &mut Transaction<W>,
        [one, row]: [W; 2],
        mark: Mark,
    ) {
        let delete = self
            .table
            .delete(key(&self.by_post.pk(mark.user), mark.post))
            .condition("marked_at_ms = :at AND v <= :v")
            .value(":v", number(MarkItem::V))
            .value(":at", number(mark.at));
        transaction.add(one, delete);
        transaction.add(row, self.table.delete(self.row_key(mark)));
    }

    /// Removes the row of a mark in the list of the user's marks. The mark itself is gone already.
    pub async fn forget_row(&self, mark: Mark) -> Result<(), StoreError> {
        let doing = "removing a row of a mark that is gone";
        self.table.delete_all(doing, vec![self.row_key(mark)]).await
    }

    fn row_key(&self, mark: Mark) -> Item {
        key(&self.by_time.pk(mark.user), timed(mark.at, mark.post))
    }

    /// The marked posts of a user with the greatest ids, which are the newest posts: at most `count`.
    pub async fn newest(&self, user: UserId, count: usize) -> Result<Vec<PostId>, StoreError> {
        let doing = "reading the newest posts that a user marked";
        let pk = self.by_post.pk(user);
        let rows = self.table.rows(doing, &pk).newest_first().only("sk").first(None, count).await?;
        rows.into_iter().map(|row| Ok(read_key::<MarkKey>(doing, row)?.sk)).collect()
    }

    /// Those of these posts that the user marked. The posts must differ.
    pub async fn among(
        &self,
        user: UserId,
        posts: &[PostId],
    ) -> Result<HashSet<PostId>, StoreError> {
        let doing = "reading marks of older posts";
        let keys = posts.iter().map(|post| key(&self.by_post.pk(user), post)).collect();
        let found = self.table.get_all(doing, keys).await?;
        found.into_iter().map(|row| Ok(read_key::<MarkKey>(doing, row)?.sk)).collect()
    }

    /// What a user marked, newest mark first: at most `count`, after this place.
    pub async fn of_user(
        &self,
        user: UserId,
        after: Option<(Time, PostId)>,
        count: usize,
    ) -> Result<Vec<(Time, PostId)>, StoreError> {
        let doing = "reading what a user marked";
        self.table.timed_rows(doing, &self.by_time.pk(user), after, count).await
    }
}

const ALL: u8 = b'a';
const NEWEST: u8 = b'n';

/// What a user marked, of the newest posts. A card keeps it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewestMarks {
    /// The marked posts with the greatest ids, greatest first.
    posts: Vec<PostId>,
    /// Whether the user marked no other posts.
    is_all: bool,
}

impl NewestMarks {
    /// The result of a read of `count` posts.
    pub fn read(posts: Vec<PostId>, count: usize) -> Self {
        let is_all = posts.len() < count;
        Self { posts, is_all }
    }

    /// Whether the user marked a post. `None`: the post is older than these.
    pub fn has(&self, post: PostId) -> Option<bool> {
        match self.posts.binary_search_by(|marked| post.cmp(marked)) {
            Ok(_) => Some(true),
            // mutation: marks-floor
            Err(place) => (self.is_all || place < self.posts.len()).then_some(false),
        }
    }

    /// The ids, 16 bytes each, after one byte that says whether they are all.
    pub fn encode(&self) -> Vec<u8> {
        let ids = self.posts.iter().flat_map(|post| post.0.to_be_bytes());
        let head = if self.is_all { ALL } else { NEWEST };
        std::iter::once(head).chain(ids).collect()
    }

    /// Decodes the bytes of [`NewestMarks::encode`].
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (head, ids) = bytes.split_first().filter(|(head, _)| [ALL, NEWEST].contains(*head))?;
        let (ids, rest) = ids.as_chunks::<16>();
        let posts = ids.iter().map(|id| PostId(u128::from_be_bytes(*id))).collect();
        rest.is_empty().then_some(Self { posts, is_all: *head == ALL })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_older_than_the_newest_marks_is_not_known() {
        let posts: Vec<PostId> = (1..=5_u128).rev().map(|n| PostId(n * 10)).collect();
        let all = NewestMarks::read(posts[1..].to_vec(), 5);
        let newest = NewestMarks::read(posts, 5);
        for (post, known) in
            [(10, Some(true)), (15, Some(false)), (9, None), (u128::MAX, Some(false))]
        {
            assert_eq!(newest.has(PostId(post)), known, "{post}");
            assert_eq!(all.has(PostId(post)), known.or(Some(false)), "{post}");
        }
    }

    #[test]
    fn the_bytes_have_whole_ids_and_say_whether_they_are_all() {
        for posts in [Vec::new(), vec![PostId::MAX, PostId::MIN], vec![PostId::MAX; 3]] {
            let marks = NewestMarks::read(posts, 3);
            assert_eq!(NewestMarks::decode(&marks.encode()), Some(marks));
        }
        for bytes in [&b""[..], b"x", b"a123", b"{}"] {
            assert_eq!(NewestMarks::decode(bytes), None);
        }
    }
}
