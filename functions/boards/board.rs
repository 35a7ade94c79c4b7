//! The settings of a board, as they are sent and shown.

use fanfold_core::board::{
    BoardSettings, Day, MergeBy, MergeOf, MergeSource, Order, Period, Ranks, Zone,
};
use fanfold_core::limits::{BOARD_KEPT_DAYS_DEFAULT, BOARD_LIMIT_DEFAULT};
use fanfold_core::{BoardName, UserId};
use fanfold_kinds::boards::items::StoredBoard;
use fanfold_web::{Problem, ProblemKind};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::paths::BoardNameText;

/// The id of a user in a list.
#[derive(ToSchema)]
#[schema(value_type = String, as = UserId, pattern = "^[0-9a-f]{16}$", min_length = 16, max_length = 16)]
#[allow(dead_code, reason = "read by the derive alone")]
struct UserIdText(String);

/// Which value of a score is better.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ScoreOrder)]
pub enum OrderView {
    /// The lower one, as with times.
    Ascending,
    /// The higher one, as with points.
    Descending,
}

/// The ranks of members with equal scores.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Ranks)]
pub enum RanksView {
    /// 1, 2, 2, 4.
    #[default]
    Competition,
    /// 1, 2, 2, 3.
    Dense,
    /// 1, 2, 3, 4. The name decides between equal scores.
    Ordinal,
}

/// How often a board begins again.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Period)]
pub enum PeriodView {
    /// Never.
    #[default]
    All,
    /// Each day.
    Day,
    /// Each Monday.
    Week,
    /// On the first day of each month.
    Month,
}

/// How the scores of a member of several boards are merged.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = MergeBy)]
pub enum MergeByView {
    /// The sum of each score. A sum beyond the 64-bit integers is the nearest of them.
    Sum,
    /// The lowest value of each score.
    Minimum,
    /// The highest value of each score.
    Maximum,
}

/// The boards that a board is merged from.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Merge)]
pub struct MergeView {
    pub by: MergeByView,
    /// Each period of a board once.
    #[schema(value_type = HashSet<MergeSourceView>, min_items = 1, max_items = 10)]
    pub boards: Vec<MergeSourceView>,
}

/// A board that another one is merged from.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = MergeSource)]
pub struct MergeSourceView {
    /// The id of the user to whom the board belongs.
    #[schema(value_type = String, pattern = "^[0-9a-f]{16}$", min_length = 16, max_length = 16)]
    pub owner: UserId,
    #[schema(value_type = BoardNameText)]
    pub name: BoardName,
    /// A day of the period that is merged. Without it, the present period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = Date, pattern = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$", min_length = 10, max_length = 10)]
    pub day: Option<Day>,
}

/// The settings of a board. Fields that are missing get their defaults.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = BoardSettings)]
pub struct BoardBody {
    /// The order of each score; the first one counts most. It cannot change.
    #[serde(default = "one_score")]
    #[schema(min_items = 1, max_items = 4, required = false)]
    orders: Vec<OrderView>,
    #[serde(default)]
    #[schema(required = false)]
    ranks: RanksView,
    /// The most members. The worst ones fall out. Without it, 100,000; with null, there is no limit.
    #[serde(default = "limit")]
    #[schema(minimum = 1, maximum = 10_000_000)]
    limit: Option<u64>,
    /// It cannot change.
    #[serde(default)]
    #[schema(required = false)]
    period: PeriodView,
    /// The time zone in which periods begin, as a name of the IANA database. Without it, UTC. It cannot change.
    #[serde(default = "Zone::utc")]
    #[schema(value_type = String, required = false, example = "Europe/Berlin", pattern = "^[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*$", min_length = 1, max_length = 40)]
    zone: Zone,
    /// Days for which a period is kept after its end. Without it, 30.
    #[serde(default = "kept_days")]
    #[schema(maximum = 400, required = false)]
    kept_days: u16,
    /// Whether everybody may change the scores.
    #[serde(default)]
    #[schema(required = false)]
    open: bool,
    /// The ids of users who may change the scores, beside the owner.
    #[serde(default)]
    #[schema(value_type = HashSet<UserIdText>, max_items = 100, required = false)]
    writers: Vec<UserId>,
    /// The boards that this one is merged from. Nobody changes the scores of a merged board. It cannot change.
    #[serde(default)]
    merge: Option<MergeView>,
}

fn one_score() -> Vec<OrderView> {
    vec![OrderView::Descending]
}

fn limit() -> Option<u64> {
    Some(BOARD_LIMIT_DEFAULT)
}

fn kept_days() -> u16 {
    BOARD_KEPT_DAYS_DEFAULT
}

impl BoardBody {
    /// The settings. Refuses a number of scores that is not allowed (422).
    pub fn settings(self) -> Result<BoardSettings, Problem> {
        let orders: Vec<Order> = self.orders.into_iter().map(Order::from).collect();
        let orders = orders.try_into().map_err(|error: fanfold_core::board::BoardError| {
            Problem::new(ProblemKind::InvalidBoard, error.to_string())
        })?;
        Ok(BoardSettings {
            orders,
            ranks: self.ranks.into(),
            limit: self.limit,
            period: self.period.into(),
            zone: self.zone,
            kept_days: self.kept_days,
            open: self.open,
            writers: self.writers,
            merge: self.merge.map(MergeOf::from),
        })
    }
}

macro_rules! same {
    ($view:ident, $core:ident: $($name:ident),+) => {
        impl From<$view> for $core {
            fn from(view: $view) -> Self {
                match view { $($view::$name => Self::$name),+ }
            }
        }

        impl From<$core> for $view {
            fn from(core: $core) -> Self {
                match core { $($core::$name => Self::$name),+ }
            }
        }
    };
}

same!(OrderView, Order: Ascending, Descending);
same!(RanksView, Ranks: Competition, Dense, Ordinal);
same!(PeriodView, Period: All, Day, Week, Month);
same!(MergeByView, MergeBy: Sum, Minimum, Maximum);

impl From<MergeView> for MergeOf {
    fn from(view: MergeView) -> Self {
        let source = |MergeSourceView { owner, name, day }| MergeSource { owner, name, day };
        Self { by: view.by.into(), boards: view.boards.into_iter().map(source).collect() }
    }
}

impl From<MergeOf> for MergeView {
    fn from(merge: MergeOf) -> Self {
        let source = |MergeSource { owner, name, day }| MergeSourceView { owner, name, day };
        Self { by: merge.by.into(), boards: merge.boards.into_iter().map(source).collect() }
    }
}

/// A board with its settings.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Board)]
pub struct BoardView {
    /// The id of the user to whom the board belongs.
    #[schema(pattern = "^[0-9a-f]{16}$")]
    pub owner: String,
    /// The name, unique among the boards of the owner.
    pub name: String,
    /// The order of each score; the first one counts most.
    pub orders: Vec<OrderView>,
    pub ranks: RanksView,
    /// The most members. Null: no limit.
    #[schema(required)]
    pub limit: Option<u64>,
    pub period: PeriodView,
    /// The time zone in which periods begin.
    pub zone: String,
    /// Days for which a period is kept after its end.
    pub kept_days: u16,
    /// Whether everybody may change the scores.
    pub open: bool,
    /// The ids of users who may change the scores, beside the owner.
    pub writers: Vec<String>,
    /// The boards that this one is merged from. Null: it has scores of its own.
    #[schema(required)]
    pub merge: Option<MergeView>,
    #[schema(format = DateTime)]
    pub created_at: String,
}

impl From<StoredBoard> for BoardView {
    fn from(board: StoredBoard) -> Self {
        let StoredBoard { id, name, created_at, settings, .. } = board;
        Self {
            owner: id.owner.to_string(),
            name: name.to_string(),
            orders: settings
                .orders
                .as_slice()
                .iter()
                .map(|order| OrderView::from(*order))
                .collect(),
            ranks: settings.ranks.into(),
            limit: settings.limit,
            period: settings.period.into(),
            zone: settings.zone.as_str().to_owned(),
            kept_days: settings.kept_days,
            open: settings.open,
            writers: settings.writers.iter().map(UserId::to_string).collect(),
            merge: settings.merge.map(MergeView::from),
            created_at: created_at.rfc3339(),
        }
    }
}

/// The boards of a user.
#[derive(Debug, Serialize, ToSchema)]
pub struct BoardList {
    /// The boards, by name.
    pub items: Vec<BoardView>,
}

impl From<Vec<StoredBoard>> for BoardList {
    fn from(boards: Vec<StoredBoard>) -> Self {
        Self { items: boards.into_iter().map(BoardView::from).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_board_has_a_limit_unless_null_is_given() {
        for (body, limit) in
            [("{}", Some(100_000)), (r#"{"limit":null}"#, None), (r#"{"limit":7}"#, Some(7))]
        {
            let body: BoardBody = serde_json::from_str(body).unwrap();
            assert_eq!(body.settings().unwrap().limit, limit);
        }
    }
}
