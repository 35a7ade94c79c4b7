//! Texts of people who share short notes: templates of several themes, filled with words.
//!
//! | module | does |
//! | --- | --- |
//! | [`theme`] | the form of a theme and of its templates |
//! | [`deck`] | draws without repetition |
//! | [`weather`], [`cooking`], [`running`], [`books`], [`work`], [`music`], [`town`], [`everyday`] | a theme each |

mod books;
mod cooking;
mod deck;
mod everyday;
mod music;
mod running;
mod theme;
mod town;
mod weather;
mod work;

use std::collections::{HashMap, VecDeque};

use fastrand::Rng;

use deck::Deck;
use theme::{Part, Theme, parts};

const THEMES: [&Theme; 8] = [
    &weather::WEATHER,
    &cooking::COOKING,
    &running::RUNNING,
    &books::BOOKS,
    &work::WORK,
    &music::MUSIC,
    &town::TOWN,
    &everyday::EVERYDAY,
];
/// The texts that are remembered, so that none is repeated among them.
const REMEMBERED: usize = 500;
/// Tries to find a text that was not written lately.
const TRIES: usize = 20;
/// One short text in this many ends with an emoji.
const ENDING_IN: usize = 5;
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
            endings: Deck::new(everyday::ENDINGS.len()),
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
        let template = self.templates.get_mut(number).and_then(|deck| deck.draw(&mut self.rng));
        let templates = THEMES.get(number).map(|theme| theme.templates).unwrap_or_default();
        let template = template.and_then(|place| templates.get(place)).copied().unwrap_or_default();
        let text = self.filled(number, template);
        let text = sentences(&text);
        let is_plain = text.len() < ENDING_BELOW && text.is_ascii() && !text.contains('\n');
        if !is_plain || self.rng.usize(..ENDING_IN) > 0 {
            return text;
        }
        let ending = self.endings.draw(&mut self.rng).and_then(|n| everyday::ENDINGS.get(n));
        format!("{text} {}", ending.copied().unwrap_or_default()).trim_end().to_owned()
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
        deck.draw(&mut self.rng).and_then(|place| words.get(place)).copied().unwrap_or_default()
    }
}

/// The words of a name, and the number of the theme that they belong to, or the number of themes if all share them.
fn words_of(theme: usize, name: &str) -> Option<(&'static [&'static str], usize)> {
    let own = THEMES.get(theme).map(|theme| theme.words).unwrap_or_default();
    let find = |lists: &[(&str, &'static [&'static str])]| {
        lists.iter().find(|(list, _)| *list == name).map(|(_, words)| *words)
    };
    let own = find(own).map(|words| (words, theme));
    own.or_else(|| find(everyday::SHARED).map(|words| (words, THEMES.len())))
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
