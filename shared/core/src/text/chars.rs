//! Sorts of characters, as far as they matter to what may be written.

use unicode_segmentation::UnicodeSegmentation;

/// The zero-width space: says where a line may break, in scripts that write no spaces.
pub const LINE_HINT: char = '\u{200b}';

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    Control,
    /// Embeds, overrides or isolates a direction, beyond the end of the text if it is not closed.
    Direction,
    /// Shows nothing and does nothing that a text needs.
    Hidden,
    /// Means something on the writer's machine alone, or is no character at all.
    Private,
    /// Stands for an ASCII character that is not shown.
    Tag,
    /// Shows nothing by itself, and has its place in words, emoji or lines.
    Blank,
    Plain,
}

/// What is not assigned is plain: it may be next year's emoji.
pub fn sort(c: char) -> Sort {
    match c {
        _ if c.is_control() => Sort::Control,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => Sort::Direction,
        // soft hyphen, grapheme joiner, Arabic mark, Hangul fillers, Mongolian selectors
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180b}'..='\u{180f}' => {
            Sort::Blank
        }
        // joiners and marks of direction; Hangul and Braille blanks; variation selectors
        '\u{200c}'..='\u{200f}' | '\u{3164}' | '\u{ffa0}' | '\u{2800}' => Sort::Blank,
        '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => Sort::Blank,
        LINE_HINT | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}' => Sort::Hidden,
        '\u{17b4}' | '\u{17b5}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' => {
            Sort::Hidden
        }
        '\u{e0020}'..='\u{e007f}' => Sort::Tag,
        '\u{e0000}'..='\u{e0fff}' => Sort::Hidden,
        '\u{e000}'..='\u{f8ff}' | '\u{fdd0}'..='\u{fdef}' | '\u{f0000}'.. => Sort::Private,
        _ if c as u32 & 0xfffe == 0xfffe => Sort::Private,
        _ if ends_line(c) => Sort::Control,
        _ => Sort::Plain,
    }
}

/// Whether a reader sees something of it.
pub fn is_seen(c: char) -> bool {
    sort(c) == Sort::Plain && !c.is_whitespace()
}

/// The line and the paragraph separator.
pub fn ends_line(c: char) -> bool {
    matches!(c, '\u{2028}' | '\u{2029}')
}

/// Whether a text begins with a mark, which would be drawn over what an app shows before it.
pub fn joins(text: &str) -> bool {
    let Some(first) = text.chars().next() else { return false };
    String::from_iter(['a', first]).graphemes(true).count() == 1
}

/// The first tag of a cluster, unless the cluster is a flag that is spelled with tags.
pub fn stray_tag(cluster: &str) -> Option<char> {
    let tag = cluster.chars().find(|c| sort(*c) == Sort::Tag)?;
    let inner = cluster.strip_prefix('\u{1f3f4}').and_then(|rest| rest.strip_suffix('\u{e007f}'));
    let flag = inner.is_some_and(|tags| {
        !tags.is_empty() && tags.chars().all(|c| matches!(c, '\u{e0020}'..='\u{e007e}'))
    });
    (!flag).then_some(tag)
}
