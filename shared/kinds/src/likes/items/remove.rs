//! Removing the likes of a deleted post, and those of a user who is being dropped.

use fanfold_core::PostId;
use fanfold_core::limits::LIKE_PARTS;
use fanfold_engines::table::transact::{CommitResult, Transaction};
use fanfold_runtime::StoreError;
use fanfold_runtime::sqs::Announced;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};

use super::change::LikeWrite;
use super::{Like, LikeStore};
use crate::likes::messages::LikeChanged;

/// Likes of a deleted post that are read and removed in one step.
const LIKES_REMOVED_PAGE: usize = 200;
/// Likes of a deleted post that are removed at the same time.
const LIKES_REMOVED_AT_ONCE: usize = 16;

impl LikeStore {
    /// Some likes of a post that is gone. Empty: none are left.
    pub async fn some_of(&self, post: PostId) -> Result<Vec<Like>, StoreError> {
        for part in 0..LIKE_PARTS {
            let likes = self.of_part(post, part, LIKES_REMOVED_PAGE).await?;
            if !likes.is_empty() {
                return Ok(likes);
            }
        }
        Ok(Vec::new())
    }

    /// Removes likes of a post that is gone. Their rows in the list of who likes the post stay, because only they lead to
    /// these likes: [`LikeStore::forget_likers`] removes them when the cards are marked. The counts are not changed, because
    /// their rows go with the post.
    pub async fn remove_all(&self, likes: &[Like]) -> Result<(), StoreError> {
        let removals: Vec<_> = likes.iter().map(|like| self.remove(*like)).collect();
        stream::iter(removals).buffer_unordered(LIKES_REMOVED_AT_ONCE).try_collect().await
    }

    async fn remove(&self, like: Like) -> Result<(), StoreError> {
        let doing = "removing a like of a deleted post";
        let mut transaction = Transaction::new(doing);
        self.remove_like(&mut transaction, like);
        match transaction.commit().await? {
            CommitResult::Done => Ok(()),
            CommitResult::Refused(_) => {
                // fails if the like has a newer version
                self.like(like.user, like.post).await?;
                // the user has taken the like back, and may have given another: this row is not part of it
                self.table.delete_all(doing, vec![like.liked_key()]).await
            }
        }
    }

    /// Removes the rows of likes in the list of who likes the post.
    pub async fn forget_likers(&self, likes: &[Like]) -> Result<(), StoreError> {
        let doing = "removing likes from the list of a deleted post";
        let rows = likes.iter().map(|like| like.liker_key()).collect();
        self.table.delete_all(doing, rows).await
    }

    /// Removes a like of a user who is being dropped: its rows and one count, all or nothing. Returns false if the like
    /// has changed since it was read.
    pub async fn remove_of_dropped(
        &self,
        _sent: Announced<LikeChanged>,
        like: Like,
    ) -> Result<bool, StoreError> {
        let doing = "removing a like of a dropped user";
        let mut transaction = Transaction::new(doing);
        self.remove_like(&mut transaction, like);
        self.remove_liker(&mut transaction, like);
        transaction.add(LikeWrite::Count, self.table.add(like.count_key(), -1));
        match transaction.commit().await? {
            CommitResult::Done => Ok(true),
            CommitResult::Refused(_) => {
                // fails if an item has a newer version
                self.like(like.user, like.post).await?;
                self.table.check_row(doing, like.count_key()).await?;
                Ok(false)
            }
        }
    }
}
