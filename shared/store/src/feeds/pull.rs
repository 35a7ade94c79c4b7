use fanfold_core::limits::CONCURRENCY;
use fanfold_core::{PostId, Slice, UserId};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};

use super::Feeds;
use crate::error::StoreError;
use crate::valkey::{Feed, FeedKind, Read};

impl Feeds {
    /// Computes posts of a feed from DynamoDB and, if `cached`, from those author feeds that
    /// Valkey holds.
    pub async fn pull(
        &self,
        feed: Feed,
        before: PostId,
        count: usize,
        now_ms: u64,
        cached: bool,
    ) -> Result<Slice, StoreError> {
        match feed.kind {
            FeedKind::Author => self.posts.by_author(feed.user, before, count).await,
            FeedKind::Home => {
                // read after the feed became live: whoever is followed later is backfilled
                let mut authors = self.graph.following(feed.user).await?;
                authors.push(feed.user);
                let slices: Vec<_> = authors
                    .into_iter()
                    .map(|author| self.author_slice(author, before, count, now_ms, cached))
                    .collect();
                let slices: Vec<Slice> =
                    stream::iter(slices).buffer_unordered(CONCURRENCY).try_collect().await?;
                Ok(Slice::merge(slices, count))
            }
        }
    }

    /// One author's part of a home feed.
    pub async fn author_slice(
        &self,
        author: UserId,
        before: PostId,
        count: usize,
        now_ms: u64,
        cached: bool,
    ) -> Result<Slice, StoreError> {
        let feed = Feed::author(author);
        let known = match cached {
            false => Ok(None),
            // the newest posts of an author are wanted often, older ones are not
            true if before == PostId::MAX => {
                let known = self.read_or_rebuild(feed, before, count, now_ms).await;
                known.map(|known| known.map(|(slice, _)| slice))
            }
            true => self.valkey.read(feed, before, count, now_ms).await.map(|read| match read {
                Read::Known(slice) => Some(slice),
                Read::Unknown => None,
            }),
        };
        match known {
            Ok(Some(slice)) if !slice.posts.is_empty() || slice.is_end() => Ok(slice),
            Err(error) if !error.is_valkey() => Err(error),
            _ => self.posts.by_author(author, before, count).await,
        }
    }
}
