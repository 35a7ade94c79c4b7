//! Merges a live feed with the author feeds that it points to.

use fanfold_core::limits::MERGE_ROUNDS_MAX;
use fanfold_core::{FeedId, Merge, PostId, Slice, UserId};
use fanfold_engines::reading::ReadContext;
use fanfold_runtime::error::StoreError;

use super::Feeds;
use super::cached::reaches;

/// The index of the live feed in the merge. The authors follow it.
const FEED: usize = 0;

impl Feeds {
    /// Merges a slice of a live feed with the author feeds that the feed points to.
    pub(super) async fn with_pulled(
        &self,
        feed: FeedId,
        slice: Slice,
        pulled: Vec<UserId>,
        before: PostId,
        count: usize,
        reading: &ReadContext,
    ) -> Result<Slice, StoreError> {
        let mut merge = Merge::new(1 + pulled.len(), before, count);
        merge.add(FEED, slice);
        for _ in 0..MERGE_ROUNDS_MAX {
            let wanted = merge.wanted();
            if wanted.is_empty() {
                break;
            }
            if let Some(more) = wanted.iter().find(|wanted| wanted.part == FEED) {
                let cached = self.read_cached(feed, more.before, more.count, reading);
                match reading.ask(cached).await?.flatten() {
                    Some(cached) if reaches(&cached.slice) => merge.add(FEED, cached.slice),
                    // the floor of the feed: pages below it are pulled
                    _ => break,
                }
            }
            let wanted = wanted
                .into_iter()
                .filter_map(|wanted| Some((*pulled.get(wanted.part.checked_sub(1)?)?, wanted)));
            self.merge_authors(&mut merge, wanted, reading).await?;
        }
        Ok(merge.finish())
    }
}
