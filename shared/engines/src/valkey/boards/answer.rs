//! The parts of the scripts' answers.

use fanfold_core::{Board, MemberName, Scores};
use redis::{RedisError, RedisResult, Value};

use crate::valkey::scripts::unknown;

/// The answer of a board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BoardAnswer<T> {
    /// The server does not have the board. It must be rebuilt.
    Missing,
    /// A rebuild is under way.
    Building,
    /// The board is complete.
    Ready(T),
}

impl<T> BoardAnswer<T> {
    /// The answer of a complete board.
    pub fn ready(self) -> Option<T> {
        match self {
            Self::Ready(answer) => Some(answer),
            Self::Missing | Self::Building => None,
        }
    }

    /// Changes what a complete board has answered.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> BoardAnswer<U> {
        match self {
            Self::Missing => BoardAnswer::Missing,
            Self::Building => BoardAnswer::Building,
            Self::Ready(answer) => BoardAnswer::Ready(change(answer)),
        }
    }
}

/// The values of a script's answer, from the first one.
pub struct Fields(std::vec::IntoIter<Value>);

impl Fields {
    /// The values after the first word. The words of a board that is not complete have no values.
    pub fn of(answer: Vec<Value>) -> RedisResult<BoardAnswer<(String, Self)>> {
        let mut fields = Self(answer.into_iter());
        let word = fields.text()?;
        Ok(match word.as_str() {
            "missing" => BoardAnswer::Missing,
            "building" => BoardAnswer::Building,
            _ => BoardAnswer::Ready((word, fields)),
        })
    }

    /// The values after the word `ready`. Another word is an error.
    pub fn of_ready(answer: Vec<Value>) -> RedisResult<BoardAnswer<Self>> {
        match Self::of(answer)? {
            BoardAnswer::Ready((word, _)) if word != "ready" => Err(unknown(&word)),
            answer => Ok(answer.map(|(_, fields)| fields)),
        }
    }

    fn next(&mut self) -> RedisResult<Value> {
        self.0.next().ok_or_else(|| unknown("the answer ends early"))
    }

    pub fn bytes(&mut self) -> RedisResult<Vec<u8>> {
        match self.next()? {
            Value::BulkString(bytes) => Ok(bytes),
            Value::SimpleString(text) => Ok(text.into_bytes()),
            other => Err(unknown(&format!("{other:?}"))),
        }
    }

    pub fn text(&mut self) -> RedisResult<String> {
        let bytes = self.bytes()?;
        String::from_utf8(bytes).map_err(|_| unknown("not a text"))
    }

    pub fn number(&mut self) -> RedisResult<u64> {
        match self.next()? {
            Value::Int(number) => u64::try_from(number).map_err(|_| unknown("a negative number")),
            other => Err(unknown(&format!("{other:?}"))),
        }
    }

    /// The values of a list.
    pub fn list(&mut self) -> RedisResult<Self> {
        match self.next()? {
            Value::Array(values) => Ok(Self(values.into_iter())),
            other => Err(unknown(&format!("{other:?}"))),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.len() == 0
    }

    /// The name of a member.
    pub fn member(&mut self) -> RedisResult<MemberName> {
        let bytes = self.bytes()?;
        let name = String::from_utf8(bytes).ok().and_then(|name| name.try_into().ok());
        name.ok_or_else(|| unknown("not the name of a member"))
    }

    /// A revision.
    pub fn revision(&mut self) -> RedisResult<u64> {
        let bytes = self.bytes()?;
        let revision = bytes.as_slice().try_into().map(u64::from_be_bytes);
        revision.map_err(|_| bad("a revision", &bytes))
    }

    /// A member of the sorted set.
    pub fn scored(&mut self, board: &Board) -> RedisResult<(MemberName, Scores)> {
        let bytes = self.bytes()?;
        let scored = board.orders.scored(&bytes).map(|(scores, name)| (name, scores));
        scored.ok_or_else(|| bad("a member", &bytes))
    }

    /// The revision and the scores of a member of the hash. Without a value, the revision is 0. A removed member has no
    /// scores.
    pub fn value(&mut self, board: &Board) -> RedisResult<(u64, Option<Scores>)> {
        let bytes = self.bytes()?;
        if bytes.is_empty() {
            return Ok((0, None));
        }
        let (revision, scores) =
            bytes.split_first_chunk::<8>().ok_or_else(|| bad("a value", &bytes))?;
        let revision = u64::from_be_bytes(*revision);
        match board.orders.decode(scores) {
            None if !scores.is_empty() => Err(bad("a value", &bytes)),
            scores => Ok((revision, scores)),
        }
    }
}

fn bad(what: &str, bytes: &[u8]) -> RedisError {
    unknown(&format!("{what} of {} bytes", bytes.len()))
}
