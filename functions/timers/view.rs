//! The path and the views of timers.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use fanfold_core::{List, TimerName};
use fanfold_kinds::timers::items::Timer;
use fanfold_kinds::timers::{TimerPage, TimersOf};
use fanfold_web::Problem;
use fanfold_web::extract::segment;
use serde::Serialize;
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

/// The timer in a path. Refuses another form (400).
#[derive(Debug, Clone, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct TimerPath {
    /// The name of a timer.
    #[param(value_type = String, pattern = "^(?!\\.{1,2}$)[A-Za-z0-9._-]{1,128}$", min_length = 1, max_length = 128)]
    pub name: TimerName,
}

impl<S: Send + Sync> FromRequestParts<S> for TimerPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        Ok(Self { name: segment(parts, state).await? })
    }
}

/// A timer.
#[derive(Debug, Serialize, ToSchema)]
pub struct TimerView {
    #[schema(pattern = "^(?!\\.{1,2}$)[A-Za-z0-9._-]{1,128}$")]
    pub name: String,
    /// The time from which the timer is due, in UTC, with milliseconds.
    #[schema(format = DateTime)]
    pub due_at: String,
    /// The time between two occurrences, as an ISO 8601 duration. Null: there is one.
    #[schema(required, pattern = "^P[0-9DTHMS]{2,20}$")]
    pub every: Option<String>,
    /// The payload of the message that is sent when the timer is due.
    #[schema(value_type = Value)]
    pub payload: Value,
}

/// A page of timers.
#[derive(Debug, Serialize, ToSchema)]
pub struct TimerList {
    /// The timers, by name.
    pub items: Vec<TimerView>,
    /// The cursor of the next page. Null at the end of the list.
    #[schema(required)]
    pub next_cursor: Option<String>,
}

impl From<Timer> for TimerView {
    fn from(timer: Timer) -> Self {
        Self {
            name: timer.name.to_string(),
            due_at: timer.due_at.rfc3339(),
            every: timer.every.map(|every| every.to_string()),
            payload: serde_json::from_str(&timer.payload).unwrap_or_default(),
        }
    }
}

impl TimerList {
    /// A page of a user's timers, with its cursor.
    pub fn new(list: TimersOf, page: TimerPage) -> Self {
        let next_cursor = page.next_after.map(|name| list.cursor(&name));
        Self { items: page.timers.into_iter().map(TimerView::from).collect(), next_cursor }
    }
}
