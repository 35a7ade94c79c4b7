//! The function `posts` publishes, schedules, reads, likes and deletes single posts.

mod likes;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use fanfold_core::limits::TEXT_CHARS_MAX;
use fanfold_core::registry::FunctionSpec;
use fanfold_core::text::pattern;
use fanfold_kinds::App;
use fanfold_kinds::posts::{self};
use fanfold_kinds::scheduled::{self, NewScheduled, ScheduledEdit};
use fanfold_runtime::{StartError, clock};
use fanfold_web::extract::{Moment, ScheduledQuery, present};
use fanfold_web::problem::{BadBody, BadRequest, Common, NotFound, ProblemBody, TooMany};
use fanfold_web::view::{DeliveryView, PostView, ScheduledList, ScheduledView};
use fanfold_web::{
    Caller, IdempotencyKey, JsonBody, Kind, PostPath, Problem, Query, ScheduledPath, Viewing,
    shared_answers,
};
use serde::Deserialize;
use utoipa::ToSchema;
use utoipa::openapi::{RefOr, Schema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::http::{Prepare, serve, stores};

pub(crate) async fn run(
    function: &'static FunctionSpec,
    prepare: Prepare,
) -> Result<(), StartError> {
    serve(function, routes(), stores, prepare).await
}

/// The routes of the function, with their descriptions.
pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(publish))
        .routes(routes!(read, delete))
        .routes(routes!(delivery))
        .routes(routes!(list_scheduled))
        .routes(routes!(read_scheduled, change_scheduled, cancel_scheduled))
        .merge(likes::routes())
}

/// A post to publish.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewPost {
    #[schema(schema_with = text_schema)]
    text: String,
    /// The time of publication: RFC 3339 with a zone, at least a minute and at most 366 days ahead. Without it, the post is
    /// published at once.
    #[serde(default)]
    #[schema(value_type = Option<String>, format = DateTime)]
    publish_at: Option<Moment>,
}

/// The change of a scheduled post. A field that is missing stays; at least one is required.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(min_properties = 1)]
struct ScheduledChange {
    #[serde(default, deserialize_with = "present")]
    #[schema(schema_with = text_schema, required = false)]
    text: Option<String>,
    /// The new time of publication: RFC 3339 with a zone, at least a minute and at most 366 days ahead.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>, format = DateTime, nullable = false)]
    publish_at: Option<Moment>,
}

fn text_schema() -> RefOr<Schema> {
    let description = "1 to 500 characters as a person counts them, without the white space around them, and at most \
        4 KiB. A character of more than 12 code points is refused. The pattern counts code points, each with up to two \
        accents, so it is stricter otherwise.";
    shared_answers::text(description, pattern::post_text(), TEXT_CHARS_MAX)
}

/// Publish a post, now or at a time
#[utoipa::path(
    post, path = "/v1/posts", tag = "posts", security(("jwt" = [])),
    params(("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 255,
        pattern = "^[!-~]([ -~]{0,253}[!-~])?$", nullable = false,
        description = "Requests with the same key return the same post for 24 hours.")),
    request_body = NewPost,
    responses(
        (status = 201, description = "The post is published.",
            body = PostView, headers(("Location" = String))),
        (status = 202, description = "The post is scheduled: the body had `publish_at`.",
            body = ScheduledView, headers(("Location" = String))),
        (status = 409, description = "The caller has no profile.",
            body = ProblemBody, content_type = "application/problem+json"),
        (status = 410, description = "The post that this key made was deleted, or its scheduled post cancelled.",
            body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "The text or the time is not allowed, or too many posts of the caller wait, or the key \
            was used with another body.",
            body = ProblemBody, content_type = "application/problem+json"),
        BadBody,
        TooMany,
        Common,
    ),
)]
async fn publish(
    State(app): State<Arc<App>>,
    caller: Caller,
    IdempotencyKey(key): IdempotencyKey,
    JsonBody(post): JsonBody<NewPost>,
) -> Result<Response, Problem> {
    let (key, now) = (key.as_deref(), clock::now());
    if let Some(Moment(publish_at)) = post.publish_at {
        let new = NewScheduled { text: &post.text, publish_at, key };
        let item = scheduled::schedule(&app, &caller.identity, new, now).await?;
        let location = [(header::LOCATION, format!("/v1/scheduled/{}", item.id))];
        let view = Json(ScheduledView::from(item));
        return Ok((StatusCode::ACCEPTED, location, view).into_response());
    }
    let shown = posts::publish(&app, &caller.identity, &post.text, key, now).await?;
    let location = format!("/v1/posts/{}", shown.post.id);
    let view = PostView::from(shown);
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], Json(view)).into_response())
}

/// Read a post
#[utoipa::path(
    get, path = "/v1/posts/{id}", tag = "posts", security(("jwt" = [])),
    params(PostPath),
    responses(
        (status = 200, description = "The post.", body = PostView),
        BadRequest,
        NotFound,
        Common,
    ),
)]
async fn read(
    State(app): State<Arc<App>>,
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
        (status = 200, description = "How far the delivery is.", body = DeliveryView),
        (status = 403, description = "The post belongs to another user.",
            body = ProblemBody, content_type = "application/problem+json"),
        BadRequest,
        NotFound,
        Common,
    ),
)]
async fn delivery(
    State(app): State<Arc<App>>,
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
    State(app): State<Arc<App>>,
    caller: Caller,
    PostPath { id }: PostPath,
) -> Result<StatusCode, Problem> {
    posts::delete(&app, &caller.identity, id, clock::now()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// List the caller's scheduled posts, soonest first
#[utoipa::path(
    get, path = "/v1/scheduled", tag = "posts", security(("jwt" = [])), params(ScheduledQuery),
    responses(
        (status = 200, description = "A page of scheduled posts.", body = ScheduledList),
        BadRequest,
        NotFound,
        Common,
    ),
)]
async fn list_scheduled(
    State(app): State<Arc<App>>,
    caller: Caller,
    Query(query): Query<ScheduledQuery>,
) -> Result<Json<ScheduledList>, Problem> {
    let user = caller.user();
    let (limit, after) = (query.limit()?, query.after(user)?);
    let page = scheduled::list(&app, user, after, limit).await?;
    Ok(Json(ScheduledList::new(user, page)))
}

/// Read a scheduled post of the caller
///
/// A published one is found for seven days, and names its post.
#[utoipa::path(
    get, path = "/v1/scheduled/{id}", tag = "posts", security(("jwt" = [])),
    params(ScheduledPath),
    responses(
        (status = 200, description = "The scheduled post.", body = ScheduledView),
        BadRequest,
        NotFound,
        Common,
    ),
)]
async fn read_scheduled(
    State(app): State<Arc<App>>,
    caller: Caller,
    ScheduledPath { id }: ScheduledPath,
) -> Result<Json<ScheduledView>, Problem> {
    Ok(Json(scheduled::read(&app, &caller.identity, id).await?.into()))
}

/// Change the text or the time of a scheduled post of the caller
#[utoipa::path(
    patch, path = "/v1/scheduled/{id}", tag = "posts", security(("jwt" = [])),
    params(ScheduledPath),
    request_body = ScheduledChange,
    responses(
        (status = 200, description = "The scheduled post.", body = ScheduledView),
        (status = 409, description = "The post was published first. The detail names it.",
            body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "The text or the time is not allowed.",
            body = ProblemBody, content_type = "application/problem+json"),
        BadBody,
        NotFound,
        TooMany,
        Common,
    ),
)]
async fn change_scheduled(
    State(app): State<Arc<App>>,
    caller: Caller,
    ScheduledPath { id }: ScheduledPath,
    JsonBody(body): JsonBody<ScheduledChange>,
) -> Result<Json<ScheduledView>, Problem> {
    let publish_at = body.publish_at.map(|Moment(at)| at);
    let change = ScheduledEdit { text: body.text.as_deref(), publish_at };
    if change.text.is_none() && publish_at.is_none() {
        return Err(Problem::new(Kind::InvalidBody, "send text, publish_at or both"));
    }
    let item = scheduled::change(&app, &caller.identity, id, change, clock::now()).await?;
    Ok(Json(item.into()))
}

/// Cancel a scheduled post of the caller
#[utoipa::path(
    delete, path = "/v1/scheduled/{id}", tag = "posts", security(("jwt" = [])),
    params(ScheduledPath),
    responses(
        (status = 204, description = "The post is cancelled, now or by an earlier request."),
        (status = 409, description = "The post was published first. The detail names it.",
            body = ProblemBody, content_type = "application/problem+json"),
        BadRequest,
        NotFound,
        TooMany,
        Common,
    ),
)]
async fn cancel_scheduled(
    State(app): State<Arc<App>>,
    caller: Caller,
    ScheduledPath { id }: ScheduledPath,
) -> Result<StatusCode, Problem> {
    scheduled::cancel(&app, &caller.identity, id, clock::now()).await?;
    Ok(StatusCode::NO_CONTENT)
}
