//! Names and handles of further demo users, combined from given names and family names.

use std::collections::BTreeSet;

use super::people::PEOPLE;

/// The most demo users.
pub const PEOPLE_MAX: usize = 1_000;

/// Given names, each with its form in a handle if that differs.
const GIVEN: [(&str, &str); 60] = [
    ("Mira", ""),
    ("Jonas", ""),
    ("Aïcha", "aicha"),
    ("Pelle", ""),
    ("Yusuf", ""),
    ("Greta", ""),
    ("Rafael", ""),
    ("Zofia", ""),
    ("Kwame", ""),
    ("Elodie", ""),
    ("Anselm", ""),
    ("Priya", ""),
    ("Tomás", "tomas"),
    ("Freya", ""),
    ("Idris", ""),
    ("Maren", ""),
    ("Luca", ""),
    ("Nadia", ""),
    ("Oskar", ""),
    ("Amina", ""),
    ("Henrik", ""),
    ("Chiara", ""),
    ("Daniel", ""),
    ("Leila", ""),
    ("Bao", ""),
    ("Ursula", ""),
    ("Søren", "soren"),
    ("Vera", ""),
    ("Kofi", ""),
    ("Marta", ""),
    ("Emre", ""),
    ("Solveig", ""),
    ("Arjun", ""),
    ("Beatriz", ""),
    ("Niklas", ""),
    ("Farah", ""),
    ("Gwen", ""),
    ("Pavel", ""),
    ("Lotte", ""),
    ("Samir", ""),
    ("Ingrid", ""),
    ("Mateja", ""),
    ("Ravi", ""),
    ("Clara", ""),
    ("Dmitri", ""),
    ("Esther", ""),
    ("Joaquim", ""),
    ("Hedda", ""),
    ("Malik", ""),
    ("Rosa", ""),
    ("Yara", ""),
    ("Casper", ""),
    ("Ngozi", ""),
    ("Björn", "bjorn"),
    ("Teresa", ""),
    ("Ilse", ""),
    ("Omar", ""),
    ("Petra", ""),
    ("Wen", ""),
    ("Fiona", ""),
];

/// Family names, in the same form.
const FAMILY: [(&str, &str); 59] = [
    ("Okonkwo", ""),
    ("Halvorsen", ""),
    ("Barros", ""),
    ("Whitlock", ""),
    ("Petrosyan", ""),
    ("Tanaka", ""),
    ("Brandt", ""),
    ("Marchetti", ""),
    ("Svoboda", ""),
    ("Osei", ""),
    ("Lindholm", ""),
    ("Quiroga", ""),
    ("Farrow", ""),
    ("Demir", ""),
    ("Kowalczyk", ""),
    ("Iyer", ""),
    ("Thorne", ""),
    ("Belkacem", ""),
    ("Novotná", "novotna"),
    ("Ashdown", ""),
    ("Castellano", ""),
    ("Mbatha", ""),
    ("Jansen", ""),
    ("Vasquez", ""),
    ("Holloway", ""),
    ("Rahimi", ""),
    ("Dubois", ""),
    ("Engström", "engstrom"),
    ("Pham", ""),
    ("Carrow", ""),
    ("Sato", ""),
    ("Winther", ""),
    ("Achterberg", ""),
    ("Moreau", ""),
    ("Nakagawa", ""),
    ("Fennimore", ""),
    ("Szabo", ""),
    ("Tesfaye", ""),
    ("Ravn", ""),
    ("Greenhalgh", ""),
    ("Bianchi", ""),
    ("Oyelaran", ""),
    ("Hartwell", ""),
    ("Lemaire", ""),
    ("Georgiou", ""),
    ("Karimi", ""),
    ("Selwyn", ""),
    ("Ferreira", ""),
    ("Kallio", ""),
    ("Pemberton", ""),
    ("Zhang", ""),
    ("Ostrowski", ""),
    ("Devereux", ""),
    ("Amadi", ""),
    ("Keller", ""),
    ("Mondal", ""),
    ("Rask", ""),
    ("Villanueva", ""),
    ("Birkett", ""),
];

/// Handles and names of so many demo users: the built-in ones first.
pub fn people(count: usize) -> Vec<(String, String)> {
    let built_in = PEOPLE.iter().map(|(handle, name)| ((*handle).to_owned(), (*name).to_owned()));
    let mut found: Vec<(String, String)> = built_in.take(count).collect();
    let mut taken: BTreeSet<String> =
        PEOPLE.iter().map(|(handle, _)| (*handle).to_owned()).collect();
    // the lengths of the lists have no common divisor, so every pair comes once before any comes again
    let pairs = GIVEN.iter().cycle().zip(FAMILY.iter().cycle());
    for ((given, given_plain), (family, family_plain)) in pairs.take(GIVEN.len() * FAMILY.len()) {
        if found.len() >= count {
            break;
        }
        let (first, last) = (plain(given, given_plain), plain(family, family_plain));
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
        found.push((free, format!("{given} {family}")));
    }
    found
}

/// The form of a name in a handle.
fn plain(name: &str, given: &str) -> String {
    if given.is_empty() { name.to_lowercase() } else { given.to_owned() }
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
