//! Feeds: posts, newest first, in a sorted set in Valkey if the feed is live, else from their source.
//!
//! A feed is the feed of an author, or is merged from feeds of authors; its kind says which. The engine has what all of them
//! share: rows and floor, the rebuild with its lease, and pages that begin in Valkey and go on below the floor.
//!
//! **The law.** A rebuild makes the feed live before it reads, so that pushes land meanwhile, and commits posts and floor at
//! once, while it has the lease. A feed is shown down to its floor; what is below comes from the source.
//!
//! | module | does |
//! | --- | --- |
//! | `source` | what the engine asks of the kinds of feeds |
//! | `cached` | reads and rebuilds a feed in Valkey |
//! | `merge` | merges the feeds of authors, also with a live feed that points to them |

mod cached;
mod merge;
mod source;

use fanfold_core::{FeedId, PostId, Slice};
use fanfold_runtime::metrics;

use crate::reading::ReadContext;
use crate::valkey::CachedSlice;
use cached::{CacheRead, reaches};
pub use cached::{Rebuilt, Source};
pub use source::{Contents, Feeds, PostSource, SliceError};

impl<S: PostSource> Feeds<'_, S> {
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
        let read = self.read_or_rebuild(feed, before, count, reading);
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
                let pull = self.source.below_floor(feed, before, count, reading);
                return Ok((pull.await?, Source::Pull));
            }
            None => None,
        };
        let slice = match authors {
            Some(authors) => self.merge(authors, before, count, None, reading).await?,
            None => self.source.pull(feed, before, count, reading).await?,
        };
        Ok((slice, Source::Pull))
    }
}
