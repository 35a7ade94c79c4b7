//! Changes of members.

use fanfold_core::board::BoardError;
use fanfold_core::limits::{BOARD_BATCH_MAX, BOARD_REMOVED_KEPT};
use fanfold_core::{Board, MemberName, Scores, Time};
use fanfold_runtime::error::StoreError;
use redis::{RedisError, RedisResult, Value};

use super::answer::{BoardAnswer, Fields};
use crate::valkey::scripts::{self, Call};
use crate::valkey::{Valkey, failed};

/// A change of a member, after its commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoardChange {
    /// The member.
    pub member: MemberName,
    /// The revision of the member in DynamoDB. Each change has a greater one, also a removal.
    pub revision: u64,
    /// The new scores. `None`: the member is removed.
    pub scores: Option<Scores>,
}

impl BoardChange {
    /// The scores of a member of a board that nobody changes.
    pub fn fixed(member: MemberName, scores: Scores) -> Self {
        Self { member, revision: 1, scores: Some(scores) }
    }
}

/// The place of a member after a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placed {
    /// The revision that the board has. It is greater than that of the change if the board has a newer one.
    pub revision: u64,
    /// The scores and the rank. `None`: the member is not on the board.
    pub place: Option<(Scores, u64)>,
}

/// The result of changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutDone {
    /// The number of members.
    pub members: u64,
    /// The place of each changed member, in the order of the changes, after all of them.
    pub placed: Vec<Placed>,
    /// The members that fell out because of the limit now, best first.
    pub out: Vec<(MemberName, Scores)>,
    /// Members that fell out, now or earlier, and whose removal from DynamoDB is not applied yet, with their revisions: at
    /// most [`BOARD_BATCH_MAX`].
    pub fallen: Vec<(MemberName, u64)>,
}

impl Valkey {
    /// Applies changes to a board, at most [`BOARD_BATCH_MAX`]. A change whose revision is not greater than the known one
    /// of its member changes nothing, so a change can arrive late, twice and out of order. While the board is built, the
    /// changes are kept, and the answer is [`BoardAnswer::Building`].
    pub async fn put_on_board(
        &self,
        board: &Board,
        changes: &[BoardChange],
        now: Time,
    ) -> Result<BoardAnswer<PutDone>, StoreError> {
        let doing = "changing a board";
        if changes.len() > BOARD_BATCH_MAX {
            return Err(failed(doing)(misused("too many changes in one call")));
        }
        let mut script = self.board_call(&scripts::BOARD_PUT, board);
        script.arg(kind(board)).arg(limit(board)).arg(board.orders.width());
        script.arg(now.ms()).arg((now - BOARD_REMOVED_KEPT).ms());
        add_changes(&mut script, board, changes).map_err(failed(doing))?;
        let answer: Vec<Value> = self.or_drop(board, script.run(&self.link, doing).await).await?;
        parse(board, changes.len(), answer).map_err(failed(doing))
    }

    /// A call with the keys of a board.
    pub(super) fn board_call(&self, script: &'static scripts::Script, board: &Board) -> Call {
        let mut call = script.call();
        for key in self.keys.board(board.id) {
            call.key(key);
        }
        call
    }
}

fn parse(board: &Board, changes: usize, answer: Vec<Value>) -> RedisResult<BoardAnswer<PutDone>> {
    let mut fields = match Fields::of_ready(answer)? {
        BoardAnswer::Ready(fields) => fields,
        BoardAnswer::Missing => return Ok(BoardAnswer::Missing),
        BoardAnswer::Building => return Ok(BoardAnswer::Building),
    };
    let (members, mut list) = (fields.number()?, fields.list()?);
    let mut out = Vec::new();
    while !list.is_empty() {
        out.push(list.scored(board)?);
    }
    let (mut list, mut fallen) = (fields.list()?, Vec::new());
    while !list.is_empty() {
        fallen.push((list.member()?, list.revision()?));
    }
    let mut placed = Vec::with_capacity(changes);
    for _ in 0..changes {
        let ((revision, scores), rank) = (fields.value(board)?, fields.number()?);
        placed.push(Placed { revision, place: scores.map(|scores| (scores, rank)) });
    }
    Ok(BoardAnswer::Ready(PutDone { members, placed, out, fallen }))
}

/// Adds changes as arguments. Fails if a change has another number of scores than the board.
pub(super) fn add_changes(
    script: &mut Call,
    board: &Board,
    changes: &[BoardChange],
) -> RedisResult<()> {
    for BoardChange { member, revision, scores } in changes {
        let scores = scores.as_ref().map(|scores| board.orders.encode(scores)).transpose();
        let scores = scores.map_err(|error: BoardError| misused(&error.to_string()))?;
        script.arg(member.as_str()).arg(&revision.to_be_bytes()[..]);
        script.arg(scores.unwrap_or_default());
    }
    Ok(())
}

/// The name of a kind of ranks in scripts.
pub(super) fn kind(board: &Board) -> &'static str {
    match board.ranks {
        fanfold_core::board::Ranks::Competition => "competition",
        fanfold_core::board::Ranks::Dense => "dense",
        fanfold_core::board::Ranks::Ordinal => "ordinal",
    }
}

/// The limit in scripts. Without a limit, 0. A board with a limit has at least one member.
pub(super) fn limit(board: &Board) -> u64 {
    board.limit.map_or(0, |limit| limit.max(1))
}

/// An error of a caller.
pub(super) fn misused(text: &str) -> RedisError {
    (redis::ErrorKind::InvalidClientConfig, "a call for a board", text.to_owned()).into()
}
