//! The HTTP side of the function.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::IntoResponse;
use fanfold_store::clock;
use fanfold_store::http::problem::{BadBody, BadRequest, Common, NotFound, ProblemBody};
use fanfold_store::http::view::{DeliveryView, PostView};
use fanfold_store::http::{Caller, JsonBody, PostRef, Problem};
use serde::Deserialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::handler::{self, App};

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(publish))
        .routes(routes!(read, delete))
        .routes(routes!(delivery))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewPost {
    /// 1 to 500 characters as a person counts them, after trimming, and at most 4 KiB.
    #[schema(min_length = 1)]
    text: String,
}

/// Publish a post
#[utoipa::path(
    post, path = "/v1/posts", tag = "posts", security(("jwt" = [])),
    params(("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 255,
        description = "For 24 hours the same key gives the same post, never a second one.")),
    request_body = NewPost,
    responses(
        (status = 201, body = PostView, headers(("Location" = String))),
        (status = 409, description = "The caller has no profile.",
            body = ProblemBody, content_type = "application/problem+json"),
        (status = 410, description = "The post that this key made was deleted.",
            body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "The text cannot be taken, or the key was used with another body.",
            body = ProblemBody, content_type = "application/problem+json"),
        BadBody,
        Common,
    ),
)]
async fn publish(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    JsonBody(post): JsonBody<NewPost>,
) -> Result<impl IntoResponse, Problem> {
    let key = handler::request_key(&headers, caller.user(), &post.text)?;
    let (post, author) =
        handler::publish(&app, &caller.identity, &post.text, key, clock::now_ms()).await?;
    let location = format!("/v1/posts/{}", post.id);
    let view = PostView::new(post, &author);
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], Json(view)))
}

/// Read a post
#[utoipa::path(
    get, path = "/v1/posts/{id}", tag = "posts", security(("jwt" = [])),
    params(("id" = String, Path)),
    responses(
        (status = 200, body = PostView),
        BadRequest,
        NotFound,
        Common,
    ),
)]
async fn read(
    State(app): State<App>,
    _: Caller,
    PostRef(id): PostRef,
) -> Result<Json<PostView>, Problem> {
    let (post, author) = handler::read(&app, id).await?;
    Ok(Json(PostView::new(post, &author)))
}

/// How far the fan-out of a post of one's own got
#[utoipa::path(
    get, path = "/v1/posts/{id}/delivery", tag = "posts", security(("jwt" = [])),
    params(("id" = String, Path)),
    responses(
        (status = 200, body = DeliveryView),
        (status = 403, body = ProblemBody, content_type = "application/problem+json"),
        BadRequest,
        NotFound,
        Common,
    ),
)]
async fn delivery(
    State(app): State<App>,
    caller: Caller,
    PostRef(id): PostRef,
) -> Result<Json<DeliveryView>, Problem> {
    let receipt = handler::delivery(&app, &caller.identity, id).await?;
    Ok(Json(DeliveryView::new(id, &receipt)))
}

/// Delete a post of one's own
#[utoipa::path(
    delete, path = "/v1/posts/{id}", tag = "posts", security(("jwt" = [])),
    params(("id" = String, Path)),
    responses(
        (status = 204, description = "It is deleted, now or before."),
        (status = 403, body = ProblemBody, content_type = "application/problem+json"),
        BadRequest,
        NotFound,
        Common,
    ),
)]
async fn delete(
    State(app): State<App>,
    caller: Caller,
    PostRef(id): PostRef,
) -> Result<StatusCode, Problem> {
    handler::delete(&app, &caller.identity, id, clock::now_ms()).await?;
    Ok(StatusCode::NO_CONTENT)
}
