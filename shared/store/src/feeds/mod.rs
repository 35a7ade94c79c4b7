//! Feeds: from Valkey where it holds them, from DynamoDB where it does not.

mod followers;
mod page;
mod pointers;
mod pull;
mod reading;
mod rebuild;

use aws_config::SdkConfig;
use fanfold_core::limits::{REBUILD_INLINE_AUTHORS, REBUILD_LOOKS_MAX};
use fanfold_core::message::RebuildFeed;
use fanfold_core::{PostId, Slice};
use serde::Serialize;
use utoipa::ToSchema;

use crate::config::{Config, ConfigError};
use crate::dynamo::{GraphStore, PostStore, PulledStore};
use crate::error::StoreError;
use crate::measure;
use crate::sqs::Queue;
use crate::valkey::{Feed, Held, Read, Valkey};
pub use followers::{Audience, Reached, push_to_followers};
pub use page::{Page, Span};
pub use reading::Reading;
pub use rebuild::Rebuilt;

/// Where a page comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The feed was live.
    Cache,
    /// The feed was rebuilt for this request.
    Rebuild,
    /// Merged for this request: below the floor of the feed, or while it is being rebuilt.
    Pull,
}

#[derive(Clone)]
pub struct Feeds {
    pub valkey: Valkey,
    pub posts: PostStore,
    pub graph: GraphStore,
    pub pulled: PulledStore,
    /// Where home feeds of many authors are rebuilt; without it, here and now.
    pub rebuilds: Option<Queue<RebuildFeed>>,
    /// Up to this many authors.
    pub inline_authors: usize,
}

impl Feeds {
    pub fn new(sdk: &SdkConfig, config: &Config) -> Result<Self, ConfigError> {
        Ok(Self {
            valkey: Valkey::new(sdk, &config.feeds()?)?,
            posts: PostStore::new(sdk, config)?,
            graph: GraphStore::new(sdk, config)?,
            pulled: PulledStore::new(sdk, config)?,
            rebuilds: None,
            inline_authors: REBUILD_INLINE_AUTHORS,
        })
    }

    /// The next posts of a feed that are older than `before`.
    pub async fn slice(
        &self,
        feed: Feed,
        before: PostId,
        count: usize,
        reading: &Reading,
    ) -> Result<(Slice, Source), StoreError> {
        let known = reading.ask(self.read_or_rebuild(feed, before, count, reading)).await?;
        let authors = match known {
            Some(Known::Is(Held { slice, pulled }, source)) if reaches(&slice) => {
                let slice = match pulled.is_empty() {
                    true => slice,
                    false => self.with_pulled(feed, slice, pulled, before, count, reading).await?,
                };
                return Ok((slice, source));
            }
            Some(Known::Authors(authors)) => authors,
            Some(Known::Is(..)) => {
                measure::floor_crossing();
                None
            }
            None => None,
        };
        let slice = match authors {
            Some(authors) => self.merge(authors, before, count, reading).await?,
            None => self.pull(feed, before, count, reading).await?,
        };
        Ok((slice, Source::Pull))
    }

    /// Reads a feed that is live; one that is not is rebuilt first, or will be.
    async fn read_or_rebuild(
        &self,
        feed: Feed,
        before: PostId,
        count: usize,
        reading: &Reading,
    ) -> Result<Known, StoreError> {
        let token = rebuild::new_token();
        let read = self.valkey.read_or_begin(feed, before, count, reading.now_ms, &token).await?;
        let rebuilt = match read {
            Read::Known(held) => return Ok(Known::Is(held, Source::Cache)),
            Read::Begun => self.go_on(feed, token, reading).await?,
            Read::Busy | Read::Unknown => Rebuilt::Elsewhere,
        };
        match rebuilt {
            Rebuilt::Queued(authors) => Ok(Known::Authors(Some(authors))),
            // what was put in it need not be read again
            Rebuilt::Done(Some(Held { slice, pulled })) => {
                Ok(Known::Is(Held { slice: slice.below(before, count), pulled }, Source::Rebuild))
            }
            Rebuilt::Done(None) => Ok(match self.read(feed, before, count, reading).await? {
                Some(held) => Known::Is(held, Source::Rebuild),
                None => Known::Authors(None),
            }),
            // many may come back at once, and one of them is enough
            Rebuilt::Elsewhere => {
                for looked in 0..REBUILD_LOOKS_MAX {
                    crate::clock::sleep(5 << looked).await;
                    if let Some(held) = self.read(feed, before, count, reading).await? {
                        return Ok(Known::Is(held, Source::Cache));
                    }
                }
                Ok(Known::Authors(None))
            }
        }
    }
}

/// Whether a live feed has anything to say below a place, or nothing more exists there.
fn reaches(slice: &Slice) -> bool {
    !slice.posts.is_empty() || slice.is_end()
}

/// What reading or rebuilding a feed led to.
enum Known {
    Is(Held, Source),
    /// Nothing may be shown yet; these are the authors to ask, if that is known.
    Authors(Option<Vec<fanfold_core::UserId>>),
}
