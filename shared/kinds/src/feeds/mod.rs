//! Reading and rebuilding feeds: from Valkey if the feed is live, else from DynamoDB.
//!
//! | module | does |
//! | --- | --- |
//! | `stores` | the stores of feeds |
//! | `cached` | reads and rebuilds a feed in Valkey, whatever its contents |
//! | `author`, `home` | the contents of each kind of feed |
//! | `pointers` | merges the authors that a feed points to |
//! | `older` | pages below the floor of a home feed |

mod author;
mod cached;
mod home;
pub mod messages;
mod older;
pub(crate) mod owned;
mod pointers;
pub mod pulled;
mod stores;

use fanfold_core::{FeedId, FeedKind, PostId, Slice};
use fanfold_engines::reading::ReadContext;
use fanfold_engines::valkey::CachedSlice;
use fanfold_runtime::error::StoreError;
use fanfold_runtime::metrics;

use cached::{CacheRead, Reading, reaches};
pub use cached::{Rebuilt, Source};
pub use older::SliceError;
pub use stores::Feeds;
pub(crate) use stores::REBUILD_INLINE_AUTHORS;

impl Feeds {
    /// The next posts of a feed that are older than `before`: `count` of them, or fewer at the end of the feed or
    /// where the read stopped. The slice's bound tells which. Fails with [`SliceError::Limited`] if they are below the floor,
    /// and the reader has pulled too much.
    pub async fn slice(
        &self,
        feed: FeedId,
        before: PostId,
        count: usize,
        reading: &ReadContext,
    ) -> Result<(Slice, Source), SliceError> {
        let contents = |token| self.contents(feed, token, true, reading);
        let read = self.read_or_rebuild(feed, before, count, reading, contents);
        let known = reading.ask(read).await?;
        let authors = match known {
            // mutation: page-below-floor
            Some(CacheRead::Shown(CachedSlice { slice, pulled }, source)) if reaches(&slice) => {
                // mutation: page-merged
                let slice = match pulled.is_empty() {
                    true => slice,
                    false => self.with_pulled(feed, slice, pulled, before, count, reading).await?,
                };
                return Ok((slice, source));
            }
            Some(CacheRead::NotShown(authors)) => authors,
            Some(CacheRead::Shown(..)) => {
                metrics::floor_crossing();
                if feed.kind == FeedKind::Home {
                    let pull = self.below_floor(feed.user(), before, count, reading);
                    return Ok((pull.await?, Source::Pull));
                }
                None
            }
            None => None,
        };
        let slice = match authors {
            Some(authors) => self.merge(authors, before, count, reading).await?,
            None => self.pull(feed, before, count, reading).await?,
        };
        Ok((slice, Source::Pull))
    }

    /// Computes the next posts of a feed that are older than `before`: an author feed from DynamoDB, a home feed by
    /// a merge of the author feeds, from Valkey if they are live and else from DynamoDB.
    pub async fn pull(
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
            FeedKind::Home => self.pull_home(feed.user(), before, count, reading).await,
        }
    }

    /// Rebuilds a feed: makes it live, reads its posts, and commits them. `lease` is the token of a lease that was
    /// passed on; `None` takes a new one.
    pub async fn rebuild(
        &self,
        feed: FeedId,
        lease: Option<&str>,
        reading: &ReadContext,
    ) -> Result<Rebuilt, StoreError> {
        let contents = |token| self.contents(feed, token, false, reading);
        self.rebuild_with(feed, lease, reading, contents).await
    }

    /// What a rebuild of a feed reads. If `passes_on`, that of very many authors is passed on through the queue.
    fn contents<'a>(
        &'a self,
        feed: FeedId,
        token: String,
        passes_on: bool,
        reading: &'a ReadContext,
    ) -> Reading<'a> {
        match feed.kind {
            FeedKind::Author => self.author_contents(feed.user()),
            FeedKind::Home => self.home_contents(feed, token, passes_on, reading),
        }
    }
}
