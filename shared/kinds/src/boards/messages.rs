//! The messages of boards.

use fanfold_core::board::{BoardId, MemberName, Period, Round};
use fanfold_core::message;
use fanfold_core::registry::{CHANGE_EVENTS, REBUILDS};
use serde::{Deserialize, Serialize};

/// Scores of members of a board change. It is sent before the changes are committed, with a delay that is
/// longer than their writer lives. Its handler reads the present scores, and makes the copy in Valkey equal to them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScoresChanged {
    /// The board.
    pub board: BoardId,
    /// The token of the board. Boards of one name that follow each other have different ones.
    pub token: String,
    /// The round.
    pub round: Round,
    /// The members whose scores change. None: other members fell out of the copy, and their rows are still there.
    pub members: Vec<MemberName>,
}

/// A board was made, changed or deleted. It is sent before the change is committed, with a delay that is
/// longer than its writer lives. Its handler reads the present settings. If the board is gone, the handler removes the scores,
/// and sends the same message again for the rest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BoardChanged {
    /// The board.
    pub board: BoardId,
    /// The token of the board. Boards of one name that follow each other have different ones.
    pub token: String,
    /// How often the board begins again.
    pub period: Period,
    /// The first round whose scores may exist.
    pub first: Round,
    /// The layout of the copies in Valkey.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub layout: u64,
}

/// The order to make a copy of a round in Valkey. Its handler reads the scores. If the copy is ready, it removes
/// the scores of members who fell out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RebuildBoard {
    /// The board.
    pub board: BoardId,
    /// The token of the board. Boards of one name that follow each other have different ones.
    pub token: String,
    /// The round.
    pub round: Round,
    /// The version of the copy of a merged board.
    #[serde(default, rename = "copy_version", skip_serializing_if = "is_zero")]
    pub version: u64,
    /// The token of the lease that the sender took. The handler continues with it.
    pub lease: String,
    /// The first part of the rows that is not copied yet.
    #[serde(default, skip_serializing_if = "is_first")]
    pub part: u8,
    /// The last member of this part that is copied. `None`: none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<MemberName>,
}

message!(ScoresChanged 1 on CHANGE_EVENTS; in groups by |event| event.board);
message!(BoardChanged 1 on CHANGE_EVENTS; in groups by |event| event.board);
message!(RebuildBoard 1 on REBUILDS; in groups by |order| order.board.owner);

fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn is_first(part: &u8) -> bool {
    *part == 0
}
