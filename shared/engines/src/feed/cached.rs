//! Feeds in Valkey: reading one, and rebuilding one that is not live.

use std::time::Duration;

use crate::reading::ReadContext;
use crate::valkey::{CachedSlice, Read, RebuildStart};
use fanfold_core::feed::OwnedBy;
use fanfold_core::{FeedId, PostId, Slice, UserId};
use fanfold_runtime::error::StoreError;
use fanfold_runtime::{clock, metrics};
use serde::Serialize;

use super::source::{Contents, Feeds, PostSource};

/// Times that a reader looks at a feed that another caller is rebuilding, 5 to 80 ms apart, before the page
/// is pulled.
const REBUILD_LOOKS_MAX: u32 = 5;

/// The source of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The feed was live.
    Cache,
    /// The feed was rebuilt for this request.
    Rebuild,
    /// The page was merged from author feeds for this request, because it is below the floor of the feed, the feed
    /// is being rebuilt, or Valkey does not answer.
    Pull,
}

/// The result of a rebuild.
#[derive(Debug, PartialEq, Eq)]
pub enum Rebuilt {
    /// The feed is live, with these posts; one that everybody reads is not live if it has none. `None`: the feed was live already,
    /// and its posts were not read.
    Done(Option<CachedSlice>),
    /// Another caller rebuilds the feed, or has taken the lease over.
    Elsewhere,
    /// The feed has these authors, which are too many for a rebuild within the request. The lease was passed on
    /// through the queue.
    Queued(Vec<UserId>),
}

/// The result of reading a feed from Valkey, with a rebuild if necessary.
pub(super) enum CacheRead {
    /// Posts of the feed.
    Shown(CachedSlice, Source),
    /// The feed cannot be shown yet. These are the authors of its posts, if they were read.
    NotShown(Option<Vec<UserId>>),
}

/// Whether a slice of a live feed has posts, or shows that there are no older ones.
pub(super) fn reaches(slice: &Slice) -> bool {
    !slice.posts.is_empty() || slice.is_end()
}

impl<S: PostSource> Feeds<'_, S> {
    /// Reads a feed from Valkey. `None` if it cannot be shown.
    pub(super) async fn read_cached(
        &self,
        feed: FeedId,
        before: PostId,
        count: usize,
        reading: &ReadContext,
    ) -> Result<Option<CachedSlice>, StoreError> {
        Ok(self.valkey.read(feed, before, count, reading.now).await?.known())
    }

    /// Reads a live feed. A feed that is not live is rebuilt first, or its rebuild is queued.
    pub(super) async fn read_or_rebuild(
        &self,
        feed: FeedId,
        before: PostId,
        count: usize,
        reading: &ReadContext,
    ) -> Result<CacheRead, StoreError> {
        let token = new_token();
        let read = self.valkey.read_or_begin(feed, before, count, reading.now, &token).await?;
        let rebuilt = match read {
            Read::Known(cached) => return Ok(CacheRead::Shown(cached, Source::Cache)),
            Read::Begun => self.read_and_commit(feed, token, true, reading).await?,
            // nobody rebuilds it: the page is pulled at once, with the cards and author feeds that the server has
            Read::Full => return Ok(CacheRead::NotShown(None)),
            Read::Busy | Read::Unknown => Rebuilt::Elsewhere,
        };
        match rebuilt {
            Rebuilt::Queued(authors) => Ok(CacheRead::NotShown(Some(authors))),
            // the contents are known, so they need not be read again
            Rebuilt::Done(Some(CachedSlice { slice, pulled })) => Ok(CacheRead::Shown(
                CachedSlice { slice: slice.below(before, count), pulled },
                Source::Rebuild,
            )),
            Rebuilt::Done(None) => {
                Ok(match self.read_cached(feed, before, count, reading).await? {
                    Some(cached) => CacheRead::Shown(cached, Source::Rebuild),
                    None => CacheRead::NotShown(None),
                })
            }
            // many readers may need the feed at once; one of them rebuilds it
            Rebuilt::Elsewhere => {
                for looked in 0..REBUILD_LOOKS_MAX {
                    clock::sleep(Duration::from_millis(5 << looked)).await;
                    if let Some(cached) = self.read_cached(feed, before, count, reading).await? {
                        return Ok(CacheRead::Shown(cached, Source::Cache));
                    }
                }
                Ok(CacheRead::NotShown(None))
            }
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
        let token = lease.map_or_else(new_token, str::to_owned);
        match self.valkey.begin(feed, &token, reading.now).await? {
            RebuildStart::Busy => Ok(Rebuilt::Elsewhere),
            RebuildStart::Built => Ok(Rebuilt::Done(None)),
            RebuildStart::Begun => self.read_and_commit(feed, token, false, reading).await,
        }
    }

    /// Continues a rebuild whose lease the caller holds: the feed is live, so its contents are read now.
    async fn read_and_commit(
        &self,
        feed: FeedId,
        token: String,
        passes_on: bool,
        reading: &ReadContext,
    ) -> Result<Rebuilt, StoreError> {
        let CachedSlice { slice, pulled } =
            match self.source.contents(feed, token.clone(), passes_on, reading).await? {
                Contents::Read(read) => read,
                Contents::Queued(authors) => return Ok(Rebuilt::Queued(authors)),
            };
        // anybody may ask for any tag: one without posts takes no memory
        // mutation: empty-feed-dropped
        if feed.kind.owned_by() == OwnedBy::Everybody && slice.posts.is_empty() {
            self.valkey.drop_feed(feed).await?;
            return Ok(Rebuilt::Done(Some(CachedSlice { slice, pulled })));
        }
        let committed = self.valkey.commit(feed, &token, &slice, &pulled).await?;
        if committed {
            metrics::rebuild();
        }
        tracing::info!(
            %feed,
            posts = slice.posts.len(),
            floor_ms = slice.floor().ms(),
            committed,
            "rebuilt"
        );
        Ok(match committed {
            true => Rebuilt::Done(Some(CachedSlice { slice, pulled })),
            false => Rebuilt::Elsewhere,
        })
    }
}

fn new_token() -> String {
    format!("{:016x}", clock::random())
}
