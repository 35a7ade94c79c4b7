//! The rules for texts and names as regular expressions, for the API's description.
//!
//! A pattern cannot count characters as a person does, so the patterns are a little stricter than the
//! rules: every code point except an accent counts, a character has at most [`ACCENTS_MAX`] accents, and
//! flags that are spelled with tags are not allowed. A value that matches and has the allowed length is
//! always accepted. A value that does not match is refused, except for such flags, such accents, and long
//! texts of characters with several code points.
//!
//! Characters above U+FFFF are written literally, because all regular expression engines read that form.

use crate::limits::{ACCENTS_MAX, NAME_GRAPHEMES_MAX, TEXT_GRAPHEMES_MAX};

/// The pattern of the text of a post.
pub fn post_text() -> String {
    pattern(REFUSED_IN_TEXTS, TEXT_GRAPHEMES_MAX)
}

/// The pattern of a name.
pub fn name() -> String {
    pattern(REFUSED_IN_NAMES, NAME_GRAPHEMES_MAX)
}

/// A pattern of three parts: at least one character is visible; the first character does not join the
/// text before it; up to `max` characters, with at most 9 white space characters on each side. The longest
/// match is shorter than the field's limit, so fuzzers that search for values at the limit stop at once.
fn pattern(refused: &str, max: usize) -> String {
    format!(
        "^(?=[{UNSEEN}]*[^{UNSEEN}])(?![{SPACE}]*[{JOINING}])\
         [{SPACE}]{{0,9}}([^{refused}{ACCENT}][{ACCENT}]{{0,{ACCENTS_MAX}}}){{1,{max}}}[{SPACE}]{{0,9}}$"
    )
}

const ACCENT: &str = r"\u0300-\u036f";
const SPACE: &str = "\\u0009-\\u000d\\u0020\\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028-\\u2029\\u202f\\u205f\\u3000";
const UNSEEN: &str = "\\u0009-\\u000d\\u0020\\u0085\\u00a0\\u00ad\\u034f\\u061c\\u115f-\\u1160\\u1680\\u180b-\\u180f\\u2000-\\u200f\\u2028-\\u2029\\u202f\\u205f\\u2800\\u3000\\u3164\\ufe00-\\ufe0f\\uffa0\u{e0100}-\u{e01ef}";
const JOINING: &str = "\\u0300-\\u036f\\u0483-\\u0489\\u0591-\\u05bd\\u064b-\\u065f\\u0670\\u1ab0-\\u1ace\\u1dc0-\\u1dff\\u200c-\\u200d\\u20d0-\\u20f0\\u302a-\\u302f\\u3099-\\u309a\\ufe00-\\ufe0f\\ufe20-\\ufe2f\u{1f3fb}-\u{1f3ff}\u{e0100}-\u{e01ef}";
const REFUSED_IN_TEXTS: &str = "\\u0000-\\u0008\\u000b-\\u000c\\u000e-\\u001f\\u007f-\\u009f\\u17b4-\\u17b5\\u202a-\\u202e\\u2060-\\u206f\\ue000-\\uf8ff\\ufdd0-\\ufdef\\ufeff\\ufff0-\\ufffb\\ufffe-\\uffff\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{1fffe}-\u{1ffff}\u{2fffe}-\u{2ffff}\u{3fffe}-\u{3ffff}\u{4fffe}-\u{4ffff}\u{5fffe}-\u{5ffff}\u{6fffe}-\u{6ffff}\u{7fffe}-\u{7ffff}\u{8fffe}-\u{8ffff}\u{9fffe}-\u{9ffff}\u{afffe}-\u{affff}\u{bfffe}-\u{bffff}\u{cfffe}-\u{cffff}\u{dfffe}-\u{e00ff}\u{e01f0}-\u{e0fff}\u{efffe}-\u{10ffff}";
const REFUSED_IN_NAMES: &str = "\\u0000-\\u001f\\u007f-\\u009f\\u17b4-\\u17b5\\u200b\\u2028-\\u202e\\u2060-\\u206f\\ue000-\\uf8ff\\ufdd0-\\ufdef\\ufeff\\ufff0-\\ufffb\\ufffe-\\uffff\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{1fffe}-\u{1ffff}\u{2fffe}-\u{2ffff}\u{3fffe}-\u{3ffff}\u{4fffe}-\u{4ffff}\u{5fffe}-\u{5ffff}\u{6fffe}-\u{6ffff}\u{7fffe}-\u{7ffff}\u{8fffe}-\u{8ffff}\u{9fffe}-\u{9ffff}\u{afffe}-\u{affff}\u{bfffe}-\u{bffff}\u{cfffe}-\u{cffff}\u{dfffe}-\u{e00ff}\u{e01f0}-\u{e0fff}\u{efffe}-\u{10ffff}";

#[cfg(test)]
mod tests {
    use super::super::chars::{self, Sort};
    use super::super::{Bounds, NAME, TEXT};
    use super::*;

    /// The characters for which `member` holds, in the notation of a character class.
    fn class(member: impl Fn(char) -> bool) -> String {
        let escaped = |c: char| match u32::from(c) {
            code @ ..=0xffff => format!("\\u{code:04x}"),
            _ => c.to_string(),
        };
        let mut ranges: Vec<(char, char)> = Vec::new();
        for c in ('\0'..=char::MAX).filter(|c| member(*c)) {
            match ranges.last_mut() {
                // the code points between U+D7FF and U+E000 are not characters
                Some((_, last)) if (*last..=c).nth(1) == Some(c) => *last = c,
                _ => ranges.push((c, c)),
            }
        }
        let range = |(first, last)| match first == last {
            true => escaped(first),
            false => format!("{}-{}", escaped(first), escaped(last)),
        };
        ranges.into_iter().map(range).collect()
    }

    fn refused(bounds: &Bounds) -> String {
        let plain = |c| matches!(chars::sort(c), Sort::Plain | Sort::Blank);
        class(|c| !plain(c) && !(bounds.allowed)(c))
    }

    #[test]
    fn the_classes_agree_with_the_rules() {
        let unseen = |c| (TEXT.allowed)(c) || chars::sort(c) == Sort::Blank || c.is_whitespace();
        let classes = [
            ("SPACE", SPACE, class(char::is_whitespace)),
            ("UNSEEN", UNSEEN, class(unseen)),
            ("JOINING", JOINING, class(chars::joins)),
            ("REFUSED_IN_TEXTS", REFUSED_IN_TEXTS, refused(&TEXT)),
            ("REFUSED_IN_NAMES", REFUSED_IN_NAMES, refused(&NAME)),
        ];
        let wrong = classes.into_iter().filter(|(_, found, right)| found != right);
        let wrong: Vec<String> = wrong
            .map(|(name, _, right)| format!("const {name}: &str = \"{}\";", right.escape_default()))
            .collect();
        assert!(wrong.is_empty(), "these should be:\n{}", wrong.join("\n"));
    }
}
