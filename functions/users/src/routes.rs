//! The HTTP side of the function.

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use fanfold_core::Relation;
use fanfold_store::clock;
use fanfold_store::http::extract::ListQuery;
use fanfold_store::http::problem::{BadBody, BadRequest, Common, NotFound, ProblemBody};
use fanfold_store::http::view::{UserList, UserView};
use fanfold_store::http::{Caller, JsonBody, OPENAPI_JSON, Problem, Query, UserRef};
use serde::Deserialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::handler::{self, App};

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(put_me))
        .routes(routes!(get_user))
        .routes(routes!(follow, unfollow))
        .routes(routes!(followers))
        .routes(routes!(following))
        .routes(routes!(openapi))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewProfile {
    #[schema(pattern = "^[a-z0-9_]{1,30}$")]
    handle: String,
    /// 1 to 50 characters as a person counts them, after trimming.
    #[schema(min_length = 1)]
    name: String,
}

/// Make or change one's profile
#[utoipa::path(
    put, path = "/v1/me", tag = "users", security(("jwt" = [])), request_body = NewProfile,
    responses(
        (status = 200, description = "Changed.", body = UserView),
        (status = 201, description = "Made.", body = UserView),
        (status = 409, description = "The handle, or the caller's id, is somebody else's.",
            body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, body = ProblemBody, content_type = "application/problem+json"),
        BadBody,
        Common,
    ),
)]
async fn put_me(
    State(app): State<App>,
    caller: Caller,
    JsonBody(profile): JsonBody<NewProfile>,
) -> Result<impl IntoResponse, Problem> {
    let NewProfile { handle, name } = profile;
    let (made, profile) = handler::put_profile(&app, &caller.identity, &handle, &name).await?;
    let status = if made { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(UserView::from(profile))))
}

/// Read a profile
#[utoipa::path(
    get, path = "/v1/users/{user}", tag = "users", security(("jwt" = [])),
    params(("user" = String, Path, description = "An id, or @ and a handle.")),
    responses(
        (status = 200, body = UserView),
        BadRequest,
        NotFound,
        Common,
    ),
)]
async fn get_user(
    State(app): State<App>,
    _: Caller,
    user: UserRef,
) -> Result<Json<UserView>, Problem> {
    Ok(Json(handler::find(&app, &user).await?.into()))
}

/// Follow a user
#[utoipa::path(
    put, path = "/v1/users/{user}/follow", tag = "users", security(("jwt" = [])),
    params(("user" = String, Path, description = "An id, or @ and a handle.")),
    responses(
        (status = 204, description = "The caller follows the user, now or before."),
        (status = 409, description = "The caller has no profile.",
            body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "It is the caller, or the caller follows too many.",
            body = ProblemBody, content_type = "application/problem+json"),
        BadRequest,
        NotFound,
        Common,
    ),
)]
async fn follow(
    State(app): State<App>,
    caller: Caller,
    user: UserRef,
) -> Result<StatusCode, Problem> {
    let (relation, now_ms) = (Relation::Following, clock::now_ms());
    handler::relate(&app, &caller.identity, &user, relation, now_ms).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Unfollow a user
#[utoipa::path(
    delete, path = "/v1/users/{user}/follow", tag = "users", security(("jwt" = [])),
    params(("user" = String, Path, description = "An id, or @ and a handle.")),
    responses(
        (status = 204, description = "The caller does not follow the user, now or before."),
        (status = 409, description = "The caller has no profile.",
            body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "It is the caller.",
            body = ProblemBody, content_type = "application/problem+json"),
        BadRequest,
        NotFound,
        Common,
    ),
)]
async fn unfollow(
    State(app): State<App>,
    caller: Caller,
    user: UserRef,
) -> Result<StatusCode, Problem> {
    let (relation, now_ms) = (Relation::NotFollowing, clock::now_ms());
    handler::relate(&app, &caller.identity, &user, relation, now_ms).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// List a user's followers
#[utoipa::path(
    get, path = "/v1/users/{user}/followers", tag = "users", security(("jwt" = [])),
    params(("user" = String, Path, description = "An id, or @ and a handle."), ListQuery),
    responses(
        (status = 200, body = UserList),
        BadRequest,
        NotFound,
        Common,
    ),
)]
async fn followers(
    State(app): State<App>,
    _: Caller,
    user: UserRef,
    Query(query): Query<ListQuery>,
) -> Result<Json<UserList>, Problem> {
    Ok(Json(handler::followers(&app, &user, &query).await?))
}

/// List whom a user follows
#[utoipa::path(
    get, path = "/v1/users/{user}/following", tag = "users", security(("jwt" = [])),
    params(("user" = String, Path, description = "An id, or @ and a handle."), ListQuery),
    responses(
        (status = 200, body = UserList),
        BadRequest,
        NotFound,
        Common,
    ),
)]
async fn following(
    State(app): State<App>,
    _: Caller,
    user: UserRef,
    Query(query): Query<ListQuery>,
) -> Result<Json<UserList>, Problem> {
    Ok(Json(handler::following(&app, &user, &query).await?))
}

/// This specification
#[utoipa::path(
    get, path = "/openapi.json", tag = "specification",
    responses((status = 200, description = "OpenAPI 3.1.", content_type = "application/json")),
)]
async fn openapi() -> impl IntoResponse {
    let kept = (header::CACHE_CONTROL, "public, max-age=3600");
    ([(header::CONTENT_TYPE, "application/json"), kept], OPENAPI_JSON)
}
