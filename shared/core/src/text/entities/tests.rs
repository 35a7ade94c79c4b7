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
        (&format!("@{} @{}", "a".repeat(30), "a".repeat(31)), &[&format!("@{}", "a".repeat(30))]),
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
        ("\u{2764}\u{fe0f}#love か\u{3099}@bob", &["#love", "@bob"]),
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
        ("https://www.日本語.jp/aを", &["https://www.日本語.jp/a"]),
        (
            "https://a.example/x、https://b.example/y#z、#t",
            &["https://a.example/x", "https://b.example/y#z", "#t"],
        ),
        ("https://a.exampleとhttps://b.example", &["https://a.example", "https://b.example"]),
        ("https://a.example/a\u{3000}@bob", &["https://a.example/a", "@bob"]),
        ("https://a.example\u{202f}! \u{a0}#t", &["https://a.example", "#t"]),
        ("https://a.example/\u{5d0}\u{200f} #t", &["https://a.example/\u{5d0}", "#t"]),
        ("https://、 #t", &["#t"]),
        ("https://bücher.example/é", &["https://bücher.example/é"]),
        ("ftp://example.com/#a javascript://x/#b mailto:a@b.example", &[]),
        ("example.com www.example.com", &[]),
        ("https:// http://", &[]),
        ("\u{5d0}\u{5d1} https://example.com/\u{5d0} \u{5d2}", &["https://example.com/\u{5d0}"]),
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
