//! Scores, their order and their encoding, and ranks.
//!
//! A sorted set of Valkey sorts members of equal score by their bytes. All members of a board have the score 0 there,
//! and begin with their encoded scores: 8 bytes for each, big-endian, the sign bit flipped, and all bits inverted where
//! the higher score is better. Lower bytes are therefore better scores, exact over all 64-bit integers. The name of the
//! member follows and settles ties.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use super::id::RoundId;
use super::names::{BoardError, MemberName};
use crate::limits::BOARD_SCORES_MAX;

/// Which value of a score is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// The lower one, as with times.
    Ascending,
    /// The higher one, as with points.
    Descending,
}

impl Order {
    /// The bytes of a score. Lower bytes are better.
    fn encode(self, score: i64) -> [u8; 8] {
        let shifted = score as u64 ^ 1 << 63;
        match self {
            Self::Ascending => shifted.to_be_bytes(),
            Self::Descending => (!shifted).to_be_bytes(),
        }
    }

    fn decode(self, bytes: [u8; 8]) -> i64 {
        let shifted = u64::from_be_bytes(bytes);
        let shifted = if self == Self::Ascending { shifted } else { !shifted };
        (shifted ^ 1 << 63) as i64
    }
}

/// The ranks of members with equal scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ranks {
    /// Equal scores have the same rank, and the next rank is the number of better members plus one: 1, 2, 2, 4.
    Competition,
    /// Equal scores have the same rank, and the next rank is greater by one: 1, 2, 2, 3.
    Dense,
    /// Each member has a rank of its own: 1, 2, 3, 4. The name decides between equal scores.
    Ordinal,
}

impl Ranks {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Competition, Self::Dense, Self::Ordinal];

    /// The rank of the member at `position` (from 1), after a member of the given rank.
    pub fn next(self, rank: u64, has_same_scores: bool, position: u64) -> u64 {
        match self {
            Self::Ordinal => position,
            Self::Competition | Self::Dense if has_same_scores => rank,
            Self::Competition => position,
            Self::Dense => rank + 1,
        }
    }
}

/// The scores of a member: one to four numbers. The first one counts most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scores {
    values: [i64; BOARD_SCORES_MAX],
    count: usize,
}

impl Scores {
    /// Scores in the order in which they count.
    pub fn new(scores: &[i64]) -> Result<Self, BoardError> {
        let mut values = [0; BOARD_SCORES_MAX];
        let places = values.get_mut(..scores.len()).filter(|places| !places.is_empty());
        places.ok_or(BoardError::Scores)?.copy_from_slice(scores);
        Ok(Self { values, count: scores.len() })
    }

    /// The scores.
    pub fn as_slice(&self) -> &[i64] {
        self.values.get(..self.count).unwrap_or(&[])
    }
}

/// How the scores of a member of several boards become those on a merged one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MergeBy {
    /// The sum of each score.
    Sum,
    /// The lowest value of each score.
    Minimum,
    /// The highest value of each score.
    Maximum,
}

/// The scores of a member of several boards, while they are merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Merged {
    by: MergeBy,
    /// A sum of a few 64-bit integers fits.
    values: [i128; BOARD_SCORES_MAX],
    count: usize,
}

impl Merged {
    /// The scores on the first board.
    pub fn new(by: MergeBy, first: &Scores) -> Self {
        Self { by, values: first.values.map(i128::from), count: first.count }
    }

    /// Merges the scores on another board. Both have the same number of scores.
    pub fn add(&mut self, other: &Scores) {
        for (value, other) in self.values.iter_mut().zip(other.values) {
            let other = i128::from(other);
            *value = match self.by {
                MergeBy::Sum => *value + other,
                MergeBy::Minimum => other.min(*value),
                MergeBy::Maximum => other.max(*value),
            };
        }
    }

    /// The merged scores. A sum beyond the 64-bit integers is the nearest of them, in whatever order the boards were merged.
    pub fn scores(&self) -> Scores {
        // mutation: board-sum
        let nearest = |value: i128| value.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        Scores { values: self.values.map(nearest), count: self.count }
    }
}

/// The orders of the scores of a board: one to four.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Order>", into = "Vec<Order>")]
pub struct Orders(Vec<Order>);

impl TryFrom<Vec<Order>> for Orders {
    type Error = BoardError;

    fn try_from(orders: Vec<Order>) -> Result<Self, BoardError> {
        let fits = (1..=BOARD_SCORES_MAX).contains(&orders.len());
        fits.then_some(Self(orders)).ok_or(BoardError::Scores)
    }
}

impl From<Orders> for Vec<Order> {
    fn from(orders: Orders) -> Self {
        orders.0
    }
}

impl Orders {
    /// The same order for each of this many scores, at least one and at most [`BOARD_SCORES_MAX`].
    pub fn all(order: Order, scores: usize) -> Self {
        Self(vec![order; scores.clamp(1, BOARD_SCORES_MAX)])
    }

    /// The orders, that of the first score first.
    pub fn as_slice(&self) -> &[Order] {
        &self.0
    }

    /// The number of bytes of encoded scores.
    pub fn width(&self) -> usize {
        8 * self.0.len()
    }

    /// The encoded scores. Lower bytes are better.
    pub fn encode(&self, scores: &Scores) -> Result<Vec<u8>, BoardError> {
        if scores.count != self.0.len() {
            return Err(BoardError::Scores);
        }
        let scores = self.0.iter().zip(scores.as_slice());
        Ok(scores.flat_map(|(order, score)| order.encode(*score)).collect())
    }

    /// The scores of these bytes. `None` if their number is not that of this board's scores.
    pub fn decode(&self, bytes: &[u8]) -> Option<Scores> {
        let (parts, rest) = bytes.as_chunks::<8>();
        if !rest.is_empty() || parts.len() != self.0.len() {
            return None;
        }
        let scores: Vec<i64> =
            self.0.iter().zip(parts).map(|(order, part)| order.decode(*part)).collect();
        Scores::new(&scores).ok()
    }

    /// The member of the sorted set: the encoded scores and the name.
    pub fn member(&self, scores: &Scores, name: &MemberName) -> Result<Vec<u8>, BoardError> {
        let mut bytes = self.encode(scores)?;
        bytes.extend_from_slice(name.as_str().as_bytes());
        Ok(bytes)
    }

    /// The scores and the name of a member of the sorted set. `None` for other bytes.
    pub fn scored(&self, member: &[u8]) -> Option<(Scores, MemberName)> {
        let (scores, name) = member.split_at_checked(self.width())?;
        let name = String::from_utf8(name.to_vec()).ok()?;
        Some((self.decode(scores)?, name.try_into().ok()?))
    }

    /// The bounds of the members whose first score is one of two scores or between them. The first bound is below the
    /// best of these members, and the second above the worst.
    pub fn range(&self, one: i64, two: i64) -> (Vec<u8>, Vec<u8>) {
        let order = self.0.first().copied().unwrap_or(Order::Ascending);
        let (one, two) = (order.encode(one), order.encode(two));
        let mut above = one.max(two).to_vec();
        // no byte of UTF-8 is 255, so this is above each name
        above.resize(self.width() + 1, u8::MAX);
        (one.min(two).to_vec(), above)
    }

    /// Compares scores: the better ones are less.
    pub fn compare(&self, one: &Scores, two: &Scores) -> Ordering {
        let pairs = one.as_slice().iter().zip(two.as_slice());
        let compared = self.0.iter().zip(pairs).map(|(order, (one, two))| match order {
            Order::Ascending => one.cmp(two),
            Order::Descending => two.cmp(one),
        });
        compared.fold(Ordering::Equal, Ordering::then)
    }

    /// Whether the first scores are better than the second ones. Equal ones are not.
    pub fn is_better(&self, one: &Scores, two: &Scores) -> bool {
        self.compare(one, two) == Ordering::Less
    }
}

/// What the scripts of a board depend on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Board {
    /// The id of the copy in Valkey.
    pub id: RoundId,
    /// The orders of the scores.
    pub orders: Orders,
    /// The kind of ranks.
    pub ranks: Ranks,
    /// The most members. The worst ones fall out. `None`: no limit.
    pub limit: Option<u64>,
}

impl Board {
    /// The ranks of some members among themselves, in the order of the members.
    pub fn ranks_among(&self, members: &[(MemberName, Scores)]) -> Vec<u64> {
        let mut sorted: Vec<(usize, &(MemberName, Scores))> = members.iter().enumerate().collect();
        sorted.sort_by(|(_, (one, a)), (_, (two, b))| {
            self.orders.compare(a, b).then_with(|| one.cmp(two))
        });
        let mut ranks = vec![0; members.len()];
        let (mut rank, mut before) = (0, None);
        for (position, (place, (_, scores))) in (1..).zip(sorted) {
            rank = self.ranks.next(rank, before == Some(scores), position);
            before = Some(scores);
            if let Some(its) = ranks.get_mut(place) {
                *its = rank;
            }
        }
        ranks
    }
}

#[cfg(test)]
mod tests;
