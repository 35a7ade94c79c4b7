//! Tags as names of feeds.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::text::entities::{self, Entity};

/// A tag in the form in which tags are compared, without its sign.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Tag(String);

/// A text that is no tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a tag has letters, digits, marks, pictographs and _, and at least one letter or pictograph"
)]
pub struct TagError;

/// 64 bits of a SHA-256 over a tag. Keys have it instead of the tag, which may be longer than a key. Two tags with the same hash
/// share their rows, and readers pass over the posts of the other one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TagHash(pub u64);

impl TagHash {
    /// Stands for all posts, as if all of them had this tag. The public feed has them.
    pub const PUBLIC: Self = Self(0);
}

impl Tag {
    /// The tag of an entity, which was folded when the text was written.
    pub fn of_entity(folded: &str) -> Self {
        Self(folded.to_owned())
    }

    /// A tag as somebody writes it, without its sign.
    pub fn without_sign(text: &str) -> &str {
        text.strip_prefix(['#', '\u{ff03}', '\u{fe5f}']).unwrap_or(text)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn hash(&self) -> TagHash {
        let hash = Sha256::digest(&self.0);
        TagHash(hash.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }
}

/// Reads a tag as somebody writes it, with or without its sign.
impl FromStr for Tag {
    type Err = TagError;

    fn from_str(text: &str) -> Result<Self, TagError> {
        let text = format!("#{}", Self::without_sign(text));
        let whole = text.chars().count();
        match entities::find(&text).pop() {
            Some(found) if found.start == 0 && found.end == whole => match found.entity {
                Entity::Tag(tag) => Ok(Self(tag)),
                _ => Err(TagError),
            },
            _ => Err(TagError),
        }
    }
}

impl TryFrom<String> for Tag {
    type Error = TagError;

    fn try_from(text: String) -> Result<Self, TagError> {
        text.parse()
    }
}

impl From<Tag> for String {
    fn from(tag: Tag) -> Self {
        tag.0
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for TagHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_read_in_every_spelling() {
        for written in ["Straße", "#STRASSE", "\u{ff03}strasse", "ｓtrasse"] {
            assert_eq!(
                written.parse::<Tag>().map(String::from).as_deref(),
                Ok("strasse"),
                "{written}"
            );
        }
        for written in ["", "#", "##a", "a b", "12", "a#b", "#a ", "@a", "https://a.example"] {
            assert_eq!(written.parse::<Tag>(), Err(TagError), "{written}");
        }
        // what an answer shows is a tag in a path
        let is_folded = |c: &char| entities::folded(&c.to_string()) != c.to_string();
        for c in ('\u{80}'..='\u{1ffff}').filter(is_folded) {
            for written in [format!("{c}"), format!("a{c}"), format!("a{c}\u{fe0f}b")] {
                if let Ok(Tag(form)) = written.parse() {
                    assert_eq!(form.parse(), Ok(Tag(form.clone())), "{written:?}");
                }
            }
        }
        assert!(["\u{203c}", &"ß".repeat(51)].iter().all(|tag| tag.parse::<Tag>().is_err()));
        assert!("ß".repeat(50).parse::<Tag>().is_ok());
        let hash = |tag: &str| tag.parse::<Tag>().unwrap().hash();
        assert!(hash("Rust") == hash("rust") && hash("rust") != hash("rusty"));
    }
}
