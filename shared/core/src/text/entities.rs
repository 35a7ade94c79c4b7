//! Mentions, tags and links inside a text.
//!
//! Offsets count Unicode code points, as Python does. In JavaScript, `Array.from(text)` has one element for each.
//!
//! **Links** are `http` and `https` URLs, as [`linkify`] finds them. A link ends where a script begins that is written without
//! spaces, or an emoji, or punctuation outside ASCII. Other URLs and e-mail addresses are text, but nothing is found in them.
//!
//! **Tags** are the hashtag identifiers of [UAX #31](https://www.unicode.org/reports/tr31/#hashtag_identifiers), with at least one
//! letter or pictograph. They are compared in the form of [`folded`], and shown as they were written.
//!
//! **Mentions** are `@` and a handle, in upper or lower case.
//!
//! A mention or tag does not begin inside a word. In scripts without spaces, every character may be the end of one.

use icu_casemap::CaseMapper;
use icu_normalizer::ComposingNormalizer;
use icu_properties::props::{
    Alphabetic, BinaryProperty as _, DefaultIgnorableCodePoint, EmojiComponent,
    EnumeratedProperty as _, ExtendedPictographic, GeneralCategory, GeneralCategoryGroup,
    LineBreak, RegionalIndicator, XidContinue,
};
use linkify::{LinkFinder, LinkKind};

use super::Handle;
use crate::limits::HANDLE_CHARS_MAX;

/// Entities of each kind in one text. What is beyond them is text.
pub const ENTITIES_MAX: usize = 30;
/// Code points of a tag, as it is written and in the form for comparisons.
pub const TAG_CHARS_MAX: usize = 100;

/// A mention, tag or link, and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The first code point, with its sign.
    pub start: usize,
    /// The code point after the last one.
    pub end: usize,
    pub entity: Entity,
}

/// What a part of a text means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entity {
    /// A handle, which may belong to nobody.
    Mention(Handle),
    /// A tag in the form in which it is compared, without its sign.
    Tag(String),
    /// An `http` or `https` URL.
    Link(String),
}

/// The form in which tags are compared: without the difference of upper and lower case, of width, of composed and decomposed
/// characters, and without invisible characters.
pub fn folded(tag: &str) -> String {
    let (case, form) = (CaseMapper::new(), ComposingNormalizer::new_nfkc());
    let once = |text: &str| form.normalize(&case.fold_string(&form.normalize(text))).into_owned();
    let visible: String =
        tag.chars().filter(|c| !DefaultIgnorableCodePoint::for_char(*c)).collect();
    once(&once(&visible))
}

/// Finds the mentions, tags and links of a text, in their order.
pub fn find(text: &str) -> Vec<Found> {
    let chars: Vec<(usize, char)> = text.char_indices().collect();
    let place = |byte: usize| chars.partition_point(|(at, _)| *at < byte);
    let chars: Vec<char> = text.chars().collect();
    let mut finder = LinkFinder::new();
    finder.kinds(&[LinkKind::Url, LinkKind::Email]);
    let (mut found, mut begin, mut rest) = (Vec::new(), 0, text);
    // what follows a URL that was cut may have others
    while let Some(link) = finder.links(rest).next() {
        let url = match link.kind() {
            LinkKind::Url => cut(&finder, link.as_str()),
            _ => link.as_str(),
        };
        let at = text.len() - rest.len() + link.start();
        let (start, end) = (place(at), place(at + url.len()));
        signs(&chars, begin..start, &mut found);
        if *link.kind() == LinkKind::Url && is_web(url) {
            found.push(Found { start, end, entity: Entity::Link(url.to_owned()) });
        }
        begin = end;
        // a scheme without more is passed
        let passed = if url.is_empty() {
            link.as_str().find("://").map_or(1, |at| at + 3)
        } else {
            url.len()
        };
        rest = rest.get(link.start() + passed..).unwrap_or_default();
    }
    signs(&chars, begin..chars.len(), &mut found);
    let (mut mentions, mut tags, mut links) = (0, 0, 0);
    found.retain(|found| {
        let count = match found.entity {
            Entity::Mention(_) => &mut mentions,
            Entity::Tag(_) => &mut tags,
            Entity::Link(_) => &mut links,
        };
        *count += 1;
        *count <= ENTITIES_MAX
    });
    found
}

/// Finds mentions and tags in a part of a text.
fn signs(text: &[char], part: std::ops::Range<usize>, found: &mut Vec<Found>) {
    let mut at = part.start;
    while at < part.end {
        let end = match text.get(at).copied() {
            Some('@' | '\u{ff20}') => mention(text, at),
            Some(sign) if is_hash(sign) => tag(text, at),
            _ => None,
        };
        // a mention or tag does not reach into a link
        match end.filter(|(end, _)| *end <= part.end && begins(text, at)) {
            Some((end, entity)) => {
                found.push(Found { start: at, end, entity });
                at = end;
            }
            None => at += 1,
        }
    }
}

/// Whether a mention or tag may begin here: not in a word, a path or a number.
fn begins(text: &[char], at: usize) -> bool {
    let is_mark = |c: &char| {
        GeneralCategoryGroup::Mark.contains(GeneralCategory::for_char(*c))
            || DefaultIgnorableCodePoint::for_char(*c)
    };
    // the character that marks and selectors belong to
    let before = text.iter().take(at).rev().copied().find(|c| !is_mark(c));
    before.is_none_or(|before| {
        !in_word(before) && !is_hash(before) && !"@\u{ff20}/=&$".contains(before)
    })
}

/// The end of a mention whose sign is here, and its handle.
fn mention(text: &[char], at: usize) -> Option<(usize, Entity)> {
    let is_of_handle = |c: &&char| c.is_ascii_alphanumeric() || **c == '_';
    let handle: String = text.iter().skip(at + 1).take_while(is_of_handle).collect();
    let end = at + 1 + handle.len();
    let next = text.get(end).copied();
    if handle.len() > HANDLE_CHARS_MAX
        || next.is_some_and(|c| in_word(c) || "@\u{ff20}".contains(c))
    {
        return None;
    }
    Some((end, Entity::Mention(handle.to_ascii_lowercase().parse().ok()?)))
}

/// The end of a tag whose sign is here, and its form for comparisons, which is a spelling of it.
fn tag(text: &[char], at: usize) -> Option<(usize, Entity)> {
    let written = word_of_tag(text.get(at + 1..)?)?;
    let folded = folded(&written.iter().collect::<String>());
    let form: Vec<char> = folded.chars().collect();
    let is_spelling = word_of_tag(&form).is_some_and(|word| word.len() == form.len());
    is_spelling.then_some((at + 1 + written.len(), Entity::Tag(folded)))
}

/// The tag, without its sign, with which a text begins.
fn word_of_tag(text: &[char]) -> Option<&[char]> {
    let mut end = 0;
    while let Some(c) = text.get(end).copied() {
        let joins = is_medial(c) && end > 0 && text.get(end + 1).is_some_and(|c| continues(*c));
        if !continues(c) && !joins {
            break;
        }
        end += 1;
    }
    let mut written = text.get(..end)?;
    while let [rest @ .., '-' | '+' | '\u{200d}']
    | [rest @ .., '-' | '+' | '\u{200d}', '\u{fe0e}' | '\u{fe0f}'] = written
    {
        written = rest;
    }
    let means = |c: &char| {
        Alphabetic::for_char(*c)
            || ExtendedPictographic::for_char(*c)
            || RegionalIndicator::for_char(*c)
    };
    (written.len() <= TAG_CHARS_MAX && written.iter().any(means)).then_some(written)
}

fn is_hash(c: char) -> bool {
    matches!(c, '#' | '\u{ff03}' | '\u{fe5f}')
}

/// Whether a tag goes on with this character. (`*` is part of keycaps, and more often marks bold text.)
fn continues(c: char) -> bool {
    let is_part = XidContinue::for_char(c)
        || ExtendedPictographic::for_char(c)
        || EmojiComponent::for_char(c)
        || matches!(c, '-' | '+');
    is_part && !is_hash(c) && c != '*'
}

/// Whether a tag may have this character between two others: the non-joiner, and signs of Hebrew, Tibetan and Japanese.
fn is_medial(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{5f3}' | '\u{5f4}' | '\u{f0b}' | '\u{30a0}')
}

/// Whether the character is in a word that ends at a space or at punctuation.
fn in_word(c: char) -> bool {
    XidContinue::for_char(c) && !is_spaceless(c)
}

/// Whether the character is of a script that is written without spaces, or of Hangul, whose particles follow names directly.
fn is_spaceless(c: char) -> bool {
    matches!(
        LineBreak::for_char(c),
        LineBreak::Ideographic
            | LineBreak::ComplexContext
            | LineBreak::ConditionalJapaneseStarter
            | LineBreak::Nonstarter
            | LineBreak::H2
            | LineBreak::H3
            | LineBreak::JL
            | LineBreak::JV
            | LineBreak::JT
    ) && !c.is_ascii()
}

/// A URL without what is written directly after it.
fn cut<'a>(finder: &LinkFinder, url: &'a str) -> &'a str {
    let host = url.find("://").map_or(0, |scheme| scheme + 3);
    let path = url[host..].find(['/', '?', '#']).map_or(url.len(), |length| host + length);
    let is_invisible =
        |c: char| DefaultIgnorableCodePoint::for_char(c) && !matches!(c, '\u{200c}' | '\u{200d}');
    let is_after = |c: char| {
        is_spaceless(c)
            || !c.is_ascii()
                && (ExtendedPictographic::for_char(c)
                    || c.is_whitespace()
                    || is_invisible(c)
                    || GeneralCategoryGroup::Punctuation.contains(GeneralCategory::for_char(c)))
    };
    // a host with a label in a script without spaces goes on to the path
    let labels = url[host..path].split('.');
    let is_of_label = |label: &str| label.starts_with(is_spaceless);
    let from = if labels.into_iter().any(is_of_label) { path } else { host };
    let Some(end) = url[from..].find(is_after).map(|length| from + length) else { return url };
    let cut = &url[..end];
    // without punctuation at its new end, if it is a URL still
    finder.links(cut).next().filter(|link| link.start() == 0).map_or("", |link| &cut[..link.end()])
}

fn is_web(url: &str) -> bool {
    let scheme = url.split("://").next().unwrap_or_default();
    let host = url.get(scheme.len() + 3..).unwrap_or_default();
    (scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https"))
        && host.starts_with(|c: char| c.is_alphanumeric() || c == '[')
}

#[cfg(test)]
mod tests;
