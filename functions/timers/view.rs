//! The path, the query and the views of timers.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use fanfold_core::{Cursor, ListId, TimerName, UserId};
use fanfold_kinds::timers::TimerPage;
use fanfold_kinds::timers::items::Timer;
use fanfold_web::Problem;
use fanfold_web::extract::{limit, place, segment};
use serde::{Deserialize, Serialize};
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

/// The query parameters of the list of timers.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TimersQuery {
    /// The maximum number of items on a page.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 100, default = 20)]
    limit: Option<String>,
    /// The `next_cursor` of the previous page. A cursor is opaque: one that was not issued for this list is answered
    /// with 404.
    #[param(pattern = "^[A-Za-z0-9_-]{190}$", min_length = 190, max_length = 190)]
    cursor: Option<String>,
}

impl TimersQuery {
    /// The number of items on a page. Refuses a number outside 1 to [`PAGE_ITEMS_MAX`] (400).
    pub fn limit(&self) -> Result<usize, Problem> {
        limit(self.limit.as_deref())
    }

    /// The name after which the page begins. None: at the beginning. Refuses a cursor of another list (404) or of another
    /// form (400).
    pub fn after(&self, owner: UserId) -> Result<Option<TimerName>, Problem> {
        place(self.cursor.as_deref(), ListId::Timers(owner), |cursor| match cursor {
            Cursor::Timer { name } => Some(name),
            _ => None,
        })
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
    pub fn new(owner: UserId, page: TimerPage) -> Self {
        let list = ListId::Timers(owner);
        let next_cursor = page.next_after.map(|name| Cursor::Timer { name }.encode(list));
        Self { items: page.timers.into_iter().map(TimerView::from).collect(), next_cursor }
    }
}
