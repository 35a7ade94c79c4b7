//! The query parameters of boards.

use fanfold_core::board::Day;
use fanfold_core::limits::{BOARD_BATCH_MAX, PAGE_ITEMS_DEFAULT};
use fanfold_core::{BoardName, MemberName, UserId};
use fanfold_engines::valkey::PageOf;
use fanfold_kinds::boards::BoardRef;
use fanfold_web::extract::number;
use fanfold_web::{Problem, ProblemKind};
use serde::Deserialize;
use utoipa::IntoParams;

use super::scores::plain_score;

/// The query parameters of the list of boards.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct BoardsQuery {
    /// The id of the user to whom the boards belong. Without it, the caller.
    #[param(value_type = Option<String>, pattern = "^[0-9a-f]{16}$", min_length = 16, max_length = 16)]
    pub owner: Option<UserId>,
}

/// The query parameters that choose a round of a board.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RoundQuery {
    /// The id of the user to whom the board belongs. Without it, the caller.
    #[param(value_type = Option<String>, pattern = "^[0-9a-f]{16}$", min_length = 16, max_length = 16)]
    owner: Option<UserId>,
    /// A day of the period. Without it, the present period.
    #[param(value_type = Option<String>, pattern = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$", format = Date, min_length = 10, max_length = 10)]
    day: Option<Day>,
}

/// The query parameters of a change of a board.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ChangeQuery {
    /// The id of the user to whom the board belongs. Without it, the caller.
    #[param(value_type = Option<String>, pattern = "^[0-9a-f]{16}$", min_length = 16, max_length = 16)]
    owner: Option<UserId>,
}

/// The query parameters of a change of a board's settings.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SettingsQuery {
    /// The id of the user to whom the board belongs. Only the caller's own boards can be made, changed and deleted: any other
    /// user is answered with 403.
    #[param(value_type = Option<String>, pattern = "^[0-9a-f]{16}$", min_length = 16, max_length = 16)]
    owner: Option<UserId>,
}

/// The query parameters of a page of a board: from a rank on, or a range of the first score.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct BoardPageQuery {
    /// The id of the user to whom the board belongs. Without it, the caller.
    #[param(value_type = Option<String>, pattern = "^[0-9a-f]{16}$", min_length = 16, max_length = 16)]
    owner: Option<UserId>,
    /// A day of the period. Without it, the present period.
    #[param(value_type = Option<String>, pattern = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$", format = Date, min_length = 10, max_length = 10)]
    day: Option<Day>,
    /// The page begins with the first member that has this rank or a greater one. Without it, 1. The next page begins at an
    /// `offset`: members with equal ranks may be on several pages.
    #[param(value_type = Option<u64>, minimum = 1, maximum = 1_000_000_000)]
    from_rank: Option<String>,
    /// The least first score of the members on the page. Not together with `from_rank`.
    #[param(value_type = Option<String>, pattern = "^(0|-?[1-9][0-9]{0,18})$", min_length = 1, max_length = 20)]
    min_score: Option<String>,
    /// The greatest first score of the members on the page. Not together with `from_rank`.
    #[param(value_type = Option<String>, pattern = "^(0|-?[1-9][0-9]{0,18})$", min_length = 1, max_length = 20)]
    max_score: Option<String>,
    /// The number of members that precede the page: in the range of scores, or among all members if there is no range.
    /// Without it, 0. Not together with `from_rank`. To get all members, begin with 0 and add the number of items of each
    /// page; after a page by `from_rank`, continue with `position - 1` and the number of its items.
    #[param(value_type = Option<u64>, minimum = 0, maximum = 1_000_000_000)]
    offset: Option<String>,
    /// The maximum number of members on the page.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 100, default = 20)]
    limit: Option<String>,
}

/// The query parameters of the neighbours of a member.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AroundQuery {
    /// The id of the user to whom the board belongs. Without it, the caller.
    #[param(value_type = Option<String>, pattern = "^[0-9a-f]{16}$", min_length = 16, max_length = 16)]
    owner: Option<UserId>,
    /// A day of the period. Without it, the present period.
    #[param(value_type = Option<String>, pattern = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$", format = Date, min_length = 10, max_length = 10)]
    day: Option<Day>,
    /// The number of members above the member.
    #[param(value_type = Option<u32>, minimum = 0, maximum = 49, default = 5)]
    above: Option<String>,
    /// The number of members below the member.
    #[param(value_type = Option<u32>, minimum = 0, maximum = 49, default = 5)]
    below: Option<String>,
}

/// The greatest rank and place that a request can name.
const PLACE_MAX: u64 = 1_000_000_000;
/// The most members above and below a member.
const NEIGHBOURS_MAX: u64 = 49;

fn board_ref(caller: UserId, owner: Option<UserId>, name: BoardName, day: Option<Day>) -> BoardRef {
    BoardRef { owner: owner.unwrap_or(caller), name, day }
}

impl RoundQuery {
    /// The board that is meant.
    pub fn board(self, caller: UserId, name: BoardName) -> BoardRef {
        board_ref(caller, self.owner, name, self.day)
    }
}

impl ChangeQuery {
    /// The board that is meant.
    pub fn board(self, caller: UserId, name: BoardName) -> BoardRef {
        board_ref(caller, self.owner, name, None)
    }
}

impl SettingsQuery {
    /// Refuses another owner than the caller (403).
    pub fn must_name(&self, caller: UserId) -> Result<(), Problem> {
        match self.owner {
            Some(owner) if owner != caller => {
                let detail = format!(
                    "only {owner} can make, change and delete the boards of {owner}; the caller is {caller}"
                );
                Err(Problem::new(ProblemKind::NotYours, detail))
            }
            _ => Ok(()),
        }
    }
}

impl AroundQuery {
    /// The board that is meant.
    pub fn board(&self, caller: UserId, name: BoardName) -> BoardRef {
        board_ref(caller, self.owner, name, self.day)
    }

    /// The page around a member. Refuses numbers outside of their range (400).
    pub fn page<'a>(&self, member: &'a MemberName) -> Result<PageOf<'a>, Problem> {
        let above = number("above", self.above.as_deref(), 5, 0, NEIGHBOURS_MAX)?;
        let below = number("below", self.below.as_deref(), 5, 0, NEIGHBOURS_MAX)?;
        Ok(PageOf::Around { member, above, below })
    }
}

impl BoardPageQuery {
    /// The board that is meant.
    pub fn board(&self, caller: UserId, name: BoardName) -> BoardRef {
        board_ref(caller, self.owner, name, self.day)
    }

    /// The page. Refuses numbers outside of their range, and parameters that do not go together (400).
    pub fn page(&self) -> Result<PageOf<'static>, Problem> {
        let limit = number(
            "limit",
            self.limit.as_deref(),
            PAGE_ITEMS_DEFAULT as u64,
            1,
            BOARD_BATCH_MAX as u64,
        )?;
        let is_range =
            [&self.min_score, &self.max_score, &self.offset].iter().any(|one| one.is_some());
        if !is_range {
            let from = number("from_rank", self.from_rank.as_deref(), 1, 1, PLACE_MAX)?;
            return Ok(PageOf::Rank { from, limit });
        }
        if self.from_rank.is_some() {
            let detail = "from_rank does not go together with min_score, max_score and offset";
            return Err(Problem::new(ProblemKind::InvalidParameter, detail));
        }
        let skip = number("offset", self.offset.as_deref(), 0, 0, PLACE_MAX)?;
        let min = score("min_score", self.min_score.as_deref(), i64::MIN)?;
        let max = score("max_score", self.max_score.as_deref(), i64::MAX)?;
        if min > max {
            let detail = "min_score must not be greater than max_score";
            return Err(Problem::new(ProblemKind::InvalidParameter, detail));
        }
        Ok(PageOf::Between { scores: (min, max), skip, limit })
    }
}

fn score(name: &str, text: Option<&str>, default: i64) -> Result<i64, Problem> {
    let Some(text) = text else { return Ok(default) };
    plain_score(text).ok_or_else(|| {
        Problem::new(ProblemKind::InvalidParameter, format!("{name} must be a 64-bit integer"))
    })
}
