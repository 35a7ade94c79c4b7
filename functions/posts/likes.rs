//! Likes: the routes and their views.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use fanfold_engines::reading::ReadContext;
use fanfold_kinds::App;
use fanfold_kinds::likes::{self, LikersOf};
use fanfold_kinds::marks::{self, MarkKind, MarkedBy};
use fanfold_runtime::clock;
use fanfold_web::problem::{NoProfile, NotFound, TooMany};
use fanfold_web::routes;
use fanfold_web::{Caller, ListQuery, Problem, Query, Viewing};
use utoipa_axum::router::OpenApiRouter;

use crate::views::list_view;
use crate::views::people::UserList;
use crate::views::posts::{PostPath, PostView};

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(like, unlike))
        .routes(routes!(likers))
        .routes(routes!(liked))
}

list_view! {
    /// A page of liked posts.
    LikedList,
    /// The posts, newest like first.
    PostView
}

/// Like a post
#[utoipa::path(
    put, path = "/v1/posts/{id}/like", tag = "likes",
    params(PostPath),
    responses(
        (status = 204, description = "The caller likes the post, now or since an earlier request."),
        NoProfile, NotFound, TooMany,
    ),
)]
async fn like(
    State(app): State<Arc<App>>,
    caller: Caller,
    PostPath { id }: PostPath,
) -> Result<StatusCode, Problem> {
    marks::put(&app, &caller.identity, MarkKind::Like, id, true, clock::now()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Take a like back
#[utoipa::path(
    delete, path = "/v1/posts/{id}/like", tag = "likes",
    params(PostPath),
    responses(
        (status = 204, description = "The caller no longer likes the post, or never did."),
        NoProfile, NotFound, TooMany,
    ),
)]
async fn unlike(
    State(app): State<Arc<App>>,
    caller: Caller,
    PostPath { id }: PostPath,
) -> Result<StatusCode, Problem> {
    marks::put(&app, &caller.identity, MarkKind::Like, id, false, clock::now()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// List the users who like a post, newest like first
#[utoipa::path(
    get, path = "/v1/posts/{id}/likes", tag = "likes",
    params(PostPath, ListQuery<LikersOf>),
    responses(
        (status = 200, description = "A page of users.", body = UserList),
        NotFound,
    ),
)]
async fn likers(
    State(app): State<Arc<App>>,
    Viewing(viewer): Viewing,
    PostPath { id }: PostPath,
    Query(query): Query<ListQuery<LikersOf>>,
) -> Result<Json<UserList>, Problem> {
    let list = LikersOf(id);
    let (limit, after, reading) =
        (query.limit()?, query.after(&list)?, ReadContext::new(clock::now()));
    let page = likes::likers(&app, &viewer, id, after, limit, &reading).await?;
    Ok(Json(UserList::new(&list, page)))
}

/// List the posts that the caller likes, newest like first
#[utoipa::path(
    get, path = "/v1/likes", tag = "likes", params(ListQuery<MarkedBy>),
    responses(
        (status = 200, description = "A page of posts.", body = LikedList),
        NotFound,
    ),
)]
async fn liked(
    State(app): State<Arc<App>>,
    Viewing(viewer): Viewing,
    Query(query): Query<ListQuery<MarkedBy>>,
) -> Result<Json<LikedList>, Problem> {
    let list = MarkedBy(MarkKind::Like, viewer.user);
    let (limit, after) = (query.limit()?, query.after(&list)?);
    let reading = ReadContext::new(clock::now());
    let page = marks::marked(&app, &viewer, MarkKind::Like, after, limit, &reading).await?;
    Ok(Json(LikedList::new(&list, page)))
}
