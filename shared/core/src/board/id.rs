//! The ids of boards and rounds. Keys contain them instead of names, so no name selects another key.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::names::BoardName;
use super::period::Round;
use crate::{Bucket, IdError, Time, UserId};

/// The id of a board: its owner, and the first 64 bits of a SHA-256 over its name. Two names of one owner with the same
/// hash cannot both have a board. Text form: the owner, `:`, and 16 lower-case hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BoardId {
    /// The user to whom the board belongs.
    pub owner: UserId,
    /// The hash of the name.
    pub name: NameHash,
}

/// The first 64 bits of a SHA-256 over the name of a board. Text form: 16 lower-case hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameHash(pub u64);

impl BoardId {
    /// The id of an owner's board.
    pub fn of(owner: UserId, name: &BoardName) -> Self {
        let hash: [u8; 32] = Sha256::digest(name.as_str()).into();
        let name = NameHash(hash.iter().take(8).fold(0, |id, byte| id << 8 | u64::from(*byte)));
        Self { owner, name }
    }
}

impl fmt::Display for NameHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for NameHash {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        // the same form as that of a user's id
        text.parse().map(|UserId(hash)| Self(hash)).map_err(|_| IdError::Board)
    }
}

impl fmt::Display for BoardId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.owner, self.name)
    }
}

impl FromStr for BoardId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let (owner, name) = text.split_once(':').ok_or(IdError::Board)?;
        Ok(Self { owner: owner.parse().map_err(|_| IdError::Board)?, name: name.parse()? })
    }
}

impl TryFrom<String> for BoardId {
    type Error = IdError;

    fn try_from(text: String) -> Result<Self, IdError> {
        text.parse()
    }
}

impl From<BoardId> for String {
    fn from(id: BoardId) -> Self {
        id.to_string()
    }
}

/// The id of the rows of a round in DynamoDB, or of their copy in Valkey: the first 128 bits of a SHA-256. Text form: 32
/// lower-case hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RoundId(pub u128);

impl RoundId {
    /// The rows of a round. The token differs between boards of one name that followed each other.
    pub fn of_rows(board: BoardId, token: &str, round: Round) -> Self {
        Self::hash(&format!("rows {board} {token} {round}"))
    }

    /// A copy of a round in Valkey. Another layout has another copy, and so has another version of a merged board.
    pub fn of_copy(board: BoardId, token: &str, round: Round, layout: u64, version: u64) -> Self {
        Self::hash(&format!("copy {board} {token} {round} {layout} {version}"))
    }

    /// All versions of the copy of a merged board together.
    pub fn of_versions(board: BoardId, token: &str, round: Round, layout: u64) -> Self {
        Self::hash(&format!("versions {board} {token} {round} {layout}"))
    }

    /// All snapshots of a ranking together.
    pub fn of_rankings(ranking: &str) -> Self {
        Self::hash(&format!("rankings {ranking}"))
    }

    /// The snapshot of a ranking in Valkey.
    pub fn of_ranking(ranking: &str, at: Time) -> Self {
        Self::hash(&format!("ranking {ranking} {at}"))
    }

    // no part of the text contains a space
    fn hash(text: &str) -> Self {
        let hash: [u8; 32] = Sha256::digest(text).into();
        Self(hash.iter().take(16).fold(0, |id, byte| id << 8 | u128::from(*byte)))
    }

    /// The bucket of a copy, below `buckets`: the lower 32 bits of the id, modulo `buckets`.
    pub fn bucket(self, buckets: u16) -> Bucket {
        Bucket(((self.0 & 0xffff_ffff) % u128::from(buckets.max(1))) as u16)
    }
}

impl fmt::Display for RoundId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ids_differ_if_any_part_does() {
        let board = |owner, name: &str| BoardId::of(UserId(owner), &name.parse().unwrap());
        let day = |text: &str| Round::from(text.parse::<crate::board::period::Day>().unwrap());
        let mut ids = BTreeSet::new();
        for board in [board(1, "a"), board(1, "b"), board(2, "a"), board(2, "aa")] {
            for token in ["t", "u"] {
                for round in [Round::ALL, day("2030-01-01"), day("2030-01-02")] {
                    ids.insert(RoundId::of_rows(board, token, round));
                    ids.insert(RoundId::of_copy(board, token, round, 1, 0));
                    ids.insert(RoundId::of_copy(board, token, round, 0, 1));
                    ids.insert(RoundId::of_versions(board, token, round, 0));
                    ids.insert(RoundId::of_versions(board, token, round, 1));
                }
            }
        }
        assert_eq!(ids.len(), 4 * 2 * 3 * 5);
    }

    #[test]
    fn a_board_is_found_by_its_text() {
        let board = BoardId::of(UserId(7), &"a b".parse().unwrap());
        assert_eq!(board.to_string().parse(), Ok(board));
        assert_eq!(board.to_string().len(), 33);
        for bad in ["", ":", "0000000000000007", "7:7", "0000000000000007:x", "0000000000000007:"] {
            assert_eq!(bad.parse::<BoardId>(), Err(IdError::Board), "{bad}");
        }
    }
}
