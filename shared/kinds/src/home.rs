//! Timelines: pages of home and author feeds.

use crate::cards::PostCards;
use crate::feeds::{Feeds, PullBudget, ReadContext};
use crate::likes::items::LikeStore;
use crate::people::items::UserStore;
use fanfold_core::limits::PULL_QUERIES_MIN;
use fanfold_core::{FeedId, Time, UserRef};
use fanfold_engines::valkey::{WriteKind, WriteLimit};
use fanfold_runtime::aws::SdkConfig;
use fanfold_runtime::log::Chain;
use fanfold_runtime::{Config, StartError};
use futures::future::ready;

use crate::limit::all_within_limit;
use crate::present::{self, Page, Span, Viewer, feed_page};
use crate::{Error, orders};

/// The stores of the use cases of timelines.
#[derive(Clone)]
pub struct Timeline {
    pub cards: PostCards,
    pub feeds: Feeds,
    /// The limit of queries of pages that are pulled on purpose.
    pub pulls: WriteLimit,
}

impl Timeline {
    /// Makes the clients from the settings. An error names the setting that is missing or malformed.
    pub fn new(sdk: &SdkConfig, config: &Config) -> Result<Self, StartError> {
        let mut feeds = Feeds::new(sdk, config)?;
        feeds.rebuilds = Some(orders::queue(sdk, config)?);
        // one client of each store serves both
        let (users, likes) = (UserStore::new(sdk, config)?, LikeStore::new(sdk, config)?);
        let cards = PostCards::over(&feeds.valkey, &users, &feeds.posts, &likes);
        let pulls = WriteLimit::read(config, WriteKind::Pull)?;
        feeds.budget = Some(PullBudget { users, limit: pulls });
        Ok(Self { cards, feeds, pulls })
    }
}

/// Reads a page of a feed, as `viewer` sees it: up to `limit` posts of `span`, newest first. Fails with [`Error::TooManyWrites`]
/// if it is below the floor of the home feed, and the viewer has pulled too much.
pub async fn page(
    app: &Timeline,
    viewer: &Viewer,
    feed: FeedId,
    span: Span,
    limit: usize,
    reading: &ReadContext,
) -> Result<Page, Error> {
    feed_page(&app.feeds, &app.cards, viewer, feed, span, limit, reading).await
}

/// Computes a page from DynamoDB on purpose, without Valkey, to compare it with [`page`]. Fails with [`Error::TooManyWrites`] if the
/// viewer has pulled too much.
pub async fn pulled_page(
    app: &Timeline,
    viewer: &Viewer,
    feed: FeedId,
    span: Span,
    limit: usize,
    now: Time,
) -> Result<Page, Error> {
    let (valkey, checked) = (&app.feeds.valkey, ready(Ok::<_, Error>(())));
    // mutation: pull-limit
    all_within_limit(valkey, app.pulls, viewer.user, 0, now, checked).await?;
    let reading = ReadContext::without_valkey(now);
    let page = page(app, viewer, feed, span, limit, &reading).await;
    let queries = reading.queries().max(PULL_QUERIES_MIN);
    if let Err(error) = valkey.charge(app.pulls, viewer.user, queries, now).await {
        tracing::warn!(error = %Chain(&error), "the queries of a page were not counted");
    }
    page
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
