//! Several boards merged into one.

use std::collections::{HashMap, HashSet};
use std::fmt;

use fanfold_core::board::{BoardError, MergeBy};
use fanfold_core::limits::{BOARD_MERGE_MAX, BOARD_MERGE_MEMBERS_MAX, BOARD_MERGE_PAGE};
use fanfold_core::{Board, MemberName, Scores};
use fanfold_runtime::error::StoreError;

use super::super::{Valkey, failed};
use super::answer::BoardAnswer;
use super::put::misused;
use super::read::{PageOf, Ranked};

/// The reason why boards cannot be merged.
#[derive(Debug)]
pub enum MergeError {
    /// The merged scores of a member are not 64-bit integers, or the boards have different numbers of scores.
    Scores(MemberName, BoardError),
    /// The merged board would have more than [`BOARD_MERGE_MEMBERS_MAX`] members.
    TooMany,
    /// Valkey failed.
    Store(StoreError),
}

impl fmt::Display for MergeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scores(member, _) => write!(f, "merging the scores of {member}"),
            Self::TooMany => {
                write!(f, "the merged board has more than {BOARD_MERGE_MEMBERS_MAX} members")
            }
            Self::Store(_) => write!(f, "reading the boards to merge"),
        }
    }
}

impl std::error::Error for MergeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Scores(_, error) => Some(error),
            Self::TooMany => None,
            Self::Store(error) => Some(error),
        }
    }
}

impl From<StoreError> for MergeError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Valkey {
    /// Merges at most [`BOARD_MERGE_MAX`] boards. Returns the scores of each member of any of them, in no order. A member
    /// that is on one board only has its scores there. All boards have the same number of scores.
    ///
    /// The boards may be in different slots. Each is read in pages of [`BOARD_MERGE_PAGE`] members, with one call each.
    /// A page shows one state, but two pages show two. A member whose scores change while its board is read counts with
    /// its scores before or after the change, or is missed; it never counts twice. A board that is rebuilt meanwhile is
    /// [`BoardAnswer::Missing`]. For an exact result, nobody changes the boards.
    pub async fn merge_boards(
        &self,
        boards: &[Board],
        by: MergeBy,
    ) -> Result<BoardAnswer<Vec<(MemberName, Scores)>>, MergeError> {
        if boards.len() > BOARD_MERGE_MAX {
            return Err(failed("merging boards")(misused("too many boards")).into());
        }
        let mut merged: HashMap<MemberName, Scores> = HashMap::new();
        for board in boards {
            match self.add_board(&mut merged, board, by).await? {
                BoardAnswer::Ready(()) => {}
                BoardAnswer::Missing => return Ok(BoardAnswer::Missing),
                BoardAnswer::Building => return Ok(BoardAnswer::Building),
            }
        }
        Ok(BoardAnswer::Ready(merged.into_iter().collect()))
    }

    async fn add_board(
        &self,
        merged: &mut HashMap<MemberName, Scores>,
        board: &Board,
        by: MergeBy,
    ) -> Result<BoardAnswer<()>, MergeError> {
        let (mut after, mut token, mut seen) = (Vec::new(), None, HashSet::new());
        loop {
            let page = PageOf::After { member: &after, limit: BOARD_MERGE_PAGE as u64 };
            let page = match self.any_board_page(board, page).await? {
                BoardAnswer::Ready(Ranked::Page(page)) => page,
                BoardAnswer::Building => return Ok(BoardAnswer::Building),
                BoardAnswer::Missing | BoardAnswer::Ready(Ranked::Unknown) => {
                    return Ok(BoardAnswer::Missing);
                }
            };
            // mutation: board-merge-token
            if *token.get_or_insert(page.token.clone()) != page.token {
                return Ok(BoardAnswer::Missing);
            }
            let Some(last) = page.rows.last() else { return Ok(BoardAnswer::Ready(())) };
            let wrong = |error| MergeError::Scores(last.member.clone(), error);
            after = board.orders.member(&last.scores, &last.member).map_err(wrong)?;
            for row in page.rows {
                // mutation: board-merge-once
                if !seen.insert(row.member.clone()) {
                    continue;
                }
                let scores = match merged.get(&row.member) {
                    Some(known) => by.merge(known, &row.scores),
                    None => Ok(row.scores),
                };
                let scores =
                    scores.map_err(|error| MergeError::Scores(row.member.clone(), error))?;
                merged.insert(row.member, scores);
                if merged.len() > BOARD_MERGE_MEMBERS_MAX {
                    return Err(MergeError::TooMany);
                }
            }
        }
    }
}
