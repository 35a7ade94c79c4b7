//! Home and author feeds: the sources of their posts, and the pulled authors.
//!
//! | module | has |
//! | --- | --- |
//! | `heads` | the newest posts of many authors at once |
//! | `home` | the contents of a home feed |
//! | `kept` | feeds that were dropped, kept in DynamoDB |
//! | `older` | pages below the floor of a live feed, and first pages that reach it |
//! | `messages` | the order to rebuild a feed |
//! | `pulled` | the list of pulled authors |

mod heads;
mod home;
pub mod kept;
pub mod messages;
mod older;
pub(crate) mod owned;
pub mod pulled;

use std::collections::HashMap;

use fanfold_core::{FeedId, FeedKind, PostId, Slice, TagHash, UserId};
use fanfold_engines::feed::{Contents, PostSource, SliceError};
use fanfold_engines::reading::ReadContext;
use fanfold_engines::valkey::CachedSlice;
use fanfold_runtime::StoreError;
use futures::future::BoxFuture;

use self::kept::FeedCopy;
pub(crate) use self::older::{charge, newest};
use crate::App;

impl PostSource for App {
    type Copy = FeedCopy;

    async fn by_author(
        &self,
        author: UserId,
        before: PostId,
        count: usize,
    ) -> Result<Slice, StoreError> {
        self.posts.by_author(author, before, count).await
    }

    async fn newest(
        &self,
        authors: &[UserId],
        before: PostId,
        copy: Option<&FeedCopy>,
        reading: &ReadContext,
    ) -> Result<HashMap<UserId, Slice>, StoreError> {
        heads::newest(self, authors, before, copy, reading).await
    }

    fn is_hot(&self, author: UserId, reading: &ReadContext) -> bool {
        self.hot.contains(&author, reading.now)
    }

    fn contents<'a>(
        &'a self,
        feed: FeedId,
        token: String,
        passes_on: bool,
        reading: &'a ReadContext,
    ) -> BoxFuture<'a, Result<Contents, StoreError>> {
        match feed.kind {
            FeedKind::Author => Box::pin(async move {
                let keep = self.valkey.keep();
                let slice = self.posts.by_author(feed.user(), PostId::MAX, keep).await?;
                Ok(Contents::Read(CachedSlice { slice, pulled: Vec::new() }))
            }),
            FeedKind::Home => {
                Box::pin(home::contents(self, feed.user(), token, passes_on, reading))
            }
            FeedKind::Tag | FeedKind::Public => Box::pin(async move {
                let keep = self.valkey.keep();
                let read = self.tags.newest(TagHash(feed.owner.0), PostId::MAX, keep);
                let (slice, queries) = read.await?;
                older::charge(self, reading, queries).await?;
                Ok(Contents::Read(CachedSlice { slice, pulled: Vec::new() }))
            }),
        }
    }

    async fn pull(
        &self,
        feed: FeedId,
        before: PostId,
        count: usize,
        reading: &ReadContext,
    ) -> Result<Slice, StoreError> {
        match feed.kind {
            FeedKind::Author => {
                reading.count_query();
                self.posts.by_author(feed.user(), before, count).await
            }
            FeedKind::Home => home::pull(self, feed.user(), before, count, reading).await,
            FeedKind::Tag | FeedKind::Public => {
                let (slice, queries) =
                    self.tags.newest(TagHash(feed.owner.0), before, count).await?;
                reading.count_queries(queries);
                Ok(slice)
            }
        }
    }

    async fn below_floor(
        &self,
        feed: FeedId,
        before: PostId,
        count: usize,
        reading: &ReadContext,
    ) -> Result<Slice, SliceError> {
        match feed.kind {
            FeedKind::Author => Ok(self.pull(feed, before, count, reading).await?),
            FeedKind::Tag | FeedKind::Public => {
                older::of_everybody(self, feed, before, count, reading).await
            }
            FeedKind::Home => older::below_floor(self, feed.user(), before, count, reading).await,
        }
    }
}
