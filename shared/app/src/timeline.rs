//! Timelines: pages of home and author feeds.

use fanfold_core::registry::REBUILDS;
use fanfold_core::{FeedId, Time, UserRef};
use fanfold_runtime::aws::SdkConfig;
use fanfold_runtime::sqs::Queue;
use fanfold_runtime::{Config, StartError};
use fanfold_store::cards::PostCards;
use fanfold_store::dynamo::{LikeStore, UserStore};
use fanfold_store::feeds::{Feeds, ReadContext};
use fanfold_store::valkey::{WriteKind, WriteLimit};
use futures::future::ready;

use crate::Error;
use crate::limit::within_limit;
use crate::present::{self, Page, Span, Viewer, feed_page};

/// The stores of the use cases of timelines.
#[derive(Clone)]
pub struct Timeline {
    pub cards: PostCards,
    pub feeds: Feeds,
    /// The limit of pages that are pulled on purpose.
    pub pulls: WriteLimit,
}

impl Timeline {
    /// Makes the clients from the settings. An error names the setting that is missing or malformed.
    pub fn new(sdk: &SdkConfig, config: &Config) -> Result<Self, StartError> {
        let mut feeds = Feeds::new(sdk, config)?;
        feeds.rebuilds = Some(Queue::new(sdk, config, REBUILDS)?);
        // one client of each store serves both
        let (users, likes) = (UserStore::new(sdk, config)?, LikeStore::new(sdk, config)?);
        let cards = PostCards::over(&feeds.valkey, &users, &feeds.posts, &likes);
        Ok(Self { cards, feeds, pulls: WriteLimit::read(config, WriteKind::Pull)? })
    }
}

/// Reads a page of a feed, as `viewer` sees it: up to `limit` posts of `span`, newest first.
pub async fn page(
    app: &Timeline,
    viewer: &Viewer,
    feed: FeedId,
    span: Span,
    limit: usize,
    reading: &ReadContext,
) -> Result<Page, Error> {
    Ok(feed_page(&app.feeds, &app.cards, viewer, feed, span, limit, reading).await?)
}

/// Computes a page from DynamoDB on purpose, without Valkey, to compare it with [`page`]. Fails with [`Error::TooManyWrites`] if the
/// viewer has read too many such pages.
pub async fn pulled_page(
    app: &Timeline,
    viewer: &Viewer,
    feed: FeedId,
    span: Span,
    limit: usize,
    now: Time,
) -> Result<Page, Error> {
    // counted before the read, which is what costs
    let counted = ready(Ok::<_, Error>(()));
    // mutation: pull-limit
    within_limit(&app.feeds.valkey, app.pulls, viewer.user, now, counted).await?;
    page(app, viewer, feed, span, limit, &ReadContext::without_valkey(now)).await
}

/// Finds the author feed of a user. Fails with [`Error::NoSuchUser`] if there is no profile, or the user is hidden from
/// the viewer.
pub async fn author_feed(
    app: &Timeline,
    viewer: &Viewer,
    user: &UserRef,
    reading: &ReadContext,
) -> Result<FeedId, Error> {
    let author = present::user(&app.cards.users, viewer, user, reading).await?;
    Ok(FeedId::author(author.id))
}
