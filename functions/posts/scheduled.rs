//! Scheduled posts: the routes and their views.

use std::sync::Arc;

use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use fanfold_core::ScheduledId;
use fanfold_core::content::Data;
use fanfold_kinds::App;
use fanfold_kinds::scheduled::items::{Scheduled, ScheduledState};
use fanfold_kinds::scheduled::{self, ScheduledEdit, ScheduledOf};
use fanfold_runtime::clock;
use fanfold_web::extract::{TimeText, present, segment};
use fanfold_web::problem::{NotFound, TooMany};
use fanfold_web::routes;
use fanfold_web::{Caller, JsonBody, ListQuery, Problem, ProblemKind, Query};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;

use crate::views::list_view;
use crate::views::posts::{AttachmentView, extras_change, text_schema};

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(list_scheduled)).routes(routes!(
        read_scheduled,
        change_scheduled,
        cancel_scheduled
    ))
}

/// The scheduled post in a path. Refuses another form (400).
#[derive(Debug, Clone, Copy, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct ScheduledPath {
    /// The id of a scheduled post.
    #[param(value_type = String, pattern = "^[0-7][0-9A-HJKMNP-TV-Z]{25}$", min_length = 26, max_length = 26)]
    pub id: ScheduledId,
}

impl<S: Send + Sync> FromRequestParts<S> for ScheduledPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        Ok(Self { id: segment(parts, state).await? })
    }
}

/// The change of a scheduled post. A field that is missing stays; at least one is required.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(min_properties = 1)]
struct ScheduledChange {
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
    /// The new time of publication: RFC 3339 with a zone, at least a minute and at most 366 days ahead.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>, format = DateTime, nullable = false)]
    publish_at: Option<TimeText>,
}

/// A scheduled post.
#[derive(Debug, Serialize, ToSchema)]
pub struct ScheduledView {
    #[schema(pattern = "^[0-7][0-9A-HJKMNP-TV-Z]{25}$")]
    pub id: String,
    pub state: ScheduledStateView,
    /// The text. Empty after the publication: read the post.
    pub text: String,
    /// The id of the post that it answers. It is not published if that post is gone at its time.
    #[schema(required, pattern = "^[0-7][0-9A-HJKMNP-TV-Z]{25}$")]
    pub in_reply_to: Option<String>,
    #[schema(required, value_type = Option<Object>)]
    pub data: Option<Data>,
    pub attachments: Vec<AttachmentView>,
    /// The time of publication in UTC, with milliseconds.
    #[schema(format = DateTime)]
    pub publish_at: String,
    /// Why the post failed. Null: it did not.
    #[schema(required)]
    pub reason: Option<ScheduledReason>,
    /// The id of the post. Null before the publication.
    #[schema(required, pattern = "^[0-7][0-9A-HJKMNP-TV-Z]{25}$")]
    pub post: Option<String>,
}

/// Why a scheduled post failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScheduledReason {
    /// The post that it answers was gone at its time.
    AnsweredPostGone,
}

/// The state of a scheduled post.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = ScheduledState)]
#[serde(rename_all = "snake_case")]
pub enum ScheduledStateView {
    /// The post waits for its time.
    Waiting,
    /// The post was published.
    Published,
    /// The post was not published.
    Failed,
}

impl From<Scheduled> for ScheduledView {
    fn from(item: Scheduled) -> Self {
        let (state, post) = match item.state {
            ScheduledState::Published => {
                (ScheduledStateView::Published, Some(item.post.to_string()))
            }
            ScheduledState::Failed => (ScheduledStateView::Failed, None),
            ScheduledState::Waiting | ScheduledState::Cancelled => {
                (ScheduledStateView::Waiting, None)
            }
        };
        let publish_at = item.publish_at.rfc3339();
        let in_reply_to = item.in_reply_to.map(|id| id.to_string());
        let failed = state == ScheduledStateView::Failed;
        let reason = failed.then_some(ScheduledReason::AnsweredPostGone);
        let (data, attachments) = (item.extras.data().cloned(), AttachmentView::all(&item.extras));
        let (id, text) = (item.id.to_string(), item.text);
        Self { id, state, text, in_reply_to, data, attachments, publish_at, reason, post }
    }
}

list_view! {
    /// A page of scheduled posts.
    ScheduledList,
    /// The scheduled posts, soonest first.
    ScheduledView
}

/// List the caller's scheduled posts, soonest first
#[utoipa::path(
    get, path = "/v1/scheduled", tag = "posts", params(ListQuery<ScheduledOf>),
    responses(
        (status = 200, description = "A page of scheduled posts.", body = ScheduledList),
        NotFound,
    ),
)]
async fn list_scheduled(
    State(app): State<Arc<App>>,
    caller: Caller,
    Query(query): Query<ListQuery<ScheduledOf>>,
) -> Result<Json<ScheduledList>, Problem> {
    let list = ScheduledOf(caller.user());
    let (limit, after) = (query.limit()?, query.after(&list)?);
    let page = scheduled::list(&app, list.0, after, limit).await?;
    Ok(Json(ScheduledList::new(&list, page)))
}

/// Read a scheduled post of the caller
///
/// One that was published is found for seven days, and names its post. So is one that failed, with its text.
#[utoipa::path(
    get, path = "/v1/scheduled/{id}", tag = "posts",
    params(ScheduledPath),
    responses(
        (status = 200, description = "The scheduled post.", body = ScheduledView),
        NotFound,
    ),
)]
async fn read_scheduled(
    State(app): State<Arc<App>>,
    caller: Caller,
    ScheduledPath { id }: ScheduledPath,
) -> Result<Json<ScheduledView>, Problem> {
    Ok(Json(scheduled::read(&app, &caller.identity, id).await?.into()))
}

/// Change the content or the time of a scheduled post of the caller
#[utoipa::path(
    patch, path = "/v1/scheduled/{id}", tag = "posts",
    params(ScheduledPath),
    request_body = ScheduledChange,
    responses(
        (status = 200, description = "The scheduled post.", body = ScheduledView),
        (status = 409, description = "The post was published first, and the detail names it; or it failed."),
        (status = 422, description = "The text, the data, an attachment or the time is not allowed."),
        NotFound, TooMany,
    ),
)]
async fn change_scheduled(
    State(app): State<Arc<App>>,
    caller: Caller,
    ScheduledPath { id }: ScheduledPath,
    JsonBody(body): JsonBody<ScheduledChange>,
) -> Result<Json<ScheduledView>, Problem> {
    let publish_at = body.publish_at.map(|TimeText(at)| at);
    let extras = extras_change(body.data, body.attachments)?;
    if body.text.is_none() && publish_at.is_none() && extras.is_empty() {
        let detail = "send text, data, attachments or publish_at";
        return Err(Problem::new(ProblemKind::InvalidBody, detail));
    }
    let change = ScheduledEdit { text: body.text.as_deref(), extras, publish_at };
    let item = scheduled::change(&app, &caller.identity, id, change, clock::now()).await?;
    Ok(Json(item.into()))
}

/// Cancel a scheduled post of the caller, or remove one that failed
#[utoipa::path(
    delete, path = "/v1/scheduled/{id}", tag = "posts",
    params(ScheduledPath),
    responses(
        (status = 204, description = "The post is cancelled or removed, now or by an earlier request."),
        (status = 409, description = "The post was published first. The detail names it."),
        NotFound, TooMany,
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
