//! The routes of likes.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use fanfold_core::ListId;
use fanfold_engines::reading::ReadContext;
use fanfold_kinds::{App, likes};
use fanfold_runtime::clock;
use fanfold_web::extract::{LikersQuery, LikesQuery};
use fanfold_web::problem::{BadRequest, Common, NotFound, ProblemBody, TooMany};
use fanfold_web::view::{LikedList, UserList};
use fanfold_web::{Caller, PostPath, Problem, Query, Viewing};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(like, unlike))
        .routes(routes!(likers))
        .routes(routes!(liked))
}

/// Like a post
#[utoipa::path(
    put, path = "/v1/posts/{id}/like", tag = "likes", security(("jwt" = [])),
    params(PostPath),
    responses(
        (status = 204, description = "The caller likes the post, now or since an earlier request."),
        (status = 409, description = "The caller has no profile.",
            body = ProblemBody, content_type = "application/problem+json"),
        BadRequest,
        NotFound,
        TooMany,
        Common,
    ),
)]
async fn like(
    State(app): State<Arc<App>>,
    caller: Caller,
    PostPath { id }: PostPath,
) -> Result<StatusCode, Problem> {
    likes::put(&app, &caller.identity, id, true, clock::now()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Take a like back
#[utoipa::path(
    delete, path = "/v1/posts/{id}/like", tag = "likes", security(("jwt" = [])),
    params(PostPath),
    responses(
        (status = 204, description = "The caller no longer likes the post, or never did."),
        (status = 409, description = "The caller has no profile.",
            body = ProblemBody, content_type = "application/problem+json"),
        BadRequest,
        NotFound,
        TooMany,
        Common,
    ),
)]
async fn unlike(
    State(app): State<Arc<App>>,
    caller: Caller,
    PostPath { id }: PostPath,
) -> Result<StatusCode, Problem> {
    likes::put(&app, &caller.identity, id, false, clock::now()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// List the users who like a post, newest like first
#[utoipa::path(
    get, path = "/v1/posts/{id}/likes", tag = "likes", security(("jwt" = [])),
    params(PostPath, LikersQuery),
    responses(
        (status = 200, description = "A page of users.", body = UserList),
        BadRequest,
        NotFound,
        Common,
    ),
)]
async fn likers(
    State(app): State<Arc<App>>,
    Viewing(viewer): Viewing,
    PostPath { id }: PostPath,
    Query(query): Query<LikersQuery>,
) -> Result<Json<UserList>, Problem> {
    let list = ListId::Likers(id);
    let (limit, after, reading) =
        (query.limit()?, query.after(id)?, ReadContext::new(clock::now()));
    let page = likes::likers(&app, &viewer, id, after, limit, &reading).await?;
    Ok(Json(UserList::new(list, page)))
}

/// List the posts that the caller likes, newest like first
#[utoipa::path(
    get, path = "/v1/likes", tag = "likes", security(("jwt" = [])), params(LikesQuery),
    responses(
        (status = 200, description = "A page of posts.", body = LikedList),
        BadRequest,
        NotFound,
        Common,
    ),
)]
async fn liked(
    State(app): State<Arc<App>>,
    Viewing(viewer): Viewing,
    Query(query): Query<LikesQuery>,
) -> Result<Json<LikedList>, Problem> {
    let (limit, after) = (query.limit()?, query.after(viewer.user)?);
    let reading = ReadContext::new(clock::now());
    let page = likes::liked(&app, &viewer, after, limit, &reading).await?;
    Ok(Json(LikedList::new(viewer.user, page)))
}
