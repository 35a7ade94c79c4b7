//! The texts: all templates can be filled, and a long row of them is allowed, varied, and never repeats itself at once.

use std::collections::{BTreeMap, BTreeSet};

use super::*;

fn texts(seed: u64, count: usize) -> Vec<String> {
    let mut texts = Texts::new(seed);
    (0..count).map(|_| texts.text()).collect()
}

/// The names of words that a template uses, also those in its alternatives.
fn names(template: &str) -> Vec<String> {
    let of = |part| match part {
        Part::Text(_) => Vec::new(),
        Part::Word(name) => vec![name.to_owned()],
        Part::OneOf(alternatives) => alternatives.iter().flat_map(|inner| names(inner)).collect(),
    };
    parts(template).into_iter().flat_map(of).collect()
}

/// The text without its first and last words: texts that differ only there look the same.
fn beginning(text: &str) -> String {
    text.chars().take(24).collect()
}

#[test]
fn every_name_has_words_and_all_words_are_used() {
    assert!(THEMES.iter().all(|theme| theme.templates.len() >= 18) && SHARED.endings.len() >= 10);
    for (number, theme) in THEMES.iter().enumerate() {
        let used: BTreeSet<String> =
            theme.templates.iter().flat_map(|template| names(template)).collect();
        for name in &used {
            let (words, _) = words_of(number, name).unwrap_or_else(|| panic!("{{{name}}}"));
            assert!(words.len() >= 4, "{{{name}}} has few words");
            let plain = |word: &String| !word.contains(['{', '}', '[', ']', '|']);
            assert!(words.iter().all(plain), "{{{name}}}");
        }
        for name in theme.words.keys() {
            assert!(used.contains(name), "no template uses {{{name}}}");
        }
    }
}

#[test]
fn texts_are_allowed_and_complete() {
    for seed in 0..20 {
        for text in texts(seed, 1_000) {
            let allowed = fanfold_core::text::post_text(&text);
            assert_eq!(allowed.as_deref(), Ok(text.as_str()), "{text}");
            assert!(text.chars().count() >= 10, "{text}");
            let odd = ["{", "}", "[", "]", "|", "  ", " .", " ,", "..", "?.", "!.", ",,"];
            assert!(!odd.iter().any(|odd| text.contains(odd)), "{text}");
            assert!(!text.starts_with(char::is_lowercase), "{text}");
        }
    }
}

#[test]
fn texts_do_not_look_repeated() {
    for seed in 0..50 {
        let row = texts(seed, 300);
        let different: BTreeSet<&String> = row.iter().collect();
        assert_eq!(different.len(), row.len(), "seed {seed}: a text is repeated");
        let mut beginnings = BTreeMap::<String, Vec<usize>>::new();
        for (place, text) in row.iter().enumerate() {
            beginnings.entry(beginning(text)).or_default().push(place);
        }
        for (start, places) in &beginnings {
            assert!(places.len() <= 4, "seed {seed}: {} texts begin with {start:?}", places.len());
            let apart = places.windows(2).map(|pair| pair[1] - pair[0]).min();
            assert!(
                apart.is_none_or(|apart| apart >= 8),
                "seed {seed}: {start:?} is repeated soon"
            );
        }
        let lengths: Vec<usize> = row.iter().map(|text| text.chars().count()).collect();
        let short = lengths.iter().filter(|length| **length < 70).count();
        let long = lengths.iter().filter(|length| **length > 200).count();
        assert!(short >= 30 && long >= 15, "seed {seed}: {short} short, {long} long");
        let tagged = row.iter().filter(|text| text.contains(" #")).count();
        assert!((40..=110).contains(&tagged), "seed {seed}: {tagged} texts with tags");
        assert!(row.iter().any(|text| text.contains('\n')), "seed {seed}: no line break");
    }
}

#[test]
fn a_seed_gives_the_same_texts_again() {
    assert_eq!(texts(7, 50), texts(7, 50));
    assert_ne!(texts(7, 50), texts(8, 50));
}

#[test]
fn sentences_begin_with_capitals() {
    let made = sentences("ten minutes. my train is late! \"so what?\" he said\n- garlic\n2. eggs");
    assert_eq!(made, "Ten minutes. My train is late! \"So what?\" he said\n- garlic\n2. Eggs");
}
