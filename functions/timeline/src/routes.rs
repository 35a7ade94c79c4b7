//! The HTTP side of the function.

use axum::Json;
use axum::extract::State;
use fanfold_store::clock;
use fanfold_store::http::extract::FeedQuery;
use fanfold_store::http::problem::{BadRequest, Common, NotFound};
use fanfold_store::http::view::FeedView;
use fanfold_store::http::{Caller, Problem, Query, UserRef};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::handler::{self, App};

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(timeline)).routes(routes!(posts))
}

/// Read one's home feed
#[utoipa::path(
    get, path = "/v1/timeline", tag = "feeds", security(("jwt" = [])), params(FeedQuery),
    responses(
        (status = 200, body = FeedView),
        BadRequest,
        Common,
    ),
)]
async fn timeline(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<FeedQuery>,
) -> Result<Json<FeedView>, Problem> {
    Ok(Json(handler::home(&app, caller.user(), &query, clock::now_ms()).await?))
}

/// Read an author feed
#[utoipa::path(
    get, path = "/v1/users/{user}/posts", tag = "feeds", security(("jwt" = [])),
    params(("user" = String, Path, description = "An id, or @ and a handle."), FeedQuery),
    responses(
        (status = 200, body = FeedView),
        BadRequest,
        NotFound,
        Common,
    ),
)]
async fn posts(
    State(app): State<App>,
    _: Caller,
    user: UserRef,
    Query(query): Query<FeedQuery>,
) -> Result<Json<FeedView>, Problem> {
    Ok(Json(handler::author(&app, &user, &query, clock::now_ms()).await?))
}
