//! The function `posts` publishes, schedules, reads, marks and deletes single posts, and follows tags.

mod bookmarks;
mod delivery;
mod edits;
mod likes;
mod replies;
mod scheduled;
mod tags;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use fanfold_core::PostId;
use fanfold_core::registry::FunctionSpec;
use fanfold_kinds::posts::extras::Extras;
use fanfold_kinds::posts::{self, NewPost};
use fanfold_kinds::scheduled::{NewScheduled, schedule};
use fanfold_kinds::{App, Error};
use fanfold_runtime::{StartError, clock};
use fanfold_web::extract::TimeText;
use fanfold_web::problem::{NoProfile, NotFound, TooMany};
use fanfold_web::routes;
use fanfold_web::{Caller, IdempotencyKey, JsonBody, Problem, Viewing};
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;

use self::scheduled::ScheduledView;
use crate::http::{Prepare, serve, stores};
use crate::views::posts::{AttachmentView, PostPath, PostView, etag, extras_change, text_schema};

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
        .merge(edits::routes())
        .merge(delivery::routes())
        .merge(scheduled::routes())
        .merge(replies::routes())
        .merge(likes::routes())
        .merge(bookmarks::routes())
        .merge(tags::routes())
}

/// A post to publish.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewPost)]
struct NewPostBody {
    #[schema(schema_with = text_schema)]
    text: String,
    /// The id of the post that this one answers. It must be there; for a scheduled post, also at the time of publication.
    #[serde(default)]
    #[schema(value_type = Option<String>, pattern = "^[0-7][0-9A-HJKMNP-TV-Z]{25}$", min_length = 26, max_length = 26)]
    in_reply_to: Option<PostId>,
    /// A JSON object of the app. It is returned as it was sent. With the attachments, it has at most 8 KiB of JSON without white space.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    data: Option<Box<RawValue>>,
    #[serde(default)]
    #[schema(max_items = 8)]
    attachments: Vec<AttachmentView>,
    /// The time of publication: RFC 3339 with a zone, at least a minute and at most 366 days ahead. Without it, the post is
    /// published at once.
    #[serde(default)]
    #[schema(value_type = Option<String>, format = DateTime)]
    publish_at: Option<TimeText>,
}

/// Publish a post, now or at a time
#[utoipa::path(
    post, path = "/v1/posts", tag = "posts",
    params(("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 255,
        pattern = "^[!-~]([ -~]{0,253}[!-~])?$", nullable = false,
        description = "Requests with the same key return the same post for 24 hours.")),
    request_body = NewPostBody,
    responses(
        (status = 201, description = "The post is published.",
            body = PostView, headers(("Location" = String), ("ETag" = String))),
        (status = 202, description = "The post is scheduled: the body had `publish_at`.",
            body = ScheduledView, headers(("Location" = String))),
        NoProfile,
        (status = 404, description = "The answered post does not exist, or was deleted."),
        (status = 410, description = "The post that this key made was deleted, or its scheduled post cancelled."),
        (status = 422, description = "The text, the data, an attachment or the time is not allowed, or too many posts of the caller wait, or the key \
            was used with another body."),
        TooMany,
    ),
)]
async fn publish(
    State(app): State<Arc<App>>,
    caller: Caller,
    IdempotencyKey(key): IdempotencyKey,
    JsonBody(post): JsonBody<NewPostBody>,
) -> Result<Response, Problem> {
    let (key, now) = (key.as_deref(), clock::now());
    let extras = extras_change(Some(post.data), Some(post.attachments))?;
    let extras = &Extras::NONE.changed(&extras).map_err(Error::from)?;
    let new = NewPost { text: &post.text, in_reply_to: post.in_reply_to, extras };
    if let Some(TimeText(publish_at)) = post.publish_at {
        let new = NewScheduled { post: new, publish_at, key };
        let item = schedule(&app, &caller.identity, new, now).await?;
        let location = [(header::LOCATION, format!("/v1/scheduled/{}", item.id))];
        let view = Json(ScheduledView::from(item));
        return Ok((StatusCode::ACCEPTED, location, view).into_response());
    }
    let shown = posts::publish(&app, &caller.identity, new, key, now).await?;
    let location = format!("/v1/posts/{}", shown.post.id);
    let headers = [(header::LOCATION, location), (header::ETAG, etag(&shown))];
    Ok((StatusCode::CREATED, headers, Json(PostView::from(shown))).into_response())
}

/// Read a post
#[utoipa::path(
    get, path = "/v1/posts/{id}", tag = "posts",
    params(PostPath),
    responses(
        (status = 200, description = "The post.", body = PostView, headers(("ETag" = String))),
        NotFound,
    ),
)]
async fn read(
    State(app): State<Arc<App>>,
    Viewing(viewer): Viewing,
    PostPath { id }: PostPath,
) -> Result<Response, Problem> {
    let shown = posts::read(&app, &viewer, id, clock::now()).await?;
    let tag = [(header::ETAG, etag(&shown))];
    Ok((tag, Json(PostView::from(shown))).into_response())
}

/// Delete the caller's own post
#[utoipa::path(
    delete, path = "/v1/posts/{id}", tag = "posts",
    params(PostPath),
    responses(
        (status = 204, description = "The post is deleted, now or by an earlier request."),
        (status = 403, description = "The post belongs to another user."),
        NotFound, TooMany,
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
