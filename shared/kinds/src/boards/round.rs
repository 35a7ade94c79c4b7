//! A round of a board, with its copy in Valkey.

use fanfold_core::board::Round;
use fanfold_core::limits::BOARD_MERGED_EVERY;
use fanfold_core::time::millis;
use fanfold_core::{Board, BoardId, RoundId, Time};

use super::items::{StoredBoard, StoredRound};
use super::messages::RebuildBoard;

/// A round of a board, with its copy in Valkey.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoardRound {
    /// The board.
    pub board: StoredBoard,
    /// The round.
    pub round: Round,
    /// The version of the copy. Only the copy of a merged board has several.
    pub(super) version: u64,
}

impl BoardRound {
    /// A round of a board, with the present version of its copy.
    pub fn new(board: StoredBoard, round: Round, now: Time) -> Self {
        let version = match board.settings.merge {
            Some(_) => now.ms() / millis(BOARD_MERGED_EVERY),
            None => 0,
        };
        Self { board, round, version }
    }

    /// The round with this version of its copy.
    pub(super) fn at(board: StoredBoard, round: Round, version: u64) -> Self {
        Self { board, round, version }
    }

    /// The rows in DynamoDB. A merged board has none.
    pub fn rows(&self) -> StoredRound {
        self.board.rows(self.round)
    }

    /// The copy in Valkey.
    pub fn copy(&self) -> Board {
        let StoredBoard { id, token, layout, settings, .. } = &self.board;
        settings.copy(RoundId::of_copy(*id, token, self.round, *layout, self.version))
    }

    /// When the version of the copy of a merged board was begun. `None`: the copy has every change.
    pub fn merged_at(&self) -> Option<Time> {
        let every = millis(BOARD_MERGED_EVERY);
        self.board.settings.merge.as_ref().map(|_| Time::from_ms(self.version * every))
    }

    /// The order to make the copy with a lease, from its first part on.
    pub fn order(&self, lease: &str) -> RebuildBoard {
        let StoredBoard { id: board, token, .. } = self.board.clone();
        let (round, version, lease) = (self.round, self.version, lease.to_owned());
        RebuildBoard { board, token, round, version, lease, part: 0, after: None }
    }

    /// The board and the round of a name in the list of a bucket. `None` for other texts.
    pub fn parts(named: &str) -> Option<(BoardId, Round)> {
        let (board, round) = named.split_once(' ')?;
        Some((board.parse().ok()?, round.parse().ok()?))
    }
}

/// The name of the copy of a round in the list of its bucket.
pub(crate) fn named(board: BoardId, round: Round) -> String {
    format!("{board} {round}")
}
