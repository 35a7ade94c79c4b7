//! The path and the views of timers.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use fanfold_core::TimerName;
use fanfold_kinds::timers::items::Timer;
use fanfold_web::Problem;
use fanfold_web::extract::segment;
use serde::Serialize;
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use crate::views::list_view;

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

list_view! {
    /// A page of timers.
    TimerList,
    /// The timers, by name.
    TimerView
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
