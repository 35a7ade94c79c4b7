//! Author feeds: the posts of one author, newest first.

use fanfold_core::merge::Wanted;
use fanfold_core::{FeedId, Merge, PostId, Slice, UserId};
use fanfold_engines::reading::ReadContext;
use fanfold_engines::valkey::CachedSlice;
use fanfold_runtime::error::StoreError;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};

use super::Feeds;
use super::cached::{CacheRead, Contents, Reading, reaches};

/// Authors of a merge that are read at the same time. A rebuild may wait for a thousand answers.
const MERGE_CONCURRENCY: usize = 64;

impl Feeds {
    /// What a rebuild of an author feed reads.
    pub(super) fn author_contents(&self, author: UserId) -> Reading<'_> {
        Box::pin(async move {
            let slice = self.posts.by_author(author, PostId::MAX, self.valkey.keep()).await?;
            Ok(Contents::Read(CachedSlice { slice, pulled: Vec::new() }))
        })
    }

    /// The next posts of one author that are older than `before`, from Valkey if the author feed is live and reaches
    /// there, else from DynamoDB.
    pub async fn author_slice(
        &self,
        author: UserId,
        before: PostId,
        count: usize,
        reading: &ReadContext,
    ) -> Result<Slice, StoreError> {
        let feed = FeedId::author(author);
        let known = match before {
            // the newest posts of an author are read often, so the author feed is rebuilt if necessary
            PostId::MAX => {
                let contents = |_| self.author_contents(author);
                let read = self.read_or_rebuild(feed, before, count, reading, contents);
                match reading.ask(read).await? {
                    Some(CacheRead::Shown(cached, _)) => Some(cached.slice),
                    _ => None,
                }
            }
            _ => {
                let cached = reading.ask(self.read_cached(feed, before, count, reading)).await?;
                let cached = cached.flatten();
                cached.map(|cached| cached.slice)
            }
        };
        match known {
            Some(slice) if reaches(&slice) => Ok(slice),
            _ => self.posts.by_author(author, before, count).await,
        }
    }

    /// Reads the slices that a merge wants of authors, and merges them.
    pub(super) async fn merge_authors(
        &self,
        merge: &mut Merge,
        wanted: impl Iterator<Item = (UserId, Wanted)>,
        reading: &ReadContext,
    ) -> Result<(), StoreError> {
        let reads: Vec<_> = wanted
            .map(async |(author, wanted)| {
                reading.count_query();
                let slice = self.author_slice(author, wanted.before, wanted.count, reading).await?;
                Ok((wanted.part, slice))
            })
            .collect();
        let mut slices = stream::iter(reads).buffer_unordered(MERGE_CONCURRENCY);
        while let Some((part, slice)) = slices.try_next().await? {
            merge.add(part, slice);
        }
        merge.advance();
        Ok(())
    }
}
