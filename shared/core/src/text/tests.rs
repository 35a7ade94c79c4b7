use super::*;

#[test]
fn characters_are_counted_as_a_person_counts_them() {
    let family = "👩‍👩‍👧‍👦"; // one cluster, seven code points, 25 bytes
    assert!(post_text(&family.repeat(163)).is_ok());
    assert_eq!(
        post_text(&family.repeat(164)),
        Err(TextError::TooBig { field: "text", found: 4100, max: 4096 })
    );
    let padded = |spaces| format!("{}a", " ".repeat(spaces));
    assert_eq!(post_text(&padded(TEXT_CHARS_MAX - 1)).as_deref(), Ok("a"));
    let (found, max) = (TEXT_CHARS_MAX + 1, TEXT_CHARS_MAX);
    assert_eq!(
        post_text(&padded(TEXT_CHARS_MAX)),
        Err(TextError::TooMany { field: "text", found, max })
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
    let handle = |text: &str| text.parse::<Handle>();
    assert!(handle("ada_1").is_ok() && handle(&"a".repeat(30)).is_ok());
    for bad in ["", "Ada", "a-b", "a b", "ада", " ada", &"a".repeat(31)] {
        assert_eq!(handle(bad), Err(TextError::Handle), "{bad}");
    }
}

/// Texts of many scripts, some with invisible characters that the script needs.
#[test]
fn every_script_is_kept_as_it_was_written() {
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
        "\u{1fc00}", // unassigned
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
fn invisible_characters_and_characters_that_alter_the_surroundings_are_refused() {
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
    // tags spell invisible text, except in the flags of three countries
    for tags in ["a\u{e0041}", "🏴\u{e0067}", "🏴\u{e007f}", "👍\u{e0067}\u{e007f}", "\u{e0067}"]
    {
        assert!(post_text(&format!("x {tags} y")).is_err(), "{tags:?}");
    }
    let detail = post_text("a\u{202e}b").unwrap_err().to_string();
    let expected = "text contains U+202E, which overrides the direction of writing; remove it";
    assert_eq!(detail, expected);
    let detail = post_text("a\u{7}b").unwrap_err().to_string();
    let expected = "text contains a control character; only line breaks and tabs are allowed";
    assert_eq!(detail, expected);
}

#[test]
fn a_text_without_visible_characters_is_empty() {
    for blank in [
        "\u{200d}",
        "\u{200e}\u{200f}",
        "\u{3164}",
        "\u{2800} \u{ffa0}",
        "\u{fe0f}",
        "\u{ad}",
        "\u{115f}\u{1160}",
        "\u{1d159}",          // a null notehead
        "\u{13441}\u{13442}", // blanks of hieroglyphs
        "\u{13430}\u{1343f}", // their joiners and brackets
        "\u{16fe4}",          // a filler of the Khitan script
        "\u{1107f}",          // a joiner of Brahmi numbers
        "\u{1039} \u{17d2}",  // stackers of consonants
        "\u{1bc9d}\u{1da9b}", // a selector and a modifier
        "\u{180e}\u{180b}",
    ] {
        assert_eq!(post_text(blank), Err(TextError::Empty { field: "text" }), "{blank:?}");
        assert_eq!(name(blank), Err(TextError::Empty { field: "name" }), "{blank:?}");
    }
}

#[test]
fn marks_neither_pile_up_nor_join_the_text_before() {
    let stacked = |count| format!("a{}", "\u{301}".repeat(count));
    assert!(post_text(&stacked(GRAPHEME_CHARS_MAX - 1)).is_ok());
    let found = GRAPHEME_CHARS_MAX + 1;
    let error = TextError::Stacked { field: "text", found, max: GRAPHEME_CHARS_MAX };
    assert_eq!(post_text(&stacked(GRAPHEME_CHARS_MAX)), Err(error));
    assert!(name(&stacked(150)).is_err());
    for joining in ["\u{336}a", "\u{20dd}a", "\u{fe0f}a", "\u{200d}a"] {
        assert_eq!(post_text(joining), Err(TextError::Joining { field: "text" }), "{joining:?}");
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
