//! Counting the likes of a post. It works as the count of an author's followers: each like adds to one of several rows, and
//! the post's item has the sum. Each row also counts its changes, so that of two sums the newer one is known.

use fanfold_core::PostId;
use fanfold_core::limits::LIKE_PARTS;
use fanfold_engines::table::{Item, Stored, Write, check, number, read};
use fanfold_runtime::error::StoreError;
use futures::future::try_join_all;
use serde::Deserialize;

use super::{Like, LikeStore, like_counts_pk};

/// One of the rows that count the likes of a part.
#[derive(Deserialize)]
struct LikeCountItem {
    /// Likes given minus likes taken back.
    likes: i64,
    /// Likes given plus likes taken back.
    changes: u64,
}

impl Stored for LikeCountItem {
    const V: u32 = 1;
}

/// The result of a count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LikeCount {
    /// The number of likes.
    pub likes: u64,
    /// The number of changes that it includes. Of two counts, the one with more changes is newer.
    pub changes: u64,
}

impl LikeStore {
    /// The write that adds `by` to the count row of a like.
    pub(crate) fn count(&self, like: Like, by: i64) -> Write {
        self.table
            .update(like.count_key())
            .expression("ADD likes :by, changes :one SET v = :v")
            .condition("attribute_not_exists(v) OR v <= :v")
            .value(":by", number(by))
            .value(":one", number(1))
            .value(":v", number(LikeCountItem::V))
    }

    /// Fails if the count row of a like has a newer version, which explains why its write was refused.
    pub(crate) async fn check_count(
        &self,
        doing: &'static str,
        like: Like,
    ) -> Result<(), StoreError> {
        let row = self.table.get(doing, like.count_key()).await?;
        row.map_or(Ok(()), |row| check(doing, &row, LikeCountItem::V))
    }

    /// Adds up the count rows of a post.
    pub async fn counted(&self, post: PostId) -> Result<LikeCount, StoreError> {
        let doing = "counting likes";
        let (mut likes, mut changes) = (0i64, 0u64);
        for row in self.count_rows(doing, post, "likes, changes, v").await? {
            let row: LikeCountItem = read(doing, row)?;
            likes += row.likes;
            changes += row.changes;
        }
        // the parts are read at different times, so a like may be missing that was taken back
        Ok(LikeCount { likes: likes.max(0) as u64, changes })
    }

    /// These attributes of all rows that count the likes of a post.
    pub(crate) async fn count_rows(
        &self,
        doing: &'static str,
        post: PostId,
        attributes: &str,
    ) -> Result<Vec<Item>, StoreError> {
        let parts = (0..LIKE_PARTS).map(|part| async move {
            self.rows(doing, &like_counts_pk(post, part)).only(attributes).all(None).await
        });
        Ok(try_join_all(parts).await?.into_iter().flatten().collect())
    }
}
