//! Names and handles of further demo users, combined from given names and family names.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::data;
use super::people::PEOPLE;

/// The most demo users.
pub const PEOPLE_MAX: usize = 1_000;

/// Names, each with its form in handles if that differs. `demo/names.toml` has them.
#[derive(Default, Deserialize)]
struct Names {
    given: Vec<Vec<String>>,
    family: Vec<Vec<String>>,
}

/// Handles and names of so many demo users: the built-in ones first.
pub fn people(count: usize) -> Vec<(String, String)> {
    let built_in = PEOPLE.iter().map(|(handle, name)| ((*handle).to_owned(), (*name).to_owned()));
    let mut found: Vec<(String, String)> = built_in.take(count).collect();
    let mut taken: BTreeSet<String> =
        PEOPLE.iter().map(|(handle, _)| (*handle).to_owned()).collect();
    // the lengths of the lists have no common divisor, so every pair comes once before any comes again
    let Names { given, family } = data(include_str!("../../../demo/names.toml"));
    let pairs = given.iter().cycle().zip(family.iter().cycle());
    for (given, family) in pairs.take(given.len() * family.len()) {
        let (first, last) = (plain(given), plain(family));
        if found.len() >= count {
            break;
        }
        let initial: String = last.chars().take(1).collect();
        let forms = match found.len() % 5 {
            0 => [first.clone(), format!("{first}{last}")],
            1 => [format!("{first}_{initial}"), format!("{first}_{last}")],
            2 => [format!("{first}{last}"), format!("{last}_{first}")],
            3 => [last.clone(), format!("{first}_{last}")],
            _ => [format!("{first}_{last}"), format!("{last}{first}")],
        };
        let other = format!("{first}_{last}_{}", found.len());
        let free = forms.into_iter().find(|form| !taken.contains(form)).unwrap_or(other);
        taken.insert(free.clone());
        let name =
            [given, family].map(|forms| forms.first().map(String::as_str).unwrap_or_default());
        found.push((free, name.join(" ")));
    }
    found
}

/// The form of a name in a handle.
fn plain(forms: &[String]) -> String {
    forms.last().map(|form| form.to_lowercase()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_handles_are_valid_and_unique() {
        let people = people(PEOPLE_MAX);
        assert_eq!(people.len(), PEOPLE_MAX);
        let handles: BTreeSet<&String> = people.iter().map(|(handle, _)| handle).collect();
        let names: BTreeSet<&String> = people.iter().map(|(_, name)| name).collect();
        assert_eq!((handles.len(), names.len()), (PEOPLE_MAX, PEOPLE_MAX));
        for (handle, name) in &people {
            assert!(handle.parse::<fanfold_core::text::Handle>().is_ok(), "{handle}");
            assert_eq!(fanfold_core::text::name(name), Ok(name.as_str()));
        }
    }

    #[test]
    fn fewer_people_are_the_first_ones_of_more() {
        let many = people(60);
        for count in [1, 2, 12, 13, 40] {
            assert_eq!(people(count), many[..count], "{count}");
        }
        assert_eq!(many[0].0, "ash");
    }
}
