//! Removing the likes of a deleted post, and those of a user who is being dropped.

use fanfold_core::PostId;
use fanfold_core::limits::{LIKE_PARTS, LIKES_REMOVED_AT_ONCE, LIKES_REMOVED_PAGE};
use fanfold_core::message::LikeEvent;
use fanfold_runtime::StoreError;
use fanfold_runtime::sqs::Announced;
use futures::future::try_join_all;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};

use super::super::transact::{CommitResult, Transaction};
use super::super::{Item, batch};
use super::change::LikeWrite;
use super::{Like, LikeStore, like_counts_pk};

impl LikeStore {
    /// Removes some likes of a post that is gone, and returns them. When none are left, removes the rows that count.
    pub async fn remove_some(&self, post: PostId) -> Result<Vec<Like>, StoreError> {
        for part in 0..LIKE_PARTS {
            let likes = self.of_part(post, part, LIKES_REMOVED_PAGE).await?;
            if !likes.is_empty() {
                let removals: Vec<_> = likes.iter().map(|like| self.remove(*like)).collect();
                stream::iter(removals)
                    .buffer_unordered(LIKES_REMOVED_AT_ONCE)
                    .try_collect::<()>()
                    .await?;
                return Ok(likes);
            }
        }
        self.remove_counts(post).await?;
        Ok(Vec::new())
    }

    /// Removes a like of a post that is gone. The count is not changed, because its rows go with the post.
    async fn remove(&self, like: Like) -> Result<(), StoreError> {
        let doing = "removing a like of a deleted post";
        let mut transaction = Transaction::new(doing);
        self.remove_rows(&mut transaction, like)?;
        match transaction.commit(&self.client).await? {
            CommitResult::Done => Ok(()),
            // the user has taken the like back, and may have given another: these rows are not part of it
            CommitResult::Refused(_) => {
                let rows = vec![like.liked_key(), like.liker_key()];
                batch::delete_all(&self.client, &self.table, doing, rows).await
            }
        }
    }

    async fn remove_counts(&self, post: PostId) -> Result<(), StoreError> {
        let doing = "removing the rows that count the likes of a post";
        let parts = (0..LIKE_PARTS).map(|part| async move {
            let query = self.query(&like_counts_pk(post, part)).projection_expression("pk, sk");
            let page = query.send().await.map_err(StoreError::dynamo(doing))?;
            Ok::<_, StoreError>(page.items.unwrap_or_default())
        });
        let rows: Vec<Item> = try_join_all(parts).await?.into_iter().flatten().collect();
        batch::delete_all(&self.client, &self.table, doing, rows).await
    }

    /// Removes a like of a user who is being dropped: its rows and one count, all or nothing. Returns false if the like
    /// has changed since it was read.
    pub async fn remove_of_dropped(
        &self,
        _sent: Announced<LikeEvent>,
        like: Like,
    ) -> Result<bool, StoreError> {
        let mut transaction = Transaction::new("removing a like of a dropped user");
        self.remove_rows(&mut transaction, like)?;
        transaction.update(LikeWrite::Count, self.count(like, -1))?;
        Ok(transaction.commit(&self.client).await? == CommitResult::Done)
    }
}
