//! The function `timers` puts, lists, reads and deletes timers.

mod view;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use fanfold_core::Every;
use fanfold_core::limits::TIMER_PAYLOAD_DEPTH_MAX;
use fanfold_core::registry::FunctionSpec;
use fanfold_kinds::App;
use fanfold_kinds::timers::{self, NewTimer, TimersOf};
use fanfold_runtime::{StartError, clock};
use fanfold_web::extract::TimeText;
use fanfold_web::problem::{NoProfile, NotFound, TooMany};
use fanfold_web::routes;
use fanfold_web::{Caller, JsonBody, ListQuery, Problem, ProblemKind, Query};
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;

use self::view::{TimerList, TimerPath, TimerView};
use crate::http::{Prepare, serve, stores};

pub(crate) async fn run(
    function: &'static FunctionSpec,
    prepare: Prepare,
) -> Result<(), StartError> {
    serve(function, routes(), stores, prepare).await
}

/// The routes of the function, with their descriptions.
pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(read, put, delete))
}

/// A timer to put.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewTimer)]
struct TimerBody {
    /// The time from which the timer is due: RFC 3339 with a zone, at most 366 days ahead. A time in the past means
    /// now; with `every`, the next of the times that follow it.
    #[schema(value_type = String, format = DateTime)]
    due_at: TimeText,
    /// The time between two occurrences: an ISO 8601 duration of weeks, days, hours, minutes and seconds, from a minute to
    /// 366 days. Without it, there is one occurrence.
    #[serde(default)]
    #[schema(value_type = Option<String>, pattern = "^P[0-9WDTHMS]{2,20}$", max_length = 21)]
    every: Option<Every>,
    /// Any JSON of at most 4 KiB, with at most 120 arrays and objects inside each other. It is part of the message that is sent when the timer is due.
    #[serde(default)]
    #[schema(value_type = Value)]
    payload: Value,
}

/// Refuses a payload that the parser of a message could not read (400).
fn must_be_flat(payload: &Value) -> Result<(), Problem> {
    if depth(payload) <= TIMER_PAYLOAD_DEPTH_MAX {
        return Ok(());
    }
    let detail = format!(
        "payload has more than {TIMER_PAYLOAD_DEPTH_MAX} arrays and objects inside each other"
    );
    Err(Problem::new(ProblemKind::InvalidBody, detail))
}

/// The number of arrays and objects inside each other. The parser of bodies has bounded it.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// List the caller's timers by name
#[utoipa::path(
    get, path = "/v1/timers", operation_id = "list_timers", tag = "timers",
    params(ListQuery<TimersOf>),
    responses(
        (status = 200, description = "A page of timers.", body = TimerList),
        NotFound,
    ),
)]
async fn list(
    State(app): State<Arc<App>>,
    caller: Caller,
    Query(query): Query<ListQuery<TimersOf>>,
) -> Result<Json<TimerList>, Problem> {
    let list = TimersOf(caller.user());
    let (limit, after) = (query.limit()?, query.after(&list)?);
    let page = timers::list(&app, list.0, after.as_ref(), limit).await?;
    Ok(Json(TimerList::new(&list, page)))
}

/// Read a timer of the caller
#[utoipa::path(
    get, path = "/v1/timers/{name}", operation_id = "read_timer", tag = "timers",
    params(TimerPath),
    responses(
        (status = 200, description = "The timer.", body = TimerView),
        NotFound,
    ),
)]
async fn read(
    State(app): State<Arc<App>>,
    caller: Caller,
    TimerPath { name }: TimerPath,
) -> Result<Json<TimerView>, Problem> {
    Ok(Json(timers::read(&app, &caller.identity, &name).await?.into()))
}

/// Make a timer, or replace the one with this name
#[utoipa::path(
    put, path = "/v1/timers/{name}", operation_id = "put_timer", tag = "timers",
    params(TimerPath),
    request_body = TimerBody,
    responses(
        (status = 200, description = "The timer was replaced.", body = TimerView),
        (status = 201, description = "The timer is new.", body = TimerView),
        NoProfile,
        (status = 422, description = "The time or the payload is not allowed, or the caller has too many timers."),
        TooMany,
    ),
)]
async fn put(
    State(app): State<Arc<App>>,
    caller: Caller,
    TimerPath { name }: TimerPath,
    JsonBody(body): JsonBody<TimerBody>,
) -> Result<(StatusCode, Json<TimerView>), Problem> {
    let TimerBody { due_at: TimeText(due_at), every, payload } = body;
    must_be_flat(&payload)?;
    let new = NewTimer { due_at, every, payload };
    let (timer, is_new) = timers::put(&app, &caller.identity, &name, new, clock::now()).await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(timer.into())))
}

/// Delete a timer of the caller
#[utoipa::path(
    delete, path = "/v1/timers/{name}", operation_id = "delete_timer", tag = "timers",
    params(TimerPath),
    responses(
        (status = 204, description = "The timer is deleted. Its message may have been sent before."),
        (status = 409, description = "Another user has the same id."),
        NotFound, TooMany,
    ),
)]
async fn delete(
    State(app): State<Arc<App>>,
    caller: Caller,
    TimerPath { name }: TimerPath,
) -> Result<StatusCode, Problem> {
    timers::delete(&app, &caller.identity, &name, clock::now()).await?;
    Ok(StatusCode::NO_CONTENT)
}
