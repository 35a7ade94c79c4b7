//! The sorts of characters that the rules for texts distinguish.
//!
//! What is refused is a policy, not a property of Unicode, so these ranges stand here. What is visible, and where grapheme
//! clusters end, are properties, which come from crates. The API's description contains both as regular expressions; a
//! test of `pattern` fails if a new version of Unicode changes them.

use icu_properties::props::{
    BinaryProperty as _, DefaultIgnorableCodePoint, EnumeratedProperty as _, GeneralCategory,
    PrependedConcatenationMark,
};

/// The zero-width space. It marks where a line may break, in scripts without spaces.
pub const LINE_HINT: char = '\u{200b}';

/// The sort of a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// A control character, or a separator of lines or paragraphs.
    Control,
    /// Embeds, overrides or isolates a direction. If it is not closed, it affects the surrounding text.
    Direction,
    /// Invisible, and not needed by any text.
    Hidden,
    /// A private-use character, or a code point that is not a character.
    Private,
    /// A tag: an invisible copy of an ASCII character.
    Tag,
    /// Any other character.
    Plain,
}

/// The sort of a character. Unassigned code points are plain: a later version of Unicode may assign them.
pub fn sort(c: char) -> Sort {
    match c {
        _ if c.is_control() => Sort::Control,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => Sort::Direction,
        LINE_HINT | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}' => Sort::Hidden,
        '\u{17b4}' | '\u{17b5}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' => {
            Sort::Hidden
        }
        '\u{e0020}'..='\u{e007f}' => Sort::Tag,
        // variation selectors
        '\u{e0100}'..='\u{e01ef}' => Sort::Plain,
        '\u{e0000}'..='\u{e0fff}' => Sort::Hidden,
        '\u{e000}'..='\u{f8ff}' | '\u{fdd0}'..='\u{fdef}' | '\u{f0000}'.. => Sort::Private,
        _ if c as u32 & 0xfffe == 0xfffe => Sort::Private,
        _ if ends_line(c) => Sort::Control,
        _ => Sort::Plain,
    }
}

/// Whether the character is visible by itself. Marks, joiners and fillers are used in words, but a text of them alone is
/// blank. Unassigned code points are visible, as boxes.
pub fn is_seen(c: char) -> bool {
    use GeneralCategory::{EnclosingMark, Format, NonspacingMark};
    sort(c) == Sort::Plain
        && !c.is_whitespace()
        && !matches!(GeneralCategory::for_char(c), EnclosingMark | NonspacingMark)
        // signs of Arabic, Syriac and Kaithi are formats, because they are written around the numbers that follow them
        && (GeneralCategory::for_char(c) != Format || PrependedConcatenationMark::for_char(c))
        && !DefaultIgnorableCodePoint::for_char(c)
        // blanks of Braille, hieroglyphs and musical notes, which only their names tell
        && !matches!(c, '\u{2800}' | '\u{13441}' | '\u{13442}' | '\u{1d159}')
}

/// Whether a path loses the character, or makes another one of it: gateways and proxies decode `/`, `?`, `#`, `%` and `\`
/// before they read the path, and replace bytes that are not UTF-8.
pub fn is_lost_in_paths(c: char) -> bool {
    matches!(c, '/' | '?' | '#' | '%' | '\\' | char::REPLACEMENT_CHARACTER)
}

/// Whether this is the line separator or the paragraph separator.
pub fn ends_line(c: char) -> bool {
    matches!(c, '\u{2028}' | '\u{2029}')
}

/// Whether the character is drawn on the character before it, or changes it, in any script. At the start
/// of a text it would join the characters that an app shows before the text. Signs of a single script are
/// not included: without a base character of that script, they are shown on a dotted circle.
pub fn joins(c: char) -> bool {
    matches!(c,
        '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{591}'..='\u{5bd}' | '\u{64b}'..='\u{65f}'
        | '\u{670}' | '\u{1ab0}'..='\u{1ace}' | '\u{1dc0}'..='\u{1dff}' | '\u{200c}'..='\u{200d}'
        | '\u{20d0}'..='\u{20f0}' | '\u{302a}'..='\u{302f}' | '\u{3099}'..='\u{309a}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{fe20}'..='\u{fe2f}' | '\u{1f3fb}'..='\u{1f3ff}'
        | '\u{e0100}'..='\u{e01ef}')
}

/// The first tag of a grapheme cluster. `None` if there is no tag, or if the cluster is a flag that is
/// spelled with tags.
pub fn stray_tag(cluster: &str) -> Option<char> {
    let tag = cluster.chars().find(|c| sort(*c) == Sort::Tag)?;
    let inner = cluster.strip_prefix('\u{1f3f4}').and_then(|rest| rest.strip_suffix('\u{e007f}'));
    let flag = inner.is_some_and(|tags| {
        !tags.is_empty() && tags.chars().all(|c| matches!(c, '\u{e0020}'..='\u{e007e}'))
    });
    (!flag).then_some(tag)
}
