//! The names of boards and members, and the errors of what does not belong on a board.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::limits::BOARD_SCORES_MAX;
use crate::text::{TextError, path_name};

/// The reason why a text or a number does not belong on a board.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BoardError {
    /// Not the name of a board or of a member.
    #[error(transparent)]
    Name(#[from] TextError),
    /// No scores, or too many.
    #[error("a board has 1 to {BOARD_SCORES_MAX} scores, and each member has all of them")]
    Scores,
    /// Not a day.
    #[error("a day is a date such as 2030-01-31")]
    Day,
    /// Not a time zone.
    #[error("the time zone is not one of the IANA database, such as UTC or Europe/Berlin")]
    Zone,
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The name.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = BoardError;

            fn try_from(text: String) -> Result<Self, BoardError> {
                path_name(&text)?;
                Ok(Self(text))
            }
        }

        impl FromStr for $name {
            type Err = BoardError;

            fn from_str(text: &str) -> Result<Self, BoardError> {
                text.to_owned().try_into()
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }
    };
}

name! {
    /// The name of a board, unique among those of its owner.
    BoardName
}
name! {
    /// The name of a member of a board. Names of equal scores are in the order of their UTF-8 bytes.
    MemberName
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::BOARD_NAME_CHARS_MAX;

    #[test]
    fn names_are_short_and_plain() {
        let longest = "é".repeat(BOARD_NAME_CHARS_MAX);
        for name in ["a", "ann lee", "...", "{1}", "a:b;c", "猫", "👩‍👩‍👧", longest.as_str()]
        {
            assert!(name.parse::<BoardName>().is_ok(), "{name}");
            assert!(name.parse::<MemberName>().is_ok(), "{name}");
        }
        let too_long = format!("{longest}é");
        for name in [
            "",
            ".",
            "..",
            " a",
            "a\u{a0}",
            "a/b",
            "a?b",
            "a#b",
            "a%b",
            "a\\b",
            "a\nb",
            "a\u{0}",
            "\u{7f}",
            "caf\u{fffd}",
            "a\u{202e}b",
            "a\u{200b}b",
            "a\u{e0041}",
            "a\u{fffe}",
            "\u{200d}",
            "\u{301}a",
            too_long.as_str(),
        ] {
            assert!(matches!(name.parse::<BoardName>(), Err(BoardError::Name(_))), "{name:?}");
            assert!(matches!(name.parse::<MemberName>(), Err(BoardError::Name(_))), "{name:?}");
        }
        let refused = "a/b".parse::<BoardName>().unwrap_err().to_string();
        assert_eq!(refused, "name contains U+002F (/), which a path cannot carry; remove it");
    }
}
