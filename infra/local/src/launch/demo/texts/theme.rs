//! A theme: templates of texts, and the words that they are filled with.
//!
//! In a template, `{name}` stands for one of the words of that name, and `[one|two]` for one of the alternatives. An
//! alternative may contain `{name}`, but no further alternatives.

use std::collections::HashMap;

use serde::Deserialize;

#[derive(Default, Deserialize)]
pub struct Theme {
    pub templates: Vec<String>,
    /// What some texts end with.
    pub tags: Vec<String>,
    /// Names, each with its words.
    pub words: HashMap<String, Vec<String>>,
}

/// A part of a template.
#[derive(Debug, PartialEq, Eq)]
pub enum Part<'a> {
    Text(&'a str),
    Word(&'a str),
    OneOf(Vec<&'a str>),
}

/// The parts of a template. A bracket without its end is text.
pub fn parts(template: &str) -> Vec<Part<'_>> {
    let mut found = Vec::new();
    let mut rest = template;
    while let Some(at) = rest.find(['{', '[']) {
        let (text, opened) = rest.split_at(at);
        let close = if opened.starts_with('{') { '}' } else { ']' };
        let Some((inner, after)) = opened.split_at(1).1.split_once(close) else { break };
        if !text.is_empty() {
            found.push(Part::Text(text));
        }
        found.push(match close {
            '}' => Part::Word(inner),
            _ => Part::OneOf(inner.split('|').collect()),
        });
        rest = after;
    }
    if !rest.is_empty() {
        found.push(Part::Text(rest));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{Part, parts};

    #[test]
    fn templates_are_read() {
        let read = parts("[A|Two {b}] of {c}.");
        let alternatives = vec!["A", "Two {b}"];
        let expected =
            [Part::OneOf(alternatives), Part::Text(" of "), Part::Word("c"), Part::Text(".")];
        assert_eq!(read, expected);
        assert_eq!(parts("a [b"), [Part::Text("a [b")]);
    }
}
