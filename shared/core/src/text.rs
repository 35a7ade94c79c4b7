//! What a person may write.
//!
//! Texts and names are kept as they were written: nothing is told apart by them, so nothing is
//! normalized, and every script is welcome. Refused is what reaches out of the text into what an
//! app shows around it, and what is there without being seen.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation;

use crate::limits::{
    GRAPHEME_CHARS_MAX, HANDLE_CHARS_MAX, NAME_BYTES_MAX, NAME_GRAPHEMES_MAX, TEXT_BYTES_MAX,
    TEXT_GRAPHEMES_MAX,
};

mod chars;

use chars::Sort;

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
    #[error("{field} holds U+{:04X}, which overrides the direction of writing", *.char as u32)]
    Direction { field: &'static str, char: char },
    #[error("{field} holds U+{:04X}, which nobody sees", *.char as u32)]
    Hidden { field: &'static str, char: char },
    #[error("{field} holds U+{:04X}, which is no character for everybody", *.char as u32)]
    Private { field: &'static str, char: char },
    #[error("{field} has a character of {found} code points, {max} are allowed")]
    Stacked { field: &'static str, found: usize, max: usize },
    #[error("{field} begins with a mark that would join what stands before it")]
    Joining { field: &'static str },
    #[error("handle is 1 to 30 characters of a-z, 0-9 and _")]
    Handle,
}

/// The text of a post, trimmed, its lines ended by `\n`. Tabs may stand in it, other controls not.
pub fn post_text(text: &str) -> Result<Cow<'_, str>, TextError> {
    let allowed = |c| matches!(c, '\n' | '\r' | '\t' | chars::LINE_HINT) || chars::ends_line(c);
    let text = bounded("text", text, TEXT_GRAPHEMES_MAX, TEXT_BYTES_MAX, allowed)?;
    if !text.contains(|c| c == '\r' || chars::ends_line(c)) {
        return Ok(Cow::Borrowed(text));
    }
    Ok(Cow::Owned(text.replace("\r\n", "\n").replace(|c| c == '\r' || chars::ends_line(c), "\n")))
}

/// The name that is shown, trimmed. It is one line.
pub fn name(name: &str) -> Result<&str, TextError> {
    bounded("name", name, NAME_GRAPHEMES_MAX, NAME_BYTES_MAX, |_| false)
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
    allowed: impl Fn(char) -> bool,
) -> Result<&'a str, TextError> {
    let text = text.trim();
    // bytes first: everything else is only looked at on what may be stored
    if text.len() > bytes_max {
        return Err(TextError::TooBig { field, found: text.len(), max: bytes_max });
    }
    for char in text.chars().filter(|char| !allowed(*char)) {
        match chars::sort(char) {
            Sort::Control => return Err(TextError::Control { field }),
            Sort::Direction => return Err(TextError::Direction { field, char }),
            Sort::Hidden => return Err(TextError::Hidden { field, char }),
            Sort::Private => return Err(TextError::Private { field, char }),
            Sort::Tag | Sort::Blank | Sort::Plain => {}
        }
    }
    if !text.chars().any(chars::is_seen) {
        return Err(TextError::Empty { field });
    }
    if chars::joins(text) {
        return Err(TextError::Joining { field });
    }
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
        assert_eq!(post_text("  a b\n").as_deref(), Ok("a b"));
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

    /// What people write, with and without what nobody sees.
    #[test]
    fn every_script_is_welcome_and_kept_as_it_was_written() {
        for written in [
            "é and e\u{301}",
            "می\u{200c}خواهم", // Persian, with a non-joiner inside the word
            "שלום\u{200f}, \u{200e}Fanfold", // Hebrew, with marks of direction
            "النص\u{61c} 1",
            "क\u{94d}\u{200d}ष र्त्स्न्य", // a joiner, and a conjunct of five consonants
            "ཧྐྵྨླྺྼྻྂ",
            "ทำนำ้",
            "👩🏽\u{200d}❤\u{fe0f}\u{200d}💋\u{200d}👨🏿 👩🏽\u{200d}👩🏽\u{200d}👧🏽\u{200d}👦🏽",
            "🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f} 1\u{fe0f}\u{20e3}",
            "葛\u{e0100}城 ㍿ ﾊﾝｸﾞﾙ",
            "co\u{ad}operate",
            "\u{1fc00}", // not assigned: next year's emoji, maybe
        ] {
            assert_eq!(post_text(written).as_deref(), Ok(written), "{written:?}");
            assert_eq!(name(written), Ok(written), "{written:?}");
        }
        // Khmer is written with zero-width spaces between words
        let khmer = "សួស្តី\u{200b}ពិភពលោក";
        assert_eq!(post_text(khmer).as_deref(), Ok(khmer));
        assert_eq!(name(khmer), Err(TextError::Hidden { field: "name", char: '\u{200b}' }));
    }

    #[test]
    fn what_reaches_out_of_the_text_or_is_not_seen_is_refused() {
        for char in ('\u{202a}'..='\u{202e}').chain('\u{2066}'..='\u{2069}') {
            let text = format!("a{char}b");
            assert_eq!(post_text(&text), Err(TextError::Direction { field: "text", char }));
            assert_eq!(name(&text), Err(TextError::Direction { field: "name", char }));
        }
        for char in
            "\u{2060}\u{2064}\u{206a}\u{feff}\u{fff0}\u{fffb}\u{1d173}\u{e0000}\u{e0fff}\u{17b4}"
                .chars()
        {
            let text = format!("a{char}b");
            assert_eq!(post_text(&text), Err(TextError::Hidden { field: "text", char }));
            assert_eq!(name(&text), Err(TextError::Hidden { field: "name", char }));
        }
        for char in "\u{e000}\u{f8ff}\u{f0000}\u{10fffd}\u{fdd0}\u{ffff}\u{1fffe}".chars() {
            let text = format!("a{char}b");
            assert_eq!(post_text(&text), Err(TextError::Private { field: "text", char }));
        }
        for control in ["a\u{1b}[2Jb", "a\u{7}b", "a\u{85}b", "a\u{9b}b", "a\u{7f}b"] {
            assert_eq!(post_text(control), Err(TextError::Control { field: "text" }));
        }
        // tags spell out text that is not seen, but for the flags of three countries
        for tags in
            ["a\u{e0041}", "🏴\u{e0067}", "🏴\u{e007f}", "👍\u{e0067}\u{e007f}", "\u{e0067}"]
        {
            assert!(post_text(&format!("x {tags} y")).is_err(), "{tags:?}");
        }
        let detail = post_text("a\u{202e}b").unwrap_err().to_string();
        assert_eq!(detail, "text holds U+202E, which overrides the direction of writing");
    }

    #[test]
    fn what_shows_nothing_is_empty() {
        for blank in [
            "\u{200d}",
            "\u{200e}\u{200f}",
            "\u{3164}",
            "\u{2800} \u{ffa0}",
            "\u{fe0f}",
            "\u{ad}",
            "\u{115f}\u{1160}",
        ] {
            assert_eq!(post_text(blank), Err(TextError::Empty { field: "text" }), "{blank:?}");
            assert_eq!(name(blank), Err(TextError::Empty { field: "name" }), "{blank:?}");
        }
    }

    #[test]
    fn marks_do_not_pile_up_nor_join_what_stands_before() {
        let stacked = |count| format!("a{}", "\u{301}".repeat(count));
        assert!(post_text(&stacked(GRAPHEME_CHARS_MAX - 1)).is_ok());
        let found = GRAPHEME_CHARS_MAX + 1;
        let error = TextError::Stacked { field: "text", found, max: GRAPHEME_CHARS_MAX };
        assert_eq!(post_text(&stacked(GRAPHEME_CHARS_MAX)), Err(error));
        assert!(name(&stacked(150)).is_err());
        for joining in ["\u{336}a", "\u{20dd}", "\u{fe0f}a", "\u{200d}a"] {
            assert_eq!(
                post_text(joining),
                Err(TextError::Joining { field: "text" }),
                "{joining:?}"
            );
        }
    }

    #[test]
    fn lines_end_in_one_way() {
        let text = "a\r\nb\rc\u{2028}d\u{2029}e\nf\tg";
        assert_eq!(post_text(text).as_deref(), Ok("a\nb\nc\nd\ne\nf\tg"));
        for line in ["a\rb", "a\tb", "a\u{2028}b", "a\u{2029}b"] {
            assert!(name(line).is_err(), "{line:?}");
        }
    }
}
