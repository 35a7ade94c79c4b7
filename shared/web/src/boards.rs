//! The requests and the answers of boards.

use std::borrow::Cow;

use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use fanfold_core::board::{
    BoardSettings, Day, MergeBy, MergeOf, MergeSource, Order, Period, Ranks, Zone,
};
use fanfold_core::limits::{
    BOARD_BATCH_MAX, BOARD_BODY_BYTES_MAX, BOARD_KEPT_DAYS_DEFAULT, BOARD_LIMIT_DEFAULT,
    BOARD_NAME_CHARS_MAX, PAGE_ITEMS_DEFAULT,
};
use fanfold_core::text::pattern::path_name;
use fanfold_core::{BoardName, MemberName, Scores, UserId};
use fanfold_engines::valkey::PageOf;
use fanfold_kinds::boards::BoardRef;
use fanfold_kinds::boards::change::{Changed, ScoreChange, ScoreOutcome, What};
use fanfold_kinds::boards::items::StoredBoard;
use fanfold_kinds::boards::read::{MemberStanding, RoundPage, RoundStandings};
use serde::de::{self, DeserializeOwned};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::openapi::{ObjectBuilder, RefOr, Schema, Type};
use utoipa::{IntoParams, PartialSchema, ToSchema};

use crate::extract::{json, number, parsed, present, segment, segments};
use crate::{Kind, Problem, shared_answers};

/// A score: a 64-bit signed integer as a string of digits, because many clients read numbers in JSON as doubles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ToSchema)]
#[schema(value_type = String, as = Score, pattern = "^(0|-?[1-9][0-9]{0,18})$", min_length = 1, max_length = 20, example = "1500")]
pub struct ScoreText(pub i64);

impl Serialize for ScoreText {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ScoreText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let form = "a score is a string of digits, from \"-9223372036854775808\" to \"9223372036854775807\"";
        let text = String::deserialize(deserializer).map_err(|_| de::Error::custom(form))?;
        plain_score(&text).map(Self).ok_or_else(|| de::Error::custom(form))
    }
}

/// The score in a text. `None` for other texts, and for other spellings of a score.
fn plain_score(text: &str) -> Option<i64> {
    text.parse().ok().filter(|score: &i64| score.to_string() == text)
}

/// The id of a user in a list.
#[derive(ToSchema)]
#[schema(value_type = String, as = UserId, pattern = "^[0-9a-f]{16}$", min_length = 16, max_length = 16)]
#[allow(dead_code, reason = "read by the derive alone")]
struct UserIdText(String);

/// The name of a board.
struct BoardNameText;

/// The name of a member.
struct MemberText;

macro_rules! name_schema {
    ($text:ident, $name:literal) => {
        impl PartialSchema for $text {
            fn schema() -> RefOr<Schema> {
                let description = "1 to 128 characters, at least one of which is visible, without `/`, `?`, `#`, `%`, `\\` and \
                    U+FFFD, which a path cannot carry, without control and private characters, without those that the name \
                    of a user cannot have, and without white space around them. `.` and `..` are not names.";
                shared_answers::text(description, path_name(), BOARD_NAME_CHARS_MAX)
            }
        }

        impl ToSchema for $text {
            fn name() -> Cow<'static, str> {
                $name.into()
            }
        }
    };
}

name_schema!(BoardNameText, "BoardName");
name_schema!(MemberText, "MemberName");

fn scores(list: &[ScoreText]) -> Result<Scores, Problem> {
    let list: Vec<i64> = list.iter().map(|score| score.0).collect();
    Scores::new(&list).map_err(|error| Problem::new(Kind::InvalidScores, error.to_string()))
}

fn texts(scores: &Scores) -> Vec<ScoreText> {
    scores.as_slice().iter().map(|score| ScoreText(*score)).collect()
}

/// The board in a path. Refuses another form (400).
#[derive(Debug, Clone, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct BoardPath {
    /// The name of a board.
    #[param(value_type = BoardNameText)]
    pub board: BoardName,
}

/// The board and the member in a path. Refuses another form (400).
#[derive(Debug, Clone, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct MemberPath {
    /// The name of a board.
    #[param(value_type = BoardNameText)]
    pub board: BoardName,
    /// The name of a member.
    #[param(value_type = MemberText)]
    pub member: MemberName,
}

/// The board and the percentile in a path. Refuses another form (400).
#[derive(Debug, Clone, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct PercentilePath {
    /// The name of a board.
    #[param(value_type = BoardNameText)]
    pub board: BoardName,
    /// A percentile from 0 to 100, with at most two decimal digits.
    #[param(value_type = String, pattern = "^(100|[1-9]?[0-9](\\.[0-9]{1,2})?)$", min_length = 1, max_length = 5)]
    pub percentile: Percentile,
}

/// A percentile in hundredths of a percent, from 0 to 10,000.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Percentile(pub u64);

impl Percentile {
    fn parse(text: &str) -> Option<Self> {
        let (whole, part) = text.split_once('.').unwrap_or((text, "00"));
        let digits =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let is_form = digits(whole) && digits(part) && whole.len() <= 3 && part.len() <= 2;
        let is_plain = whole.len() == 1 || !whole.starts_with('0');
        let hundredths: u64 = format!("{part:0<2}").parse().ok().filter(|_| is_form && is_plain)?;
        let percentile = whole.parse::<u64>().ok()? * 100 + hundredths;
        (percentile <= 10_000 && text != "100.0" && text != "100.00").then_some(Self(percentile))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for BoardPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        Ok(Self { board: segment(parts, state).await? })
    }
}

impl<S: Send + Sync> FromRequestParts<S> for MemberPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let (board, member) = segments::<S, (String, String)>(parts, state).await?;
        Ok(Self { board: parsed(&board)?, member: parsed(&member)? })
    }
}

impl<S: Send + Sync> FromRequestParts<S> for PercentilePath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let (board, percentile) = segments::<S, (String, String)>(parts, state).await?;
        let form = "a percentile is a number from 0 to 100, with at most two decimal digits";
        let percentile =
            Percentile::parse(&percentile).ok_or_else(|| Problem::new(Kind::InvalidId, form))?;
        Ok(Self { board: parsed(&board)?, percentile })
    }
}

/// A JSON body of up to [`BOARD_BODY_BYTES_MAX`].
pub struct LargeBody<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for LargeBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        json(request, BOARD_BODY_BYTES_MAX).await.map(Self)
    }
}

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
                Err(Problem::new(Kind::NotYours, detail))
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
            return Err(Problem::new(Kind::InvalidParameter, detail));
        }
        let skip = number("offset", self.offset.as_deref(), 0, 0, PLACE_MAX)?;
        let min = score("min_score", self.min_score.as_deref(), i64::MIN)?;
        let max = score("max_score", self.max_score.as_deref(), i64::MAX)?;
        if min > max {
            let detail = "min_score must not be greater than max_score";
            return Err(Problem::new(Kind::InvalidParameter, detail));
        }
        Ok(PageOf::Between { scores: (min, max), skip, limit })
    }
}

fn score(name: &str, text: Option<&str>, default: i64) -> Result<i64, Problem> {
    let Some(text) = text else { return Ok(default) };
    plain_score(text).ok_or_else(|| {
        Problem::new(Kind::InvalidParameter, format!("{name} must be a 64-bit integer"))
    })
}

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
            Problem::new(Kind::InvalidBoard, error.to_string())
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

/// A period of a board.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Round)]
pub struct RoundView {
    /// The first day. Null: the board has no periods.
    #[schema(required, format = Date)]
    pub first_day: Option<String>,
    /// When it begins. Null: the board has no periods.
    #[schema(required, format = DateTime)]
    pub begins_at: Option<String>,
    /// When it ends. Null: the board has no periods.
    #[schema(required, format = DateTime)]
    pub ends_at: Option<String>,
}

fn round(target: &fanfold_kinds::boards::target::Target) -> RoundView {
    let span = target.board.settings.span(target.round);
    RoundView {
        first_day: target.round.first().map(|day| day.to_string()),
        begins_at: span.map(|(begin, _)| begin.rfc3339()),
        ends_at: span.map(|(_, end)| end.rfc3339()),
    }
}

/// A member with its rank.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RankedMember)]
pub struct RankedView {
    pub rank: u64,
    pub member: String,
    /// The scores, in the order in which they count.
    pub scores: Vec<ScoreText>,
}

/// Members of a board that follow each other, best first.
#[derive(Debug, Serialize, ToSchema)]
pub struct BoardPageView {
    pub board: BoardView,
    pub round: RoundView,
    /// The number of members of the board.
    pub members: u64,
    /// The number of members in the range of scores. Without a range, all.
    pub in_range: u64,
    /// The position of the first item among all members, from 1. Null without items.
    #[schema(required)]
    pub position: Option<u64>,
    pub items: Vec<RankedView>,
    /// When the boards were merged. Later changes of them are not shown yet. Null: the board is not merged.
    #[schema(required, format = DateTime)]
    pub merged_at: Option<String>,
}

impl From<RoundPage> for BoardPageView {
    fn from(RoundPage { target, page }: RoundPage) -> Self {
        let item = |row: fanfold_engines::valkey::Row| RankedView {
            rank: row.rank,
            member: row.member.to_string(),
            scores: texts(&row.scores),
        };
        Self {
            round: round(&target),
            merged_at: target.merged_at().map(|at| at.rfc3339()),
            board: target.board.into(),
            members: page.members,
            in_range: page.in_range,
            position: page.position,
            items: page.rows.into_iter().map(item).collect(),
        }
    }
}

/// The scores of a member to set.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetScores {
    /// The scores, in the order in which they count: as many as the board has.
    #[schema(min_items = 1, max_items = 4)]
    scores: Vec<ScoreText>,
    /// Whether scores that are not better than the present ones change nothing.
    #[serde(default)]
    #[schema(required = false)]
    if_better: bool,
}

impl SetScores {
    /// The change of a member.
    pub fn change(self, member: MemberName) -> Result<ScoreChange, Problem> {
        let scores = scores(&self.scores)?;
        let what = if self.if_better { What::SetIfBetter(scores) } else { What::Set(scores) };
        Ok(ScoreChange { member, what })
    }
}

/// What is added to the scores of a member.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddScores {
    /// What is added to each score, which can be negative: as many as the board has. A new member begins with zeros.
    #[schema(min_items = 1, max_items = 4)]
    add: Vec<ScoreText>,
}

impl AddScores {
    /// The change of a member.
    pub fn change(self, member: MemberName) -> Result<ScoreChange, Problem> {
        Ok(ScoreChange { member, what: What::Add(scores(&self.add)?) })
    }
}

/// Changes of several members.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeMembers {
    /// One change for each member. Each is made or not, by itself.
    #[schema(value_type = Vec<MemberChangeForms>, min_items = 1, max_items = 100)]
    changes: Vec<MemberChange>,
}

/// The change of one member.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MemberChange {
    member: MemberName,
    #[serde(default, deserialize_with = "present")]
    set: Option<Vec<ScoreText>>,
    #[serde(default, deserialize_with = "present")]
    set_if_better: Option<Vec<ScoreText>>,
    #[serde(default, deserialize_with = "present")]
    add: Option<Vec<ScoreText>>,
    #[serde(default, deserialize_with = "present")]
    remove: Option<bool>,
}

// The description of a `MemberChange`. Serde would read the forms one after another, and its error would not say which one is
// wrong.
/// The change of one member: exactly one of `set`, `set_if_better`, `add` and `remove`.
#[derive(ToSchema)]
#[serde(untagged)]
#[schema(as = MemberChange)]
#[allow(dead_code, reason = "read by the derive alone")]
enum MemberChangeForms {
    Set(SetMember),
    SetIfBetter(SetMemberIfBetter),
    Add(AddToMember),
    Remove(RemoveMember),
}

/// The member has these scores.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "read by the derive alone")]
struct SetMember {
    #[schema(value_type = MemberText)]
    member: MemberName,
    /// The new scores.
    #[schema(min_items = 1, max_items = 4)]
    set: Vec<ScoreText>,
}

/// The member has these scores if they are better than the present ones.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "read by the derive alone")]
struct SetMemberIfBetter {
    #[schema(value_type = MemberText)]
    member: MemberName,
    /// The new scores.
    #[schema(min_items = 1, max_items = 4)]
    set_if_better: Vec<ScoreText>,
}

/// The scores of the member grow by these.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "read by the derive alone")]
struct AddToMember {
    #[schema(value_type = MemberText)]
    member: MemberName,
    /// What is added to each score.
    #[schema(min_items = 1, max_items = 4)]
    add: Vec<ScoreText>,
}

/// The member is removed.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "read by the derive alone")]
struct RemoveMember {
    #[schema(value_type = MemberText)]
    member: MemberName,
    /// `true`.
    #[schema(schema_with = only_true)]
    remove: bool,
}

fn only_true() -> RefOr<Schema> {
    let only = ObjectBuilder::new().schema_type(Type::Boolean).enum_values(Some([true]));
    RefOr::T(only.build().into())
}

impl ChangeMembers {
    /// The changes. Refuses one that is not exactly one change (422).
    pub fn changes(self) -> Result<Vec<ScoreChange>, Problem> {
        self.changes.into_iter().map(MemberChange::change).collect()
    }
}

impl MemberChange {
    fn change(self) -> Result<ScoreChange, Problem> {
        let Self { member, set, set_if_better, add, remove } = self;
        let what = match (set, set_if_better, add, remove) {
            (Some(to), None, None, None) => What::Set(scores(&to)?),
            (None, Some(to), None, None) => What::SetIfBetter(scores(&to)?),
            (None, None, Some(by), None) => What::Add(scores(&by)?),
            (None, None, None, Some(true)) => What::Remove,
            _ => {
                let detail = format!(
                    "send exactly one of set, set_if_better, add and \"remove\": true for {member}"
                );
                return Err(Problem::new(Kind::InvalidScores, detail));
            }
        };
        Ok(ScoreChange { member, what })
    }
}

/// Members to look up.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AskStandings {
    /// The members, each once.
    #[schema(value_type = HashSet<MemberText>, min_items = 1, max_items = 100)]
    members: Vec<MemberName>,
}

impl AskStandings {
    /// The members.
    pub fn members(self) -> Vec<MemberName> {
        self.members
    }
}

/// A member after a change.
#[derive(Debug, Serialize, ToSchema)]
pub struct MemberView {
    pub member: String,
    /// The present scores. Null: the member is not on the board, because it was removed or fell out.
    #[schema(required)]
    pub scores: Option<Vec<ScoreText>>,
    /// The present rank. Null: the member is not on the board, or the rank is not known now.
    #[schema(required)]
    pub rank: Option<u64>,
    /// The number of members of the board. Null: it is not known now.
    #[schema(required)]
    pub members: Option<u64>,
    /// The members that fell out because of the limit.
    pub fell_out: Vec<String>,
}

/// The results of changes of several members.
#[derive(Debug, Serialize, ToSchema)]
pub struct MembersView {
    /// A result for each change, in the same order.
    pub results: Vec<MemberResult>,
    /// The number of members of the board. Null: it is not known now.
    #[schema(required)]
    pub members: Option<u64>,
    /// The members that fell out because of the limit.
    pub fell_out: Vec<String>,
}

/// The result of one change.
#[derive(Debug, Serialize, ToSchema)]
pub struct MemberResult {
    pub member: String,
    /// The present scores. Null: the member is not on the board, or was not changed.
    #[schema(required)]
    pub scores: Option<Vec<ScoreText>>,
    /// The present rank. Null: the member is not on the board, or the rank is not known now.
    #[schema(required)]
    pub rank: Option<u64>,
    /// The type of the problem for which the member was not changed. Null: it was.
    #[schema(required, example = "/problems/score-overflow")]
    pub problem: Option<&'static str>,
}

fn parts(outcome: ScoreOutcome) -> (Option<Vec<ScoreText>>, Option<u64>, Option<Kind>) {
    match outcome {
        ScoreOutcome::Placed { scores, rank } => (Some(texts(&scores)), rank, None),
        ScoreOutcome::Gone => (None, None, None),
        ScoreOutcome::Unknown => (None, None, Some(Kind::NoSuchMember)),
        ScoreOutcome::Overflow => (None, None, Some(Kind::ScoreOverflow)),
        ScoreOutcome::KeyReused => (None, None, Some(Kind::KeyReused)),
    }
}

fn names(members: Vec<MemberName>) -> Vec<String> {
    members.into_iter().map(String::from).collect()
}

/// The answer to a change of one member: 200, or 202 if its rank is not known now.
pub fn changed_one(changed: Changed) -> Result<Response, Problem> {
    let Some((member, outcome)) = changed.outcomes.into_iter().next() else {
        return Err(Problem::new(Kind::InvalidScores, "name a member"));
    };
    refused(&member, outcome)?;
    let (scores, rank, _) = parts(outcome);
    let status = if changed.members.is_some() { StatusCode::OK } else { StatusCode::ACCEPTED };
    let fell_out = names(changed.out);
    let member = member.to_string();
    let view = MemberView { member, scores, rank, members: changed.members, fell_out };
    Ok((status, axum::Json(view)).into_response())
}

/// The answer to the removal of a member: 204.
pub fn removed_one(changed: Changed) -> Result<StatusCode, Problem> {
    for (member, outcome) in &changed.outcomes {
        refused(member, *outcome)?;
    }
    Ok(StatusCode::NO_CONTENT)
}

fn refused(member: &MemberName, outcome: ScoreOutcome) -> Result<(), Problem> {
    match outcome {
        ScoreOutcome::Placed { .. } | ScoreOutcome::Gone => Ok(()),
        ScoreOutcome::Unknown => Err(fanfold_kinds::Error::NoSuchMember(member.clone()).into()),
        ScoreOutcome::Overflow => Err(fanfold_kinds::Error::ScoreOverflow(member.clone()).into()),
        ScoreOutcome::KeyReused => Err(fanfold_kinds::Error::KeyReused.into()),
    }
}

/// The answer to changes of several members: 200, or 202 if their ranks are not known now.
pub fn changed_all(changed: Changed) -> Response {
    let result = |(member, outcome): (MemberName, ScoreOutcome)| {
        let (scores, rank, problem) = parts(outcome);
        let problem = problem.map(Kind::uri);
        MemberResult { member: member.to_string(), scores, rank, problem }
    };
    let status = if changed.members.is_some() { StatusCode::OK } else { StatusCode::ACCEPTED };
    let view = MembersView {
        results: changed.outcomes.into_iter().map(result).collect(),
        members: changed.members,
        fell_out: names(changed.out),
    };
    (status, axum::Json(view)).into_response()
}

/// The standing of a member.
#[derive(Debug, Serialize, ToSchema)]
pub struct StandingView {
    pub member: String,
    /// The scores. Null: the member is not on the board.
    #[schema(required)]
    pub scores: Option<Vec<ScoreText>>,
    /// The rank among all members.
    #[schema(required)]
    pub rank: Option<u64>,
    /// The rank among the members that were asked for.
    #[schema(required)]
    pub rank_among: Option<u64>,
    /// The share of members with worse or equal scores, the member included, in percent.
    #[schema(required, minimum = 0, maximum = 100)]
    pub percentile: Option<f64>,
}

/// The standings of members.
#[derive(Debug, Serialize, ToSchema)]
pub struct StandingsView {
    pub round: RoundView,
    /// The number of members of the board.
    pub members: u64,
    /// A standing for each member that was asked for, in the same order.
    pub items: Vec<StandingView>,
}

fn standing(member: MemberName, standing: Option<MemberStanding>, members: u64) -> StandingView {
    let percentile = |of: MemberStanding| of.not_better as f64 * 100.0 / members.max(1) as f64;
    StandingView {
        member: member.to_string(),
        scores: standing.map(|standing| texts(&standing.scores)),
        rank: standing.map(|standing| standing.rank),
        rank_among: standing.map(|standing| standing.rank_among),
        percentile: standing.map(percentile),
    }
}

impl From<RoundStandings> for StandingsView {
    fn from(found: RoundStandings) -> Self {
        let items = found.standings.into_iter();
        Self {
            round: round(&found.target),
            members: found.members,
            items: items.map(|(member, of)| standing(member, of, found.members)).collect(),
        }
    }
}

/// The standing of one member. Refuses a member who is not on the board (404).
pub fn one_standing(found: RoundStandings) -> Result<StandingView, Problem> {
    let members = found.members;
    match found.standings.into_iter().next() {
        Some((member, of @ Some(_))) => Ok(standing(member, of, members)),
        Some((member, None)) => Err(fanfold_kinds::Error::NoSuchMember(member).into()),
        None => Err(Problem::new(Kind::NoSuchMember, "name a member")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_has_one_spelling() {
        for (text, percentile) in
            [("0", 0), ("7", 700), ("99.9", 9_990), ("0.05", 5), ("50.25", 5_025), ("100", 10_000)]
        {
            assert_eq!(Percentile::parse(text), Some(Percentile(percentile)), "{text}");
        }
        for bad in ["", "101", "100.1", "100.0", "-1", "+1", "1.", ".5", "1.234", "01", "1e1", "٥"]
        {
            assert_eq!(Percentile::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_board_has_a_limit_unless_null_is_given() {
        for (body, limit) in
            [("{}", Some(100_000)), (r#"{"limit":null}"#, None), (r#"{"limit":7}"#, Some(7))]
        {
            let body: BoardBody = serde_json::from_str(body).unwrap();
            assert_eq!(body.settings().unwrap().limit, limit);
        }
    }

    #[test]
    fn a_score_is_a_string_of_digits() {
        for text in [i64::MIN, -1, 0, 1, i64::MAX].map(|score| score.to_string()) {
            let score: ScoreText = serde_json::from_value(text.clone().into()).unwrap();
            assert_eq!(serde_json::to_value(score).unwrap(), text);
        }
        for bad in [
            serde_json::json!(5),
            "".into(),
            "+5".into(),
            "05".into(),
            "-0".into(),
            "9223372036854775808".into(),
            "1.0".into(),
        ] {
            assert!(serde_json::from_value::<ScoreText>(bad.clone()).is_err(), "{bad}");
        }
    }
}
