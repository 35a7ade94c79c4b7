use fanfold_core::limits::{MERGE_CONCURRENCY, MERGE_ROUNDS_MAX};
use fanfold_core::{Merge, PostId, Slice, UserId};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};

use super::{Feeds, Reading, reaches};
use crate::error::StoreError;
use crate::valkey::Feed;

/// The live feed itself, among the parts of a merge; the authors come after it.
const FEED: usize = 0;

impl Feeds {
    /// Merges what a live feed holds with the author feeds that it points to.
    pub(super) async fn with_pulled(
        &self,
        feed: Feed,
        slice: Slice,
        pulled: Vec<UserId>,
        before: PostId,
        count: usize,
        reading: &Reading,
    ) -> Result<Slice, StoreError> {
        let mut merge = Merge::new(1 + pulled.len(), before, count);
        merge.give(FEED, slice);
        for _ in 0..MERGE_ROUNDS_MAX {
            let wanted = merge.wanted();
            if wanted.is_empty() {
                break;
            }
            if let Some(more) = wanted.iter().find(|wanted| wanted.part == FEED) {
                let held = self.read(feed, more.before, more.count, reading);
                match reading.ask(held).await?.flatten() {
                    Some(held) if reaches(&held.slice) => merge.give(FEED, held.slice),
                    // its floor: below it, all authors are asked
                    _ => break,
                }
            }
            let authors = wanted.iter().filter_map(|wanted| {
                let author = pulled.get(wanted.part.checked_sub(1)?)?;
                Some(self.part(*author, *wanted, reading))
            });
            let authors: Vec<_> = authors.collect();
            let parts: Vec<(usize, Slice)> =
                stream::iter(authors).buffer_unordered(MERGE_CONCURRENCY).try_collect().await?;
            for (part, slice) in parts {
                merge.give(part, slice);
            }
            merge.advance();
        }
        Ok(merge.finish())
    }
}
