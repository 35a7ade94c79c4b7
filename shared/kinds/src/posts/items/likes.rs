//! The number of likes in a post.

use fanfold_core::limits::TRIES_MAX;
use fanfold_core::{PostId, Time};
use fanfold_engines::table::transact::{CommitResult, Transaction};
use fanfold_engines::table::{Stored as _, Write, key, number, read};
use fanfold_runtime::error::StoreError;
use fanfold_runtime::retry::pause;

use super::{CountPut, PostItem, PostStore, posts_pk};
use crate::boards::items::{AuthorRow, BoardStore};
use fanfold_engines::tally::Tallied;

/// The names of the writes of a transaction about the number of likes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CountWrite {
    /// The post.
    Post,
    /// The likes of the post in the present hour.
    Trend,
    /// The likes of the author.
    Author,
}

impl PostStore {
    /// Writes the number of likes into a post, and the change of the number into the rows of the rankings, all or nothing. A
    /// post that has the result of a newer count stays as it is. A number that is wrong after the same changes is corrected.
    pub async fn put_likes(
        &self,
        boards: &BoardStore,
        post: PostId,
        count: Tallied,
        now: Time,
    ) -> Result<CountPut, StoreError> {
        let doing = "writing the number of likes";
        for tried in 0..TRIES_MAX {
            let Some(known) = self.like_count(doing, post).await?.filter(|known| !known.is_gone)
            else {
                return Ok(CountPut::Gone);
            };
            // mutation: likes-order
            if (count.changes, count.number) == (known.changes, known.likes)
                || count.changes < known.changes
            {
                return Ok(CountPut::Known);
            }
            let by = i64::try_from(count.number).unwrap_or(i64::MAX) - known.likes as i64;
            let update = known
                .as_read(self, post)
                .expression("SET likes = :likes, like_changes = :changes")
                .value(":likes", number(count.number))
                .value(":changes", number(count.changes));
            let mut transaction = Transaction::new(doing);
            transaction.add(CountWrite::Post, update);
            if by != 0 {
                transaction.add(CountWrite::Trend, boards.trend(post, by, now));
                let author = boards.received(post, by, AuthorRow::Made);
                transaction.add(CountWrite::Author, author);
            }
            match transaction.commit().await? {
                CommitResult::Done => return Ok(CountPut::Written),
                refused => {
                    if !refused.refused(CountWrite::Post) {
                        boards.check_rankings(doing, post, now).await?;
                    }
                    pause(tried).await;
                }
            }
        }
        Err(StoreError::GaveUp { doing, tries: TRIES_MAX })
    }

    /// Takes the likes of a post that is gone from those of its author. Its tombstone has their number until then.
    pub async fn forget_likes(&self, boards: &BoardStore, post: PostId) -> Result<(), StoreError> {
        let doing = "taking back the likes of a deleted post";
        for tried in 0..TRIES_MAX {
            let Some(known) = self.like_count(doing, post).await?.filter(|known| known.is_gone)
            else {
                return Ok(());
            };
            if known.likes == 0 {
                return Ok(());
            }
            let update = known.as_read(self, post).expression("REMOVE likes, like_changes");
            let mut transaction = Transaction::new(doing);
            transaction.add(CountWrite::Post, update);
            let by = -(known.likes as i64);
            transaction.add(CountWrite::Author, boards.received(post, by, AuthorRow::Known));
            match transaction.commit().await? {
                CommitResult::Done => return Ok(()),
                // the author was dropped, and has no row
                refused if !refused.refused(CountWrite::Post) => {
                    return boards.check_rankings(doing, post, post.time()).await;
                }
                CommitResult::Refused(_) => pause(tried).await,
            }
        }
        Err(StoreError::GaveUp { doing, tries: TRIES_MAX })
    }

    /// The number of likes in the item of a post. `None`: there is no item.
    async fn like_count(
        &self,
        doing: &'static str,
        post: PostId,
    ) -> Result<Option<Known>, StoreError> {
        let item = self.table.get(doing, key(&posts_pk(post.author()), post)).await?;
        let item = item.map(|item| read::<PostItem>(doing, item)).transpose()?;
        Ok(item.map(|item| Known {
            is_gone: item.deleted_at.is_some(),
            likes: item.likes,
            changes: item.like_changes,
        }))
    }
}

/// The number of likes that an item has.
#[derive(Debug, Clone, Copy)]
struct Known {
    /// Whether the item is a tombstone.
    is_gone: bool,
    likes: u64,
    changes: u64,
}

impl Known {
    /// An update on condition that the item is as it was read.
    fn as_read(self, posts: &PostStore, post: PostId) -> Write {
        // mutation: ranking-as-read
        let likes = match self.changes {
            0 => "attribute_not_exists(like_changes)",
            _ => "like_changes = :known_changes AND likes = :known_likes",
        };
        let gone = if self.is_gone { "attribute_exists" } else { "attribute_not_exists" };
        let update = posts
            .table
            .update(key(&posts_pk(post.author()), post))
            .condition(format!("v <= :v AND {gone}(deleted_at_ms) AND {likes}"))
            .value(":v", number(PostItem::V));
        match self.changes {
            0 => update,
            _ => update
                .value(":known_changes", number(self.changes))
                .value(":known_likes", number(self.likes)),
        }
    }
}
