use fanfold_core::limits::{MERGE_CONCURRENCY, MERGE_ROUNDS_MAX};
use fanfold_core::merge::Wanted;
use fanfold_core::{Merge, PostId, Slice, UserId};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};

use super::{Feeds, Known, Reading, reaches};
use crate::error::StoreError;
use crate::valkey::{Feed, FeedKind, Held};

impl Feeds {
    /// Computes posts of a feed from DynamoDB, and from those author feeds that Valkey holds.
    pub async fn pull(
        &self,
        feed: Feed,
        before: PostId,
        count: usize,
        reading: &Reading,
    ) -> Result<Slice, StoreError> {
        match feed.kind {
            FeedKind::Author => self.posts.by_author(feed.user, before, count).await,
            FeedKind::Home => {
                self.merge(self.authors(feed.user).await?, before, count, reading).await
            }
        }
    }

    /// Whose posts belong in a user's home feed.
    pub(super) async fn authors(&self, user: UserId) -> Result<Vec<UserId>, StoreError> {
        let mut authors = self.graph.following(user).await?;
        authors.push(user);
        Ok(authors)
    }

    /// The next posts of several authors. An author is asked for more only when the merge needs it.
    pub(super) async fn merge(
        &self,
        authors: Vec<UserId>,
        before: PostId,
        count: usize,
        reading: &Reading,
    ) -> Result<Slice, StoreError> {
        let mut merge = Merge::new(authors.len(), before, count);
        for _ in 0..MERGE_ROUNDS_MAX {
            let wanted = merge.wanted();
            if wanted.is_empty() {
                break;
            }
            let asked: Vec<_> = wanted
                .into_iter()
                .filter_map(|wanted| Some((*authors.get(wanted.part)?, wanted)))
                .map(|(author, wanted)| self.part(author, wanted, reading))
                .collect();
            let parts: Vec<(usize, Slice)> =
                stream::iter(asked).buffer_unordered(MERGE_CONCURRENCY).try_collect().await?;
            for (part, slice) in parts {
                merge.give(part, slice);
            }
            merge.advance();
        }
        Ok(merge.finish())
    }

    pub(super) async fn part(
        &self,
        author: UserId,
        wanted: Wanted,
        reading: &Reading,
    ) -> Result<(usize, Slice), StoreError> {
        let slice = self.author_slice(author, wanted.before, wanted.count, reading).await?;
        Ok((wanted.part, slice))
    }

    /// One author's part of a home feed.
    pub async fn author_slice(
        &self,
        author: UserId,
        before: PostId,
        count: usize,
        reading: &Reading,
    ) -> Result<Slice, StoreError> {
        let feed = Feed::author(author);
        let known = match before {
            // the newest posts of an author are wanted often, older ones are not
            PostId::MAX => {
                match reading.ask(self.read_or_rebuild(feed, before, count, reading)).await? {
                    Some(Known::Is(held, _)) => Some(held.slice),
                    _ => None,
                }
            }
            _ => {
                let held = reading.ask(self.read(feed, before, count, reading)).await?.flatten();
                held.map(|held| held.slice)
            }
        };
        match known {
            Some(slice) if reaches(&slice) => Ok(slice),
            _ => self.posts.by_author(author, before, count).await,
        }
    }

    /// What a feed shows, if it is live.
    pub(super) async fn read(
        &self,
        feed: Feed,
        before: PostId,
        count: usize,
        reading: &Reading,
    ) -> Result<Option<Held>, StoreError> {
        Ok(self.valkey.read(feed, before, count, reading.now_ms).await?.known())
    }
}
