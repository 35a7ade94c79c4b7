//! Boards: rankings of members by up to four scores.
//!
//! A board is one sorted set whose members all have the same score, so that the set sorts them by their bytes. The bytes
//! of a member are its scores, 8 bytes each, and then its name. A score is written big-endian with its sign bit flipped,
//! so that smaller numbers have smaller bytes; where a greater score is better, all bits are inverted. Smaller bytes are
//! therefore better: the first score decides, then the next one, and at last the name. All 64 bits count, while the score
//! of a sorted set is a float with 53 bits.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::limits::{BOARD_NAME_CHARS_MAX, BOARD_SCORES_MAX};

/// The reason why a text or a number is not part of a board.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BoardError {
    /// Not the name of a board or of a member.
    #[error(
        "a name has 1 to {BOARD_NAME_CHARS_MAX} characters without /, control characters and surrounding white space, and is \
         not . or .."
    )]
    Name,
    /// Not a score.
    #[error("a score is a whole number from {} to {} as a string of digits", i64::MIN, i64::MAX)]
    Score,
    /// Another number of scores than the board has.
    #[error("the board has {expected} scores, not {found}")]
    Scores { expected: usize, found: usize },
    /// No order, or too many.
    #[error("a board has 1 to {BOARD_SCORES_MAX} scores, each ascending or descending")]
    Orders,
    /// A sum that needs more than 64 bits.
    #[error("the sum of {left} and {right} is not from {min} to {max}", min = i64::MIN, max = i64::MAX)]
    Overflow { left: i64, right: i64 },
}

/// The name of a board, unique among those of its owner, or of a member, unique in its board.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BoardName(String);

impl BoardName {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for BoardName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for BoardName {
    type Error = BoardError;

    fn try_from(text: String) -> Result<Self, BoardError> {
        let chars = text.chars().count();
        let fits = |c: char| !c.is_control() && c != '/';
        // clients and proxies remove . and .. from a path
        let is_path = matches!(text.as_str(), "." | "..");
        let fits = text.chars().all(fits) && !is_path && text.trim() == text;
        (fits && (1..=BOARD_NAME_CHARS_MAX).contains(&chars))
            .then_some(Self(text))
            .ok_or(BoardError::Name)
    }
}

impl FromStr for BoardName {
    type Err = BoardError;

    fn from_str(text: &str) -> Result<Self, BoardError> {
        text.to_owned().try_into()
    }
}

impl From<BoardName> for String {
    fn from(name: BoardName) -> Self {
        name.0
    }
}

/// One score. Text form: a string of digits, with a minus sign if it is negative. Numbers of JSON lose digits in many
/// clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Score(pub i64);

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl TryFrom<String> for Score {
    type Error = BoardError;

    fn try_from(text: String) -> Result<Self, BoardError> {
        let digits = text.strip_prefix('-').unwrap_or(&text);
        let fits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|_| fits);
        number.map(Self).ok_or(BoardError::Score)
    }
}

impl From<Score> for String {
    fn from(score: Score) -> Self {
        score.to_string()
    }
}

/// Which scores are better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Smaller scores, such as times of a race.
    Ascending,
    /// Greater scores, such as points.
    Descending,
}

/// The order of each score of a board: one to four.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Vec<Order>", into = "Vec<Order>")]
pub struct Orders(Vec<Order>);

impl TryFrom<Vec<Order>> for Orders {
    type Error = BoardError;

    fn try_from(orders: Vec<Order>) -> Result<Self, BoardError> {
        let fits = (1..=BOARD_SCORES_MAX).contains(&orders.len());
        fits.then_some(Self(orders)).ok_or(BoardError::Orders)
    }
}

impl From<Orders> for Vec<Order> {
    fn from(orders: Orders) -> Self {
        orders.0
    }
}

/// How members with equal scores are ranked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ranks {
    /// Equal scores have the same rank, and the next rank leaves a gap: 1, 2, 2, 4.
    Competition,
    /// Equal scores have the same rank, and the next rank follows: 1, 2, 2, 3.
    Dense,
    /// Each member has a rank of its own: 1, 2, 3, 4.
    Ordinal,
}

/// A number of bytes for each score.
const SCORE_BYTES: usize = 8;

/// The bytes of a score: smaller bytes are better.
fn encode(order: Order, score: Score) -> [u8; SCORE_BYTES] {
    let ascending = (score.0 as u64) ^ (1 << 63);
    match order {
        Order::Ascending => ascending.to_be_bytes(),
        Order::Descending => (!ascending).to_be_bytes(),
    }
}

/// The score that these bytes are.
fn decode(order: Order, bytes: [u8; SCORE_BYTES]) -> Score {
    let ascending = match order {
        Order::Ascending => u64::from_be_bytes(bytes),
        Order::Descending => !u64::from_be_bytes(bytes),
    };
    Score((ascending ^ (1 << 63)) as i64)
}

impl Orders {
    /// The number of scores.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The bytes of the scores of a member. Fails if there is another number of scores.
    pub fn encode(&self, scores: &[Score]) -> Result<Vec<u8>, BoardError> {
        if scores.len() != self.count() {
            return Err(BoardError::Scores { expected: self.count(), found: scores.len() });
        }
        Ok(self.0.iter().zip(scores).flat_map(|(order, score)| encode(*order, *score)).collect())
    }

    /// The bytes of a member: its scores and its name.
    pub fn member(&self, scores: &[Score], name: &BoardName) -> Result<Vec<u8>, BoardError> {
        let mut bytes = self.encode(scores)?;
        bytes.extend(name.as_str().bytes());
        Ok(bytes)
    }

    /// The scores and the name of a member. `None` for other bytes.
    pub fn split(&self, member: &[u8]) -> Option<(Vec<Score>, BoardName)> {
        let (scores, name) = member.split_at_checked(self.count() * SCORE_BYTES)?;
        let name = std::str::from_utf8(name).ok()?.parse().ok()?;
        let (scores, _) = scores.as_chunks::<SCORE_BYTES>();
        let scores = self.0.iter().zip(scores).map(|(order, bytes)| decode(*order, *bytes));
        Some((scores.collect(), name))
    }

    /// Compares scores: [`Ordering::Less`] if the first ones are better. Both have as many scores as the board.
    pub fn compare(&self, a: &[Score], b: &[Score]) -> Ordering {
        let each = self.0.iter().zip(a.iter().zip(b)).map(|(order, (a, b))| match order {
            Order::Ascending => a.cmp(b),
            Order::Descending => b.cmp(a),
        });
        each.fold(Ordering::Equal, Ordering::then)
    }

    /// The bytes between which the members are whose first score is from `low` to `high`. The first ones are inclusive, the
    /// others exclusive; `None`: there is no end.
    pub fn with_first(&self, low: Score, high: Score) -> (Vec<u8>, Option<Vec<u8>>) {
        let order = self.0.first().copied().unwrap_or(Order::Ascending);
        let (best, worst) = match order {
            Order::Ascending => (low, high),
            Order::Descending => (high, low),
        };
        let end = u64::from_be_bytes(encode(order, worst)).checked_add(1);
        (encode(order, best).to_vec(), end.map(|end| end.to_be_bytes().to_vec()))
    }
}

/// How boards are merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Combine {
    /// The sum of the scores.
    Sum,
    /// The smallest of the scores.
    Minimum,
    /// The greatest of the scores.
    Maximum,
}

impl Combine {
    /// Combines two scores. Fails if a sum needs more than 64 bits.
    pub fn apply(self, a: Score, b: Score) -> Result<Score, BoardError> {
        match self {
            Self::Sum => add(a, b),
            Self::Minimum => Ok(a.min(b)),
            Self::Maximum => Ok(a.max(b)),
        }
    }
}

/// Adds two scores. Fails if the sum needs more than 64 bits; it never wraps.
pub fn add(a: Score, b: Score) -> Result<Score, BoardError> {
    a.0.checked_add(b.0).map(Score).ok_or(BoardError::Overflow { left: a.0, right: b.0 })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Often one of the extremes, and often equal to another one.
    fn score() -> impl Strategy<Value = Score> {
        let extremes = [i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX - 1, i64::MAX];
        prop_oneof![prop::sample::select(extremes.to_vec()), any::<i64>()].prop_map(Score)
    }

    fn orders() -> impl Strategy<Value = Orders> {
        let order = prop_oneof![Just(Order::Ascending), Just(Order::Descending)];
        prop::collection::vec(order, 1..=BOARD_SCORES_MAX).prop_map(Orders)
    }

    fn name() -> impl Strategy<Value = BoardName> {
        "[a-c é🌲]{1,5}".prop_filter_map("a name", |text| text.parse().ok())
    }

    proptest! {
        #[test]
        fn bytes_sort_as_the_scores_and_then_the_names(
            orders in orders(), a in prop::collection::vec(score(), 4), b in prop::collection::vec(score(), 4),
            same in 0usize..=4, first in name(), second in name(),
        ) {
            let count = orders.count();
            let (a, mut b) = (a[..count].to_vec(), b[..count].to_vec());
            let same = same.min(count);
            b[..same].copy_from_slice(&a[..same]);
            let bytes = |scores: &[Score], name| orders.member(scores, name).unwrap();
            let expected = orders.compare(&a, &b).then(first.cmp(&second));
            prop_assert_eq!(bytes(&a, &first).cmp(&bytes(&b, &second)), expected);
            prop_assert_eq!(orders.split(&bytes(&a, &first)), Some((a, first)));
        }

        #[test]
        fn a_range_of_the_first_score_has_its_members_alone(
            orders in orders(), scores in prop::collection::vec(score(), 4), low in score(), high in score(), name in name(),
        ) {
            let scores = &scores[..orders.count()];
            let member = orders.member(scores, &name).unwrap();
            let (start, end) = orders.with_first(low, high);
            let is_in = member >= start && end.is_none_or(|end| member < end);
            prop_assert_eq!(is_in, (low..=high).contains(&scores[0]) && low <= high);
        }

        #[test]
        fn scores_travel_as_digits(score in score()) {
            let text = serde_json::to_string(&score).unwrap();
            prop_assert_eq!(&text, &format!("\"{}\"", score.0));
            prop_assert_eq!(serde_json::from_str::<Score>(&text).unwrap(), score);
        }

        #[test]
        fn sums_are_exact_or_refused(a in score(), b in score()) {
            let sum = i128::from(a.0) + i128::from(b.0);
            match Combine::Sum.apply(a, b) {
                Ok(found) => prop_assert_eq!(i128::from(found.0), sum),
                Err(_) => prop_assert!(i64::try_from(sum).is_err()),
            }
            let (least, most) = (Combine::Minimum.apply(a, b), Combine::Maximum.apply(a, b));
            prop_assert_eq!((least, most), (Ok(a.min(b)), Ok(a.max(b))));
        }
    }

    #[test]
    fn names_are_short_and_reach_no_other_path() {
        let long = "é".repeat(BOARD_NAME_CHARS_MAX);
        for fine in ["a", "week 7", "player:1#2{3}", "...", "🌲", &long] {
            assert_eq!(fine.parse::<BoardName>().unwrap().as_str(), fine);
        }
        let longer = format!("{long}a");
        for bad in ["", ".", "..", "a/b", " a", "a ", "a\nb", "a\0", "\u{85}", &longer] {
            assert_eq!(bad.parse::<BoardName>(), Err(BoardError::Name), "{bad:?}");
        }
    }

    #[test]
    fn other_texts_are_no_scores() {
        for bad in ["", "-", "+1", "1.0", " 1", "1e3", "0x1", "٥", "9223372036854775808", "--1"] {
            assert_eq!(Score::try_from(bad.to_owned()), Err(BoardError::Score), "{bad}");
        }
        assert!(serde_json::from_str::<Score>("7").is_err(), "a number of JSON");
        assert_eq!(Score::try_from("-0".to_owned()), Ok(Score(0)));
    }

    #[test]
    fn other_numbers_of_scores_are_refused() {
        let orders = Orders::try_from(vec![Order::Descending; 2]).unwrap();
        let found = orders.encode(&[Score(1)]);
        assert_eq!(found, Err(BoardError::Scores { expected: 2, found: 1 }));
        assert_eq!(Orders::try_from(Vec::new()), Err(BoardError::Orders));
        assert_eq!(Orders::try_from(vec![Order::Ascending; 5]), Err(BoardError::Orders));
        assert_eq!(orders.split(b"too short"), None);
        assert_eq!(orders.split(&[0; 16]), None, "no name");
    }
}
