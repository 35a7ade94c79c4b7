//! Pages and standings of members.

use fanfold_core::MemberName;
use fanfold_engines::valkey::RankedMember;
use fanfold_kinds::Error;
use fanfold_kinds::boards::read::{MemberStanding, RoundPage, RoundStandings};
use fanfold_kinds::boards::round::BoardRound;
use fanfold_web::{Problem, ProblemKind};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::board::BoardView;
use super::paths::MemberText;
use super::scores::{ScoreText, texts};

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

fn round(target: &BoardRound) -> RoundView {
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
pub struct RankedMemberView {
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
    pub items: Vec<RankedMemberView>,
    /// When the boards were merged. Later changes of them are not shown yet. Null: the board is not merged.
    #[schema(required, format = DateTime)]
    pub merged_at: Option<String>,
}

impl From<RoundPage> for BoardPageView {
    fn from(RoundPage { target, page }: RoundPage) -> Self {
        let item = |row: RankedMember| RankedMemberView {
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
        Some((member, None)) => Err(Error::NoSuchMember(member).into()),
        None => Err(Problem::new(ProblemKind::NoSuchMember, "name a member")),
    }
}
