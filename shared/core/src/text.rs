//! What a person may write.

use unicode_segmentation::UnicodeSegmentation;

use crate::limits::{
    HANDLE_CHARS_MAX, NAME_BYTES_MAX, NAME_GRAPHEMES_MAX, TEXT_BYTES_MAX, TEXT_GRAPHEMES_MAX,
};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    #[error("{field} is empty")]
    Empty { field: &'static str },
    #[error("{field} has {found} characters, {max} are allowed")]
    TooLong { field: &'static str, found: usize, max: usize },
    #[error("{field} has {found} bytes, {max} are allowed")]
    TooBig { field: &'static str, found: usize, max: usize },
    #[error("{field} holds a control character")]
    Control { field: &'static str },
    #[error("handle is 1 to 30 characters of a-z, 0-9 and _")]
    Handle,
}

/// The text of a post, trimmed. Line breaks and tabs may stand in it, other controls not.
pub fn post_text(text: &str) -> Result<&str, TextError> {
    let control = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    bounded("text", text, TEXT_GRAPHEMES_MAX, TEXT_BYTES_MAX, control)
}

/// The name that is shown, trimmed.
pub fn name(name: &str) -> Result<&str, TextError> {
    bounded("name", name, NAME_GRAPHEMES_MAX, NAME_BYTES_MAX, char::is_control)
}

/// A handle, exactly as given.
pub fn handle(handle: &str) -> Result<&str, TextError> {
    let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
    if (1..=HANDLE_CHARS_MAX).contains(&handle.len()) && handle.bytes().all(fits) {
        Ok(handle)
    } else {
        Err(TextError::Handle)
    }
}

fn bounded<'a>(
    field: &'static str,
    text: &'a str,
    graphemes_max: usize,
    bytes_max: usize,
    forbidden: impl Fn(char) -> bool,
) -> Result<&'a str, TextError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(TextError::Empty { field });
    }
    // bytes first: counting clusters is only done on what may be stored
    if text.len() > bytes_max {
        return Err(TextError::TooBig { field, found: text.len(), max: bytes_max });
    }
    if text.chars().any(forbidden) {
        return Err(TextError::Control { field });
    }
    let found = text.graphemes(true).count();
    if found > graphemes_max {
        return Err(TextError::TooLong { field, found, max: graphemes_max });
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_counted_as_a_person_does() {
        let family = "👩‍👩‍👧‍👦"; // one cluster, seven code points, 25 bytes
        assert!(post_text(&family.repeat(163)).is_ok());
        assert_eq!(
            post_text(&family.repeat(164)),
            Err(TextError::TooBig { field: "text", found: 4100, max: 4096 })
        );
        assert!(post_text(&"é".repeat(500)).is_ok());
        assert!(post_text(&"e\u{301}".repeat(500)).is_ok());
        assert_eq!(
            post_text(&"a".repeat(501)),
            Err(TextError::TooLong { field: "text", found: 501, max: 500 })
        );
    }

    #[test]
    fn text_is_trimmed_and_never_empty() {
        assert_eq!(post_text("  a b\n"), Ok("a b"));
        assert_eq!(post_text(" \n\u{2003}"), Err(TextError::Empty { field: "text" }));
        assert_eq!(post_text("a\0b"), Err(TextError::Control { field: "text" }));
        assert_eq!(name("a\nb"), Err(TextError::Control { field: "name" }));
    }

    #[test]
    fn handles_are_plain() {
        assert!(handle("ada_1").is_ok() && handle(&"a".repeat(30)).is_ok());
        for bad in ["", "Ada", "a-b", "a b", "ада", " ada", &"a".repeat(31)] {
            assert_eq!(handle(bad), Err(TextError::Handle), "{bad}");
        }
    }
}
