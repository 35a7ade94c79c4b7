//! The rules for texts of posts, names and handles.
//!
//! Texts and names are stored as they were written. They identify nothing, so they are not normalized, and
//! every script is allowed. Invisible characters, and characters that alter the text that an app shows around
//! them, are refused.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use unicode_segmentation::UnicodeSegmentation;

use crate::limits::{
    ALT_GRAPHEMES_MAX, BOARD_NAME_CHARS_MAX, EXTRAS_BYTES_MAX, GRAPHEME_CHARS_MAX,
    HANDLE_CHARS_MAX, NAME_BYTES_MAX, NAME_CHARS_MAX, NAME_GRAPHEMES_MAX, TEXT_BYTES_MAX,
    TEXT_CHARS_MAX, TEXT_GRAPHEMES_MAX,
};

mod chars;
pub mod entities;
pub mod pattern;

use chars::Sort;

/// The reason why a text, name or handle is refused. `field` is the field of the request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// No visible character.
    #[error("{field} has no visible character; at least one is required")]
    Empty { field: &'static str },
    /// Too many grapheme clusters.
    #[error("{field} has {found} characters; at most {max} are allowed")]
    TooLong { field: &'static str, found: usize, max: usize },
    /// Too many code points, with the white space around the text.
    #[error(
        "{field} has {found} code points with the white space around it; at most {max} are allowed"
    )]
    TooMany { field: &'static str, found: usize, max: usize },
    /// Too many bytes of UTF-8.
    #[error("{field} has {found} bytes; at most {max} are allowed")]
    TooBig { field: &'static str, found: usize, max: usize },
    /// A control character.
    #[error("{field} contains a control character; {}", allowed_controls(.field))]
    Control { field: &'static str },
    /// A character that overrides the direction of writing.
    #[error(
        "{field} contains U+{:04X}, which overrides the direction of writing; remove it",
        *.char as u32
    )]
    Direction { field: &'static str, char: char },
    /// An invisible character.
    #[error("{field} contains U+{:04X}, which is invisible; remove it", *.char as u32)]
    Hidden { field: &'static str, char: char },
    /// A private-use character, or a code point that is not a character.
    #[error(
        "{field} contains U+{:04X}, which is for private use or not a character; remove it",
        *.char as u32
    )]
    Private { field: &'static str, char: char },
    /// A grapheme cluster of too many code points.
    #[error("{field} has a character of {found} code points; at most {max} are allowed")]
    Stacked { field: &'static str, found: usize, max: usize },
    /// A character that a path cannot carry.
    #[error("{field} contains U+{:04X} ({char}), which a path cannot carry; remove it", *.char as u32)]
    Path { field: &'static str, char: char },
    /// White space around a name that identifies something.
    #[error("{field} begins or ends with white space; remove it")]
    Padded { field: &'static str },
    /// A name that clients and proxies remove from a path.
    #[error("{field} is . or .., which clients remove from a path; choose another one")]
    Dots { field: &'static str },
    /// A combining mark at the start.
    #[error("{field} begins with a combining mark; it must begin with another character")]
    Joining { field: &'static str },
    /// Not a handle.
    #[error("handle must have 1 to 30 characters of a-z, 0-9 and _")]
    Handle,
}

/// The control characters that a field may contain, for an error.
fn allowed_controls(field: &str) -> &'static str {
    if [TEXT.field, ALT.field, BIO.field].contains(&field) {
        "only line breaks and tabs are allowed"
    } else {
        "line breaks, tabs and other control characters are not allowed"
    }
}

/// Checks the text of a post. Returns it trimmed, with `\n` for every line break. Tabs are allowed, other
/// control characters are not.
pub fn post_text(text: &str) -> Result<Cow<'_, str>, TextError> {
    lines(&TEXT, text)
}

/// Checks the description of an attachment as the text of a post is checked, but it may be empty.
pub fn alt(text: &str) -> Result<String, TextError> {
    or_empty(text, lines(&ALT, text))
}

/// Checks what a user says about themselves as the text of a post is checked, but it may be empty.
pub fn bio(text: &str) -> Result<String, TextError> {
    or_empty(text, lines(&BIO, text))
}

/// Checks the label of a link as a name is checked, but it may be empty.
pub fn label(label: &str) -> Result<String, TextError> {
    or_empty(label, bounded(&Bounds { field: "label", ..NAME }, label).map(Cow::Borrowed))
}

fn or_empty(sent: &str, checked: Result<Cow<'_, str>, TextError>) -> Result<String, TextError> {
    // what is never allowed is not an empty text, either
    let is_refused = |c| chars::sort(c) == Sort::Tag;
    let is_plain = !sent.contains(is_refused) && !sent.trim().starts_with(chars::joins);
    match checked {
        Err(TextError::Empty { .. }) if is_plain => Ok(String::new()),
        checked => checked.map(Cow::into_owned),
    }
}

fn lines<'a>(bounds: &Bounds, text: &'a str) -> Result<Cow<'a, str>, TextError> {
    let text = bounded(bounds, text)?;
    if !text.contains(|c| c == '\r' || chars::ends_line(c)) {
        return Ok(Cow::Borrowed(text));
    }
    Ok(Cow::Owned(text.replace("\r\n", "\n").replace(|c| c == '\r' || chars::ends_line(c), "\n")))
}

/// Checks a name, which is one line. Returns it trimmed.
pub fn name(name: &str) -> Result<&str, TextError> {
    bounded(&NAME, name)
}

/// The unique handle of a user: 1 to 30 characters of `a` to `z`, `0` to `9` and `_`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Handle(String);

impl Handle {
    /// The handle without `@`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The first 64 bits of a SHA-256 over a handle. Keys have it instead of the handle, which may be somebody's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HandleHash(pub u64);

impl HandleHash {
    /// The hash of a handle.
    pub fn of(handle: &Handle) -> Self {
        let hash = Sha256::digest(handle.as_str());
        Self(hash.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }
}

impl fmt::Display for HandleHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for Handle {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        text.to_owned().try_into()
    }
}

impl TryFrom<String> for Handle {
    type Error = TextError;

    fn try_from(text: String) -> Result<Self, TextError> {
        let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
        if (1..=HANDLE_CHARS_MAX).contains(&text.len()) && text.bytes().all(fits) {
            Ok(Self(text))
        } else {
            Err(TextError::Handle)
        }
    }
}

impl From<Handle> for String {
    fn from(handle: Handle) -> Self {
        handle.0
    }
}

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl PartialEq<str> for Handle {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}

impl PartialEq<&str> for Handle {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

/// The bounds of one field.
struct Bounds {
    field: &'static str,
    graphemes_max: usize,
    bytes_max: usize,
    /// Code points of the field as it was sent, with the white space around it.
    chars_max: usize,
    /// The characters that are allowed besides plain ones.
    allowed: fn(char) -> bool,
}

const TEXT: Bounds = Bounds {
    field: "text",
    graphemes_max: TEXT_GRAPHEMES_MAX,
    bytes_max: TEXT_BYTES_MAX,
    chars_max: TEXT_CHARS_MAX,
    allowed: |c| matches!(c, '\n' | '\r' | '\t' | chars::LINE_HINT) || chars::ends_line(c),
};

const ALT: Bounds = Bounds {
    field: "alt",
    graphemes_max: ALT_GRAPHEMES_MAX,
    bytes_max: EXTRAS_BYTES_MAX,
    chars_max: EXTRAS_BYTES_MAX,
    ..TEXT
};

const BIO: Bounds = Bounds { field: "bio", ..TEXT };

const NAME: Bounds = Bounds {
    field: "name",
    graphemes_max: NAME_GRAPHEMES_MAX,
    bytes_max: NAME_BYTES_MAX,
    chars_max: NAME_CHARS_MAX,
    allowed: |_| false,
};

fn bounded<'a>(bounds: &Bounds, sent: &'a str) -> Result<&'a str, TextError> {
    let Bounds { field, graphemes_max, bytes_max, chars_max, allowed } = *bounds;
    let found = sent.chars().count();
    if found > chars_max {
        return Err(TextError::TooMany { field, found, max: chars_max });
    }
    let text = sent.trim();
    // bytes first, so that the other checks read at most `bytes_max` bytes
    if text.len() > bytes_max {
        return Err(TextError::TooBig { field, found: text.len(), max: bytes_max });
    }
    for char in text.chars().filter(|char| !allowed(*char)) {
        plain(field, char)?;
    }
    readable(field, text)?;
    let mut found = 0;
    for grapheme in text.graphemes(true) {
        found += 1;
        let stacked = grapheme.chars().count();
        if stacked > GRAPHEME_CHARS_MAX {
            return Err(TextError::Stacked { field, found: stacked, max: GRAPHEME_CHARS_MAX });
        }
        if let Some(char) = chars::stray_tag(grapheme) {
            return Err(TextError::Hidden { field, char });
        }
    }
    if found > graphemes_max {
        return Err(TextError::TooLong { field, found, max: graphemes_max });
    }
    Ok(text)
}

/// Refuses a character that no field may contain.
pub(crate) fn plain(field: &'static str, char: char) -> Result<(), TextError> {
    match chars::sort(char) {
        Sort::Control => Err(TextError::Control { field }),
        Sort::Direction => Err(TextError::Direction { field, char }),
        Sort::Hidden => Err(TextError::Hidden { field, char }),
        Sort::Private => Err(TextError::Private { field, char }),
        Sort::Tag | Sort::Plain => Ok(()),
    }
}

/// Refuses a text that shows nothing, or that joins the text before it.
fn readable(field: &'static str, text: &str) -> Result<(), TextError> {
    if !text.chars().any(chars::is_seen) {
        return Err(TextError::Empty { field });
    }
    if text.starts_with(chars::joins) {
        return Err(TextError::Joining { field });
    }
    Ok(())
}

/// Checks the name of a board or a member, which identifies it and is part of paths. Its characters are those of the name of a
/// user, without tags and without those that a path cannot carry.
pub fn path_name(name: &str) -> Result<(), TextError> {
    let field = "name";
    let found = name.chars().count();
    if found > BOARD_NAME_CHARS_MAX {
        return Err(TextError::TooLong { field, found, max: BOARD_NAME_CHARS_MAX });
    }
    for char in name.chars() {
        plain(field, char)?;
        if chars::sort(char) == Sort::Tag {
            return Err(TextError::Hidden { field, char });
        }
        if chars::is_lost_in_paths(char) {
            return Err(TextError::Path { field, char });
        }
    }
    readable(field, name)?;
    if name.trim() != name {
        return Err(TextError::Padded { field });
    }
    if matches!(name, "." | "..") {
        return Err(TextError::Dots { field });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
