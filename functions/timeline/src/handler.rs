//! Decides which part of a feed a request sees.

use std::error::Error;

use fanfold_core::{Cursor, CursorError, ListKind, PostId, UserId};
use fanfold_store::Config;
use fanfold_store::aws::SdkConfig;
use fanfold_store::dynamo::UserStore;
use fanfold_store::feeds::{Feeds, Span};
use fanfold_store::http::extract::FeedQuery;
use fanfold_store::http::view::FeedView;
use fanfold_store::http::{Kind, Problem, UserRef};
use fanfold_store::sqs::Queue;
use fanfold_store::valkey::{Feed, FeedKind};

#[derive(Clone)]
pub struct App {
    pub users: UserStore,
    pub feeds: Feeds,
}

impl App {
    pub fn new(sdk: &SdkConfig, config: &Config) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let mut feeds = Feeds::new(sdk, config)?;
        feeds.rebuilds = Some(Queue::new(sdk, config, "REBUILDS_QUEUE_URL")?);
        Ok(Self { users: UserStore::new(sdk, config)?, feeds })
    }
}

/// A page of the caller's home feed.
pub async fn home(
    app: &App,
    caller: UserId,
    query: &FeedQuery,
    now_ms: u64,
) -> Result<FeedView, Problem> {
    page(app, Feed::home(caller), query, now_ms).await
}

/// A page of an author feed.
pub async fn author(
    app: &App,
    user: &UserRef,
    query: &FeedQuery,
    now_ms: u64,
) -> Result<FeedView, Problem> {
    let profile = app.users.find(user).await?;
    let profile = profile.ok_or_else(|| Problem::no_such_user(user))?;
    page(app, Feed::author(profile.id), query, now_ms).await
}

async fn page(app: &App, feed: Feed, query: &FeedQuery, now_ms: u64) -> Result<FeedView, Problem> {
    let (limit, span) = (query.limit()?, span(feed, query)?);
    let page = app.feeds.page(feed, span, limit, now_ms).await?;
    Ok(FeedView::of(&app.users, feed, span, page).await?)
}

fn span(feed: Feed, query: &FeedQuery) -> Result<Span, Problem> {
    let place = |text: &str| {
        let kind = match feed.kind {
            FeedKind::Home => ListKind::Home,
            FeedKind::Author => ListKind::Author,
        };
        match Cursor::decode(text, kind, feed.user)? {
            Cursor::Feed { before, after } => Ok(Span { before, after }),
            Cursor::User { .. } => Err(CursorError::Foreign),
        }
    };
    match (&query.cursor, &query.newer_than) {
        (None, None) => Ok(Span::ALL),
        (Some(cursor), None) => Ok(place(cursor)?),
        (None, Some(newest)) => Ok(Span { before: PostId::MAX, after: place(newest)?.before }),
        (Some(_), Some(_)) => {
            Err(Problem::new(Kind::InvalidParameter, "give cursor or newer_than, not both"))
        }
    }
}
