//! The query of a list of users.

use fanfold_core::{Cursor, ListId};
use fanfold_kinds::present::UserPlace;
use fanfold_web::Problem;
use fanfold_web::extract::{limit, place};
use serde::Deserialize;
use utoipa::IntoParams;

/// The query parameters of a list of users.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ListQuery {
    /// The maximum number of items on a page.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 100, default = 20)]
    limit: Option<String>,
    /// The `next_cursor` of the previous page. A cursor is opaque: one that was not issued for this list is answered
    /// with 404.
    #[param(pattern = "^[A-Za-z0-9_-]{32}$", min_length = 32, max_length = 32)]
    pub cursor: Option<String>,
}

impl ListQuery {
    /// A query for `limit` items, from `cursor` on.
    pub fn page(limit: usize, cursor: Option<String>) -> Self {
        Self { limit: Some(limit.to_string()), cursor }
    }

    /// The number of items on a page. Refuses a number outside 1 to [`PAGE_ITEMS_MAX`] (400).
    pub fn limit(&self) -> Result<usize, Problem> {
        limit(self.limit.as_deref())
    }

    /// The place after which the page begins. None: at the beginning. Refuses a cursor of another list (404) or of
    /// another form (400).
    pub fn after(&self, list: ListId) -> Result<Option<UserPlace>, Problem> {
        place(self.cursor.as_deref(), list, |cursor| match cursor {
            Cursor::User { partition, user } => Some((partition, user)),
            _ => None,
        })
    }
}
