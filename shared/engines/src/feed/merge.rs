//! Merges of the feeds of authors.
//!
//! **Merge.** A heap holds the newest known post of each author. First come the newest posts of all authors, a hundred authors
//! in each call. The merge reads more posts of an author only if that author could have the next post.

use std::collections::HashMap;

use fanfold_core::merge::WantedPosts;
use fanfold_core::{FeedId, Merge, PostId, Slice, UserId};
use fanfold_runtime::error::StoreError;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};

use super::cached::{CacheRead, reaches};
use super::source::{Feeds, PostSource};
use crate::reading::ReadContext;

/// Rounds of a merge of feeds. After them, the caller continues where the merge stopped.
const MERGE_ROUNDS_MAX: usize = 200;

/// Authors of a merge that are read at the same time. A rebuild may wait for a thousand answers.
const MERGE_CONCURRENCY: usize = 64;
/// The index of the live feed in the merge. The authors follow it.
const FEED: usize = 0;

impl<S: PostSource> Feeds<'_, S> {
    /// The next posts of one author that are older than `before`, from Valkey if the author feed is live and reaches
    /// there, else from DynamoDB.
    pub async fn author_slice(
        &self,
        author: UserId,
        before: PostId,
        count: usize,
        reading: &ReadContext,
    ) -> Result<Slice, StoreError> {
        match self.live_slice(author, before, count, reading).await? {
            Some(slice) => Ok(slice),
            None => self.source.by_author(author, before, count).await,
        }
    }

    /// The same, from Valkey alone. `None` if it does not have them.
    async fn live_slice(
        &self,
        author: UserId,
        before: PostId,
        count: usize,
        reading: &ReadContext,
    ) -> Result<Option<Slice>, StoreError> {
        let feed = FeedId::author(author);
        let known = match before {
            // the newest posts of an author are read often, so the author feed is rebuilt if necessary
            PostId::MAX => {
                let read = self.read_or_rebuild(feed, before, count, reading);
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
        Ok(known.filter(reaches))
    }

    /// Adds the newest posts of all authors to a merge: those of authors with very many followers from Valkey, if it has them.
    async fn merge_newest(
        &self,
        merge: &mut Merge,
        authors: &[UserId],
        before: PostId,
        copy: Option<&S::Copy>,
        reading: &ReadContext,
    ) -> Result<(), StoreError> {
        let wanted = merge.wanted().into_iter();
        let wanted = wanted.filter_map(|wanted| Some((*authors.get(wanted.part)?, wanted)));
        let (mut hot, others): (Vec<_>, Vec<_>) =
            wanted.partition(|(author, _)| self.source.is_hot(*author, reading));
        if before != PostId::MAX {
            // their older posts are read like those of everybody, without a read of their profiles that would be of no use
            hot.clear();
        }
        let live = hot.into_iter().map(async |(author, wanted)| {
            reading.count_query();
            let slice = self.live_slice(author, before, wanted.count, reading).await?;
            Ok((author, wanted.part, slice))
        });
        let live = stream::iter(live.collect::<Vec<_>>()).buffer_unordered(MERGE_CONCURRENCY);
        let others = others.into_iter().map(|(author, wanted)| (author, wanted.part)).collect();
        let (live, ()) = futures::try_join!(
            live.try_collect::<Vec<_>>(),
            self.merge_heads(merge, others, before, copy, reading)
        )?;
        let mut absent = HashMap::new();
        for (author, part, slice) in live {
            match slice {
                Some(slice) => merge.add(part, slice),
                None => drop(absent.insert(author, part)),
            }
        }
        self.merge_heads(merge, absent, before, None, reading).await?;
        merge.advance();
        Ok(())
    }

    /// Adds the newest posts of authors, each with its part of the merge, in few calls.
    async fn merge_heads(
        &self,
        merge: &mut Merge,
        parts: HashMap<UserId, usize>,
        before: PostId,
        copy: Option<&S::Copy>,
        reading: &ReadContext,
    ) -> Result<(), StoreError> {
        let authors: Vec<UserId> = parts.keys().copied().collect();
        for (author, slice) in self.source.newest(&authors, before, copy, reading).await? {
            if let Some(part) = parts.get(&author) {
                // mutation: heads-before
                merge.add(*part, slice.below(before, usize::MAX));
            }
        }
        Ok(())
    }

    /// Reads the slices that a merge wants of authors, and merges them.
    async fn merge_authors(
        &self,
        merge: &mut Merge,
        wanted: impl Iterator<Item = (UserId, WantedPosts)>,
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

    /// The next posts of several authors that are older than `before`. More of an author is read only if the merge
    /// needs it. `copy` is of the feed that is merged.
    pub async fn merge(
        &self,
        authors: Vec<UserId>,
        before: PostId,
        count: usize,
        copy: Option<&S::Copy>,
        reading: &ReadContext,
    ) -> Result<Slice, StoreError> {
        let mut merge = Merge::new(authors.len(), before, count);
        if reading.uses_heads {
            self.merge_newest(&mut merge, &authors, before, copy, reading).await?;
        }
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
