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
/// Code points of a tag.
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
    let (mut found, mut begin) = (Vec::new(), 0);
    for link in finder.links(text) {
        let url = match link.kind() {
            LinkKind::Url => cut(&finder, link.as_str()),
            _ => link.as_str(),
        };
        let (start, end) = (place(link.start()), place(link.start() + url.len()));
        signs(&chars, begin..start, &mut found);
        if *link.kind() == LinkKind::Url && is_web(url) {
            found.push(Found { start, end, entity: Entity::Link(url.to_owned()) });
        }
        begin = end;
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
    let before = at.checked_sub(1).and_then(|before| text.get(before).copied());
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

/// The end of a tag whose sign is here, and its form for comparisons.
fn tag(text: &[char], at: usize) -> Option<(usize, Entity)> {
    let mut end = at + 1;
    while let Some(c) = text.get(end).copied() {
        let joins =
            is_medial(c) && end > at + 1 && text.get(end + 1).is_some_and(|c| continues(*c));
        if !continues(c) && !joins {
            break;
        }
        end += 1;
    }
    let mut written = text.get(at + 1..end)?;
    while let [rest @ .., '-' | '+' | '\u{200d}'] = written {
        (written, end) = (rest, end - 1);
    }
    let means = |c: &char| {
        Alphabetic::for_char(*c)
            || ExtendedPictographic::for_char(*c)
            || RegionalIndicator::for_char(*c)
    };
    if written.len() > TAG_CHARS_MAX || !written.iter().any(means) {
        return None;
    }
    let folded = folded(&written.iter().collect::<String>());
    (!folded.is_empty()).then_some((end, Entity::Tag(folded)))
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
    let is_after = |c: char| {
        is_spaceless(c)
            || ExtendedPictographic::for_char(c) && !c.is_ascii()
            || GeneralCategoryGroup::Punctuation.contains(GeneralCategory::for_char(c))
                && !c.is_ascii()
    };
    // a host in a script without spaces goes on to the path
    let from = if url[host..].starts_with(is_after) { path } else { host };
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
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What is found, as it was written, with the handle, tag or URL if it differs.
    fn shown(text: &str) -> Vec<String> {
        let chars: Vec<char> = text.chars().collect();
        let show = |found: Found| {
            let written: String = chars[found.start..found.end].iter().collect();
            let (bare, entity) = match found.entity {
                Entity::Mention(handle) => {
                    (written.trim_start_matches(['@', '\u{ff20}']), handle.to_string())
                }
                Entity::Tag(tag) => (written.trim_start_matches(is_hash), tag),
                Entity::Link(url) => (&written[..], url),
            };
            if bare == entity { written } else { format!("{written} = {entity}") }
        };
        find(text).into_iter().map(show).collect()
    }

    #[track_caller]
    fn check(cases: &[(&str, &[&str])]) {
        for (text, expected) in cases {
            assert_eq!(shown(text), *expected, "{text:?}");
        }
    }

    #[test]
    fn mentions_are_found_outside_words_and_addresses() {
        check(&[
            ("@bob", &["@bob"]),
            ("Hello @Bob_1, and .@carol!", &["@Bob_1 = bob_1", "@carol"]),
            ("Done.@bob (@carol) \"@dan\" -@eve", &["@bob", "@carol", "@dan", "@eve"]),
            ("write to bob@example.com or bob@localhost", &[]),
            ("@bob@example.social is elsewhere", &[]),
            ("a@b @@bob /@bob =@bob", &[]),
            ("@bobé @bob\u{301} é@bob", &[]),
            ("@bob's @bob: @bob.", &["@bob", "@bob", "@bob"]),
            ("@ bob @- @", &[]),
            (
                &format!("@{} @{}", "a".repeat(30), "a".repeat(31)),
                &[&format!("@{}", "a".repeat(30))],
            ),
            ("https://example.com/@bob @carol", &["https://example.com/@bob", "@carol"]),
        ]);
    }

    #[test]
    fn scripts_without_spaces_surround_mentions_and_tags() {
        check(&[
            ("これは@bobです", &["@bob"]),
            ("你好@bob。", &["@bob"]),
            ("안녕@bob님", &["@bob"]),
            ("สวัสดี@bobครับ", &["@bob"]),
            ("今日は#東京 は晴れ", &["#東京"]),
            ("＃東京、﹟京都", &["＃東京", "﹟京都"]),
            ("＠bob", &["＠bob"]),
        ]);
    }

    #[test]
    fn tags_are_hashtag_identifiers_of_any_script() {
        check(&[
            ("#Rust #rust_2024, (#a) #x.", &["#Rust = rust", "#rust_2024", "#a", "#x"]),
            ("#Straße #ΣΊΣΥΦΟΣ", &["#Straße = strasse", "#ΣΊΣΥΦΟΣ = σίσυφοσ"]),
            ("#ﾊﾝｶｸ #ＡＢＣ", &["#ﾊﾝｶｸ = ハンカク", "#ＡＢＣ = abc"]),
            ("#cafe\u{301}", &["#cafe\u{301} = café"]),
            ("#हिन्दी #தமிழ் #ไทย", &["#हिन्दी", "#தமிழ்", "#ไทย"]),
            ("#می\u{200c}خواهم", &["#می\u{200c}خواهم = میخواهم"]),
            ("#עברית #ת״א", &["#עברית", "#ת״א"]),
            (
                "#🎉 #👩\u{200d}💻 #🇪🇺 #love❤\u{fe0f}",
                &["#🎉", "#👩\u{200d}💻 = 👩💻", "#🇪🇺", "#love❤\u{fe0f} = love❤"],
            ),
            ("#1 #2024 #_ #- # ##a #", &[]),
            ("#1st #a-b #a- #c++ C# a#b &#39; /#a", &["#1st", "#a-b", "#a", "#c"]),
            ("#a#b", &["#a"]),
            ("*#bold*", &["#bold"]),
            (
                &format!("#{} #{}", "a".repeat(100), "b".repeat(101)),
                &[&format!("#{}", "a".repeat(100))],
            ),
        ]);
    }

    #[test]
    fn links_end_where_a_reader_would_end_them() {
        check(&[
            ("See https://example.com/a#b.", &["https://example.com/a#b"]),
            (
                "(http://example.com/a_(b)) HTTPS://Example.com",
                &["http://example.com/a_(b)", "HTTPS://Example.com"],
            ),
            (
                "https://example.com/#tag?x=@bob&y=#z #t",
                &["https://example.com/#tag?x=@bob&y=#z", "#t"],
            ),
            ("https://example.comを見て", &["https://example.com"]),
            ("https://example.com/aを見て", &["https://example.com/a"]),
            ("「https://example.com/a」。", &["https://example.com/a"]),
            ("https://example.com/a,日本", &["https://example.com/a"]),
            ("https://example.com🎉", &["https://example.com"]),
            ("https://日本語.jp/a", &["https://日本語.jp/a"]),
            ("https://bücher.example/é", &["https://bücher.example/é"]),
            ("ftp://example.com/#a javascript://x/#b mailto:a@b.example", &[]),
            ("example.com www.example.com", &[]),
            ("https:// http://", &[]),
            (
                "\u{5d0}\u{5d1} https://example.com/\u{5d0} \u{5d2}",
                &["https://example.com/\u{5d0}"],
            ),
        ]);
    }

    #[test]
    fn offsets_count_code_points() {
        let text = "👩\u{200d}💻 @bob 𝒳 #tag";
        let places: Vec<(usize, usize)> =
            find(text).into_iter().map(|found| (found.start, found.end)).collect();
        assert_eq!(places, [(4, 8), (11, 15)]);
    }

    #[test]
    fn what_is_beyond_thirty_of_a_kind_is_text() {
        for count in [30, 31] {
            let text: String =
                (0..count).map(|n| format!("@u{n} #t{n} https://example.com/{n} ")).collect();
            assert_eq!(find(&text).len(), 90);
        }
    }

    proptest! {
        /// Entities are in order, do not overlap, and are found again in the text that they cover.
        #[test]
        fn every_entity_is_in_its_place(text in "([@#＃/.:é 日🎉a-c]|https://a\\.example){0,40}") {
            let chars: Vec<char> = text.chars().collect();
            let mut end = 0;
            for found in find(&text) {
                prop_assert!(end <= found.start && found.start < found.end, "{:?}", found);
                end = found.end;
                let written: String = chars[found.start..found.end].iter().collect();
                let again = find(&written);
                prop_assert_eq!(again.len(), 1, "{:?}", written);
                prop_assert_eq!(&again[0].entity, &found.entity);
            }
        }

        #[test]
        fn folding_twice_is_folding_once(tag in "\\PC{0,20}") {
            let once = folded(&tag);
            prop_assert_eq!(folded(&once), once);
        }
    }
}
