//! The function `posts` publishes, reads and deletes single posts.

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use fanfold_app::posts::{self, Posts};
use fanfold_core::limits::TEXT_CHARS_MAX;
use fanfold_core::text::pattern;
use fanfold_runtime::{StartError, clock};
use fanfold_web::problem::{BadBody, BadRequest, Common, NotFound, ProblemBody, TooMany};
use fanfold_web::view::{DeliveryView, PostView};
use fanfold_web::{Caller, IdempotencyKey, JsonBody, PostPath, Problem, Viewing, shared_answers};
use serde::Deserialize;
use utoipa::ToSchema;
use utoipa::openapi::{RefOr, Schema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::http::{Prepare, serve};

pub(crate) async fn run(prepare: Prepare) -> Result<(), StartError> {
    serve(routes(), Posts::new, prepare).await
}

/// The routes of the function, with their descriptions.
pub fn routes() -> OpenApiRouter<Posts> {
    OpenApiRouter::new()
        .routes(routes!(publish))
        .routes(routes!(read, delete))
        .routes(routes!(delivery))
}

/// A post to publish.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewPost {
    #[schema(schema_with = text_schema)]
    text: String,
}

fn text_schema() -> RefOr<Schema> {
    let description = "1 to 500 characters as a person counts them, without the white space around them, and at most \
        4 KiB. The pattern counts code points, each with up to two accents, so it is slightly stricter.";
    shared_answers::text(description, pattern::post_text(), TEXT_CHARS_MAX)
}

/// Publish a post
#[utoipa::path(
    post, path = "/v1/posts", tag = "posts", security(("jwt" = [])),
    params(("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 255,
        pattern = "^[!-~]([ -~]{0,253}[!-~])?$", nullable = false,
        description = "Requests with the same key return the same post for 24 hours.")),
    request_body = NewPost,
    responses(
        (status = 201, body = PostView, headers(("Location" = String))),
        (status = 409, description = "The caller has no profile.",
            body = ProblemBody, content_type = "application/problem+json"),
        (status = 410, description = "The post that this key made was deleted.",
            body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "The text is not allowed, or the key was used with another body.",
            body = ProblemBody, content_type = "application/problem+json"),
        BadBody,
        TooMany,
        Common,
    ),
)]
async fn publish(
    State(app): State<Posts>,
    caller: Caller,
    IdempotencyKey(key): IdempotencyKey,
    JsonBody(post): JsonBody<NewPost>,
) -> Result<impl IntoResponse, Problem> {
    let (key, now) = (key.as_deref(), clock::now());
    let shown = posts::publish(&app, &caller.identity, &post.text, key, now).await?;
    let location = format!("/v1/posts/{}", shown.post.id);
    let view = PostView::from(shown);
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], Json(view)))
}

/// Read a post
#[utoipa::path(
    get, path = "/v1/posts/{id}", tag = "posts", security(("jwt" = [])),
    params(PostPath),
    responses(
        (status = 200, body = PostView),
        BadRequest,
        NotFound,
        Common,
    ),
)]
async fn read(
    State(app): State<Posts>,
    Viewing(viewer): Viewing,
    PostPath { id }: PostPath,
) -> Result<Json<PostView>, Problem> {
    Ok(Json(posts::read(&app, &viewer, id, clock::now()).await?.into()))
}

/// Read the delivery status of the caller's own post
#[utoipa::path(
    get, path = "/v1/posts/{id}/delivery", tag = "posts", security(("jwt" = [])),
    params(PostPath),
    responses(
        (status = 200, body = DeliveryView),
        (status = 403, description = "The post belongs to another user.",
            body = ProblemBody, content_type = "application/problem+json"),
        BadRequest,
        NotFound,
        Common,
    ),
)]
async fn delivery(
    State(app): State<Posts>,
    caller: Caller,
    PostPath { id }: PostPath,
) -> Result<Json<DeliveryView>, Problem> {
    let receipt = posts::delivery(&app, &caller.identity, id).await?;
    Ok(Json(DeliveryView::new(id, &receipt)))
}

/// Delete the caller's own post
#[utoipa::path(
    delete, path = "/v1/posts/{id}", tag = "posts", security(("jwt" = [])),
    params(PostPath),
    responses(
        (status = 204, description = "The post is deleted, now or by an earlier request."),
        (status = 403, description = "The post belongs to another user.",
            body = ProblemBody, content_type = "application/problem+json"),
        BadRequest,
        NotFound,
        TooMany,
        Common,
    ),
)]
async fn delete(
    State(app): State<Posts>,
    caller: Caller,
    PostPath { id }: PostPath,
) -> Result<StatusCode, Problem> {
    posts::delete(&app, &caller.identity, id, clock::now()).await?;
    Ok(StatusCode::NO_CONTENT)
}
