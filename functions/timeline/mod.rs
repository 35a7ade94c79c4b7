//! The function `timeline` answers pages of home, author, tag and public feeds, of rankings, and of exports.

mod export;
pub mod feed;
mod rankings;
mod tags;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use fanfold_core::registry::FunctionSpec;
use fanfold_core::{FeedId, FeedKind, TagHash, Time, UserRef};
use fanfold_engines::reading::ReadContext;
use fanfold_kinds::home::{self, Of};
use fanfold_kinds::present::Viewer;
use fanfold_kinds::{App, Error};
use fanfold_runtime::{StartError, clock};
use fanfold_web::problem::{NotFound, TooMany};
use fanfold_web::routes;
use fanfold_web::{Problem, Query, Viewing};
use utoipa_axum::router::OpenApiRouter;

use self::feed::{FeedList, FeedQuery, FeedView};
use crate::http::{Prepare, serve, stores};
use crate::views::people::UserPath;

pub(crate) async fn run(
    function: &'static FunctionSpec,
    prepare: Prepare,
) -> Result<(), StartError> {
    serve(function, routes(), stores, prepare).await
}

/// The routes of the function, with their descriptions.
pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(get_timeline))
        .routes(routes!(get_posts))
        .routes(routes!(public))
        .merge(export::routes())
        .merge(rankings::routes())
        .merge(tags::routes())
}

/// Reads a page of a user's author feed.
pub async fn author(
    app: &App,
    viewer: &Viewer,
    user: &UserRef,
    query: &FeedQuery,
    now: Time,
) -> Result<FeedView, Problem> {
    let reading = ReadContext::of(viewer.user, now);
    let feed = home::author_feed(app, viewer, user, &reading).await?;
    page(app, viewer, (&feed, Of::Feed(feed)), query, &reading).await
}

/// Reads a page of a home feed, or of a feed that everybody reads.
pub async fn read(
    app: &App,
    viewer: &Viewer,
    feed: FeedId,
    query: &FeedQuery,
    now: Time,
) -> Result<FeedView, Problem> {
    if feed.kind == FeedKind::Public && !app.settings.public.is_on() {
        return Err(Error::NoPublicFeed.into());
    }
    page(app, viewer, (&feed, Of::Feed(feed)), query, &ReadContext::of(viewer.user, now)).await
}

/// Reads a page of a list of posts.
async fn page(
    app: &App,
    viewer: &Viewer,
    (list, of): (&impl FeedList, Of<'_>),
    query: &FeedQuery,
    reading: &ReadContext,
) -> Result<FeedView, Problem> {
    let (limit, span) = (query.limit()?, query.span(list)?);
    let page = match query.is_pull()? {
        true => home::pulled_page(app, viewer, of, span, limit, reading.now).await?,
        false => home::page(app, viewer, of, span, limit, reading).await?,
    };
    Ok(FeedView::new(list, span, page))
}

/// Read the caller's home feed
#[utoipa::path(
    get, path = "/v1/timeline", operation_id = "timeline", tag = "feeds", params(FeedQuery),
    responses(
        (status = 200, description = "A page of the feed.", body = FeedView),
        NotFound, TooMany,
    ),
)]
async fn get_timeline(
    State(app): State<Arc<App>>,
    Viewing(viewer): Viewing,
    Query(query): Query<FeedQuery>,
) -> Result<Json<FeedView>, Problem> {
    let feed = FeedId::home(viewer.user);
    Ok(Json(read(&app, &viewer, feed, &query, clock::now()).await?))
}

/// Read the public feed
///
/// The posts of everybody, without replies, of the last days. The operator turns it on.
#[utoipa::path(
    get, path = "/v1/public", tag = "feeds", params(FeedQuery),
    responses(
        (status = 200, description = "A page of the feed.", body = FeedView),
        (status = 404, description = "There is no public feed, or the cursor does not exist."),
        TooMany,
    ),
)]
async fn public(
    State(app): State<Arc<App>>,
    Viewing(viewer): Viewing,
    Query(query): Query<FeedQuery>,
) -> Result<Json<FeedView>, Problem> {
    let feed = FeedId::tag(TagHash::PUBLIC);
    Ok(Json(read(&app, &viewer, feed, &query, clock::now()).await?))
}

/// Read an author feed
#[utoipa::path(
    get, path = "/v1/users/{user}/posts", operation_id = "posts", tag = "feeds",
    params(UserPath, FeedQuery),
    responses(
        (status = 200, description = "A page of the feed.", body = FeedView),
        NotFound, TooMany,
    ),
)]
async fn get_posts(
    State(app): State<Arc<App>>,
    Viewing(viewer): Viewing,
    UserPath { user }: UserPath,
    Query(query): Query<FeedQuery>,
) -> Result<Json<FeedView>, Problem> {
    Ok(Json(author(&app, &viewer, &user, &query, clock::now()).await?))
}
