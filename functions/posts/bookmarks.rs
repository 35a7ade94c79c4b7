//! Bookmarks: the routes and their view.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use fanfold_engines::reading::ReadContext;
use fanfold_kinds::App;
use fanfold_kinds::marks::{self, MarkKind, MarkedBy};
use fanfold_runtime::clock;
use fanfold_web::problem::{NoProfile, NotFound, TooMany};
use fanfold_web::routes;
use fanfold_web::{Caller, ListQuery, Problem, Query, Viewing};
use utoipa_axum::router::OpenApiRouter;

use crate::views::list_view;
use crate::views::posts::{PostPath, PostView};

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(bookmark, remove_bookmark)).routes(routes!(bookmarks))
}

list_view! {
    /// A page of bookmarked posts.
    BookmarkList,
    /// The posts, newest bookmark first.
    PostView
}

/// Bookmark a post
#[utoipa::path(
    put, path = "/v1/posts/{id}/bookmark", tag = "bookmarks",
    params(PostPath),
    responses(
        (status = 204, description = "The caller has the bookmark, now or since an earlier request. Nobody else sees it."),
        NoProfile, NotFound, TooMany,
    ),
)]
async fn bookmark(
    State(app): State<Arc<App>>,
    caller: Caller,
    PostPath { id }: PostPath,
) -> Result<StatusCode, Problem> {
    marks::put(&app, &caller.identity, MarkKind::Bookmark, id, true, clock::now()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Remove a bookmark
#[utoipa::path(
    delete, path = "/v1/posts/{id}/bookmark", tag = "bookmarks",
    params(PostPath),
    responses(
        (status = 204, description = "The caller has no bookmark of the post, or never had one."),
        NoProfile, NotFound, TooMany,
    ),
)]
async fn remove_bookmark(
    State(app): State<Arc<App>>,
    caller: Caller,
    PostPath { id }: PostPath,
) -> Result<StatusCode, Problem> {
    marks::put(&app, &caller.identity, MarkKind::Bookmark, id, false, clock::now()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// List the caller's bookmarks, newest bookmark first
#[utoipa::path(
    get, path = "/v1/bookmarks", tag = "bookmarks", params(ListQuery<MarkedBy>),
    responses(
        (status = 200, description = "A page of posts.", body = BookmarkList),
        NotFound,
    ),
)]
async fn bookmarks(
    State(app): State<Arc<App>>,
    Viewing(viewer): Viewing,
    Query(query): Query<ListQuery<MarkedBy>>,
) -> Result<Json<BookmarkList>, Problem> {
    let list = MarkedBy(MarkKind::Bookmark, viewer.user);
    let (limit, after, reading) =
        (query.limit()?, query.after(&list)?, ReadContext::new(clock::now()));
    let page = marks::marked(&app, &viewer, MarkKind::Bookmark, after, limit, &reading).await?;
    Ok(Json(BookmarkList::new(&list, page)))
}
