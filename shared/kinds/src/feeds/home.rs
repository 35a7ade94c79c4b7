//! Home feeds: the posts of the followed authors and the user's own, merged.

use fanfold_core::limits::MERGE_ROUNDS_MAX;
use fanfold_core::{FeedId, Merge, PostId, Slice, UserId};
use fanfold_engines::reading::ReadContext;
use fanfold_engines::valkey::CachedSlice;
use fanfold_runtime::error::StoreError;
use fanfold_runtime::log::Chain;

use super::Feeds;
use super::cached::{Contents, Reading};
use crate::feeds::messages::RebuildFeed;

impl Feeds {
    /// What a rebuild of a home feed reads. A feed of too many authors is passed on, with the lease `token`.
    pub(super) fn home_contents<'a>(
        &'a self,
        feed: FeedId,
        token: String,
        passes_on: bool,
        reading: &'a ReadContext,
    ) -> Reading<'a> {
        Box::pin(async move {
            // The authors are read after the feed became live: authors who are followed later are
            // backfilled. The pulled authors are read before any posts: if an author is pulled after
            // this, a push brings the pointer first.
            // mutation: live-before-read
            let authors = self.authors(feed.user());
            let (authors, all) = futures::try_join!(authors, self.pulled.all())?;
            if passes_on && authors.len() > self.inline_authors {
                self.pass_on(feed, token).await;
                return Ok(Contents::Queued(authors));
            }
            let followed = authors.iter().copied();
            let pulled = followed.filter(|author| all.contains_key(author)).collect();
            let slice = self.merge(authors, PostId::MAX, self.valkey.keep(), reading).await?;
            Ok(Contents::Read(CachedSlice { slice, pulled }))
        })
    }

    /// Computes the next posts of a home feed that are older than `before`, without storing the feed.
    pub(super) async fn pull_home(
        &self,
        user: UserId,
        before: PostId,
        count: usize,
        reading: &ReadContext,
    ) -> Result<Slice, StoreError> {
        self.merge(self.authors(user).await?, before, count, reading).await
    }

    /// The authors of the posts in a user's home feed: the followed ones, and the user.
    async fn authors(&self, user: UserId) -> Result<Vec<UserId>, StoreError> {
        let mut authors = self.graph.following(user).await?;
        authors.push(user);
        Ok(authors)
    }

    /// The next posts of several authors that are older than `before`. More of an author is read only if the merge
    /// needs it.
    pub(super) async fn merge(
        &self,
        authors: Vec<UserId>,
        before: PostId,
        count: usize,
        reading: &ReadContext,
    ) -> Result<Slice, StoreError> {
        let mut merge = Merge::new(authors.len(), before, count);
        for _ in 0..MERGE_ROUNDS_MAX {
            let wanted = merge.wanted();
            if wanted.is_empty() {
                break;
            }
            let wanted = wanted.into_iter();
            let wanted = wanted.filter_map(|wanted| Some((*authors.get(wanted.part)?, wanted)));
            self.merge_authors(&mut merge, wanted, reading).await?;
        }
        Ok(merge.finish())
    }

    /// Queues the rebuild of a home feed with its lease.
    async fn pass_on(&self, feed: FeedId, lease: String) {
        let sent = self.outbox.send(&RebuildFeed { user: feed.user(), lease }).await;
        // if sending fails, the page is answered all the same, and a reader after the end of the lease
        // queues another rebuild
        if let Err(error) = sent {
            tracing::warn!(error = %Chain(&error), "a rebuild was not queued");
        }
    }
}
