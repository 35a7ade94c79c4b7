//! Editing posts, and their versions: the routes and their views.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::header::ETAG;
use axum::response::{IntoResponse as _, Response};
use fanfold_core::content::Data;
use fanfold_engines::reading::ReadContext;
use fanfold_kinds::App;
use fanfold_kinds::posts::items::Version;
use fanfold_kinds::posts::{self, PostEdit};
use fanfold_runtime::clock;
use fanfold_web::extract::{IfMatch, present};
use fanfold_web::problem::{NotFound, TooMany};
use fanfold_web::routes;
use fanfold_web::{Caller, JsonBody, Problem, ProblemKind, Viewing};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;

use crate::views::posts::{
    AttachmentView, EntityView, PostPath, PostView, etag, extras_change, text_schema,
};

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(edit)).routes(routes!(history))
}

/// The change of a post. A field that is missing stays; at least one is required.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(min_properties = 1)]
struct PostChange {
    #[serde(default, deserialize_with = "present")]
    #[schema(schema_with = text_schema, required = false)]
    text: Option<String>,
    /// The new data. Null: none.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<Object>)]
    data: Option<Option<Box<RawValue>>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(max_items = 8, nullable = false)]
    attachments: Option<Vec<AttachmentView>>,
}

/// All versions of a post.
#[derive(Debug, Serialize, ToSchema)]
struct PostHistory {
    /// The versions, newest first: at most 100.
    items: Vec<VersionView>,
}

/// A version of a post.
#[derive(Debug, Serialize, ToSchema)]
struct VersionView {
    /// The number. The first version is 1.
    version: u64,
    text: String,
    /// The mentions, tags and links in the text.
    entities: Vec<EntityView>,
    #[schema(required, value_type = Option<Object>)]
    data: Option<Data>,
    attachments: Vec<AttachmentView>,
    /// The time at which the version was written, in UTC, with milliseconds.
    #[schema(format = DateTime)]
    written_at: String,
}

impl From<Version> for VersionView {
    fn from(Version { number, text, entities, extras, written_at }: Version) -> Self {
        let entities = EntityView::all(&entities, &text);
        let (data, attachments) = (extras.data().cloned(), AttachmentView::all(&extras));
        let written_at = written_at.rfc3339();
        Self { version: number, text, entities, data, attachments, written_at }
    }
}

/// Edit the caller's own post
///
/// What the post was before stays in the history. Every reader sees the new version with the next request. A change to what the post
/// is already makes no new version.
#[utoipa::path(
    patch, path = "/v1/posts/{id}", tag = "posts",
    params(PostPath, ("If-Match" = Option<String>, Header, nullable = false, min_length = 3, max_length = 20,
        pattern = "^\"[0-9]{1,18}\"$",
        description = "The `ETag` of the version to edit, or a list of them. Without it, or with `*`, whichever version the post has.")),
    request_body = PostChange,
    responses(
        (status = 200, description = "The post.", body = PostView, headers(("ETag" = String))),
        (status = 403, description = "The post belongs to another user."),
        (status = 412, description = "The post has another version than `If-Match` names."),
        (status = 422, description = "The text, the data or an attachment is not allowed, or the post has 100 versions, or 60 tags in all of them."),
        (status = 409, description = "Another user has the same id."),
        NotFound, TooMany,
    ),
)]
async fn edit(
    State(app): State<Arc<App>>,
    caller: Caller,
    PostPath { id }: PostPath,
    IfMatch(versions): IfMatch,
    JsonBody(PostChange { text, data, attachments }): JsonBody<PostChange>,
) -> Result<Response, Problem> {
    let (only, now) = (versions.as_deref(), clock::now());
    if text.is_none() && data.is_none() && attachments.is_none() {
        let detail = "send text, data or attachments";
        return Err(Problem::new(ProblemKind::InvalidBody, detail));
    }
    let edit = PostEdit { text: text.as_deref(), extras: extras_change(data, attachments)? };
    let shown = posts::edit(&app, &caller.identity, id, edit, only, now).await?;
    let tag = [(ETAG, etag(&shown))];
    Ok((tag, Json(PostView::from(shown))).into_response())
}

/// Read the versions of a post
#[utoipa::path(
    get, path = "/v1/posts/{id}/history", tag = "posts",
    params(PostPath),
    responses(
        (status = 200, description = "The versions.", body = PostHistory),
        NotFound,
    ),
)]
async fn history(
    State(app): State<Arc<App>>,
    Viewing(viewer): Viewing,
    PostPath { id }: PostPath,
) -> Result<Json<PostHistory>, Problem> {
    let reading = ReadContext::new(clock::now());
    let versions = posts::history(&app, &viewer, id, &reading).await?;
    Ok(Json(PostHistory { items: versions.into_iter().map(VersionView::from).collect() }))
}
