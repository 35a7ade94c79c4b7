use fanfold_core::message::RebuildFeed;
use fanfold_core::{PostId, UserId};
use futures::future::BoxFuture;

use super::{Feeds, Reading};
use crate::error::StoreError;
use crate::log::Chain;
use crate::valkey::{Begun, Feed, FeedKind, Held};
use crate::{clock, measure};

/// How far a rebuild got.
#[derive(Debug, PartialEq, Eq)]
pub enum Rebuilt {
    /// The feed is there, with this in it; None: it was there before.
    Done(Option<Held>),
    /// Somebody else is at it, or took over.
    Elsewhere,
    /// It has these authors, too many to wait for: the lease was handed on.
    Queued(Vec<UserId>),
}

impl Feeds {
    /// Makes a feed live, reads, and commits. A lease that was handed on is taken up. (Boxed: the
    /// rebuild of a home feed leads to those of author feeds.)
    pub fn rebuild<'a>(
        &'a self,
        feed: Feed,
        lease: Option<&'a str>,
        reading: &'a Reading,
    ) -> BoxFuture<'a, Result<Rebuilt, StoreError>> {
        Box::pin(async move {
            let token = lease.map_or_else(new_token, str::to_owned);
            match self.valkey.begin(feed, &token, reading.now_ms).await? {
                Begun::Busy => Ok(Rebuilt::Elsewhere),
                Begun::Built => Ok(Rebuilt::Done(None)),
                Begun::Begun => self.read_and_commit(feed, token, reading).await,
            }
        })
    }

    /// The rest of a rebuild that has begun.
    pub(super) fn go_on<'a>(
        &'a self,
        feed: Feed,
        token: String,
        reading: &'a Reading,
    ) -> BoxFuture<'a, Result<Rebuilt, StoreError>> {
        Box::pin(self.read_and_commit(feed, token, reading))
    }

    async fn read_and_commit(
        &self,
        feed: Feed,
        token: String,
        reading: &Reading,
    ) -> Result<Rebuilt, StoreError> {
        let keep = self.valkey.keep();
        let mut pulled = Vec::new();
        let slice = match feed.kind {
            FeedKind::Author => self.posts.by_author(feed.user, PostId::MAX, keep).await?,
            FeedKind::Home => {
                // read after the feed became live: whoever is followed later is backfilled. Who is
                // pulled is read before any posts: one that is left out of fan-out after this is
                // preceded by a pointer
                let authors = self.authors(feed.user);
                let (authors, all) = futures::try_join!(authors, self.pulled.all())?;
                if authors.len() > self.inline_authors && self.hand_on(feed, &token).await {
                    return Ok(Rebuilt::Queued(authors));
                }
                pulled.extend(authors.iter().copied().filter(|author| all.contains_key(author)));
                self.merge(authors, PostId::MAX, keep, reading).await?
            }
        };
        let committed = self.valkey.commit(feed, &token, &slice, &pulled).await?;
        if committed {
            measure::rebuild();
        }
        tracing::info!(
            %feed,
            posts = slice.posts.len(),
            floor_ms = slice.floor_ms(),
            committed,
            "rebuilt"
        );
        Ok(match committed {
            true => Rebuilt::Done(Some(Held { slice, pulled })),
            false => Rebuilt::Elsewhere,
        })
    }

    async fn hand_on(&self, feed: Feed, token: &str) -> bool {
        let Some(rebuilds) = &self.rebuilds else { return false };
        let sent = rebuilds.send(&RebuildFeed::new(feed.user, token.to_owned())).await;
        // the page is answered all the same; when the lease ends, the next reader sends another
        if let Err(error) = sent {
            tracing::warn!(error = %Chain(&error), "a rebuild was not queued");
        }
        true
    }
}

pub(super) fn new_token() -> String {
    format!("{:016x}", clock::random())
}
