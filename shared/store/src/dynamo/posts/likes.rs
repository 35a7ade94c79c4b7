//! The number of likes in a post.

use fanfold_core::PostId;

use super::super::likes::LikeCount;
use super::super::{Stored as _, changed, key, number};
use super::{PostItem, PostState, PostStore, posts_pk};
use fanfold_runtime::error::StoreError;

/// The result of writing the number of likes into a post.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LikesPut {
    /// The number was written.
    Written,
    /// The post has the result of this count, or of a newer one, already.
    Known,
    /// The post is gone.
    Gone,
}

impl PostStore {
    /// Writes the number of likes into a post, unless the post has the result of a newer count. A number that is wrong after
    /// the same changes is corrected.
    pub async fn put_likes(&self, post: PostId, count: LikeCount) -> Result<LikesPut, StoreError> {
        let doing = "writing the number of likes";
        let update = self
            .client
            .update_item()
            .table_name(&self.table)
            .set_key(Some(key(&posts_pk(post.author()), post)))
            .update_expression("SET likes = :likes, like_changes = :changes")
            .condition_expression(
                // mutation: likes-order
                "attribute_exists(pk) AND attribute_not_exists(deleted_at_ms) AND \
                 (attribute_not_exists(like_changes) OR like_changes < :changes OR \
                 (like_changes = :changes AND likes <> :likes))",
            )
            .expression_attribute_values(":likes", number(count.likes))
            .expression_attribute_values(":changes", number(count.changes));
        if count.changes > 0 && changed(doing, PostItem::V, update).await?.is_some() {
            return Ok(LikesPut::Written);
        }
        Ok(match self.state(post).await? {
            PostState::Published(_) => LikesPut::Known,
            PostState::Deleted | PostState::Missing => LikesPut::Gone,
        })
    }
}
