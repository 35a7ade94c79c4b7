//! Texts of people who share short notes: templates of several themes, filled with words. The files in `demo/texts` have the
//! themes.

mod deck;
mod theme;

use std::collections::{HashMap, VecDeque};
use std::sync::LazyLock;

use fastrand::Rng;
use serde::Deserialize;

use deck::Deck;
use theme::{Part, Theme, parts};

use super::data;

macro_rules! themes {
    ($($name:literal)*) => {
        [$(include_str!(concat!("../../../../demo/texts/", $name, ".toml"))),*]
    };
}

static THEMES: LazyLock<Vec<Theme>> = LazyLock::new(|| {
    themes!["weather" "cooking" "running" "books" "work" "music" "town" "everyday"].map(data).into()
});

/// What all themes share.
#[derive(Default, Deserialize)]
struct Shared {
    /// What may follow a short text.
    endings: Vec<String>,
    words: HashMap<String, Vec<String>>,
}

static SHARED: LazyLock<Shared> =
    LazyLock::new(|| data(include_str!("../../../../demo/texts/shared.toml")));

/// The texts that are remembered, so that none is repeated among them.
const REMEMBERED: usize = 500;
/// Tries to find a text that was not written lately.
const TRIES: usize = 20;
/// One short text in this many ends with an emoji.
const ENDING_IN: usize = 5;
/// One text in this many ends with a tag.
const TAG_IN: usize = 4;
/// The length from which a text has no such ending, in bytes.
const ENDING_BELOW: usize = 110;

/// An endless row of texts. The same seed gives the same texts.
pub struct Texts {
    rng: Rng,
    themes: Deck,
    templates: Vec<Deck>,
    endings: Deck,
    /// A deck for each list of words, by its theme and its name.
    words: HashMap<(usize, &'static str), Deck>,
    written: VecDeque<String>,
}

impl Texts {
    pub fn new(seed: u64) -> Self {
        Self {
            rng: Rng::with_seed(seed),
            themes: Deck::new(THEMES.len()),
            templates: THEMES.iter().map(|theme| Deck::new(theme.templates.len())).collect(),
            endings: Deck::new(SHARED.endings.len()),
            words: HashMap::new(),
            written: VecDeque::new(),
        }
    }

    /// The next text.
    pub fn text(&mut self) -> String {
        let mut text = self.any();
        for _ in 0..TRIES {
            if !self.written.contains(&text) {
                break;
            }
            text = self.any();
        }
        if self.written.len() == REMEMBERED {
            self.written.pop_front();
        }
        self.written.push_back(text.clone());
        text
    }

    fn any(&mut self) -> String {
        let number = self.themes.draw(&mut self.rng).unwrap_or_default();
        let place = self.templates.get_mut(number).and_then(|deck| deck.draw(&mut self.rng));
        let template = THEMES.get(number).zip(place).and_then(|(theme, n)| theme.templates.get(n));
        let text = self.filled(number, template.map(String::as_str).unwrap_or_default());
        let text = sentences(&text);
        let is_plain = text.len() < ENDING_BELOW && text.is_ascii() && !text.contains('\n');
        if self.rng.usize(..TAG_IN) == 0 {
            let tags = THEMES.get(number).map_or(&[][..], |theme| &theme.tags);
            return self.rng.choice(tags).map_or(text.clone(), |tag| format!("{text} {tag}"));
        }
        if !is_plain || self.rng.usize(..ENDING_IN) > 0 {
            return text;
        }
        let ending = self.endings.draw(&mut self.rng).and_then(|n| SHARED.endings.get(n));
        format!("{text} {}", ending.map(String::as_str).unwrap_or_default()).trim_end().to_owned()
    }

    fn filled(&mut self, theme: usize, template: &'static str) -> String {
        let mut text = String::new();
        for part in parts(template) {
            match part {
                Part::Text(plain) => text.push_str(plain),
                Part::Word(name) => text.push_str(self.word(theme, name)),
                Part::OneOf(alternatives) => {
                    let chosen = self.rng.choice(alternatives).unwrap_or_default();
                    text.push_str(&self.filled(theme, chosen));
                }
            }
        }
        text
    }

    fn word(&mut self, theme: usize, name: &'static str) -> &'static str {
        let Some((words, owner)) = words_of(theme, name) else { return "" };
        let deck = self.words.entry((owner, name)).or_insert_with(|| Deck::new(words.len()));
        let word = deck.draw(&mut self.rng).and_then(|place| words.get(place));
        word.map(String::as_str).unwrap_or_default()
    }
}

/// The words of a name, and the number of the theme that they belong to, or the number of themes if all share them.
fn words_of(theme: usize, name: &str) -> Option<(&'static [String], usize)> {
    let own = THEMES.get(theme).and_then(|theme| theme.words.get(name));
    let shared = || SHARED.words.get(name).map(|words| (words.as_slice(), THEMES.len()));
    own.map(|words| (words.as_slice(), theme)).or_else(shared)
}

/// Makes the first letter of each sentence a capital: words are written as they are in the middle of a sentence.
fn sentences(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    let (mut starts, mut ended) = (true, false);
    for letter in text.chars() {
        if starts && letter.is_alphabetic() {
            written.extend(letter.to_uppercase());
        } else {
            written.push(letter);
        }
        starts = ended && letter == ' ' || starts && !letter.is_alphanumeric() && letter != '-';
        ended = ['.', '!', '?'].contains(&letter);
    }
    written
}

#[cfg(test)]
mod tests;
