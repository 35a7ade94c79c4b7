//! The built-in demo users: their handles, names and follows. They live in one small town by the sea.

/// The password of every demo user. It is of no use outside this machine.
pub const PASSWORD: &str = "Fanfold-demo-1";

/// The demo users for whom somebody signs in. They do nothing by themselves.
pub const VISITORS: usize = 2;

/// Handles and names.
pub const PEOPLE: [(&str, &str); 12] = [
    ("ash", "Asher Lindgren"),
    ("birch", "Birgit Chalmers"),
    ("cedar", "Cecilia Darnell"),
    ("dogwood", "Dora Woodley"),
    ("noor", "Noor Haddadin"),
    ("mateo_r", "Mateo Riveros"),
    ("hana", "Hana Mizushima"),
    ("tobi", "Tobi Adeyinka"),
    ("ines", "Inês Montalvo"),
    ("linh", "Linh Dao"),
    ("marek", "Marek Zelenka"),
    ("salome", "Salome Kiknadze"),
];

/// Who follows whom.
pub const FOLLOWS: [(&str, &[&str]); 12] = [
    ("ash", &["birch", "cedar", "noor", "hana", "tobi", "marek", "salome"]),
    ("birch", &["ash", "noor", "hana", "ines", "mateo_r", "salome"]),
    ("cedar", &["ash", "dogwood", "tobi", "linh", "ines"]),
    ("dogwood", &["ash", "birch", "cedar", "hana", "marek"]),
    ("noor", &["birch", "hana", "ines", "ash", "salome", "linh"]),
    ("mateo_r", &["salome", "linh", "tobi", "noor"]),
    ("hana", &["noor", "ash", "ines", "tobi", "cedar", "mateo_r"]),
    ("tobi", &["marek", "hana", "linh", "ash", "dogwood"]),
    ("ines", &["cedar", "noor", "hana", "birch", "tobi"]),
    ("linh", &["salome", "mateo_r", "marek", "tobi"]),
    ("marek", &["ash", "tobi", "linh", "hana"]),
    ("salome", &["mateo_r", "linh", "birch", "noor"]),
];

/// The tags that all of them follow.
pub const FOLLOWED_TAGS: [&str; 3] = ["swim", "harbour", "rhubarb"];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn people_are_valid_and_follow_others_who_exist() {
        let handles: BTreeSet<&str> = PEOPLE.iter().map(|(handle, _)| *handle).collect();
        assert_eq!(handles.len(), PEOPLE.len());
        for (handle, name) in PEOPLE {
            assert!(handle.parse::<fanfold_core::text::Handle>().is_ok(), "{handle}");
            assert_eq!(fanfold_core::text::name(name), Ok(name));
        }
        for (follower, authors) in FOLLOWS {
            let different: BTreeSet<&&str> = authors.iter().collect();
            assert_eq!(different.len(), authors.len(), "{follower}");
            assert!(handles.contains(follower) && !authors.contains(&follower), "{follower}");
            assert!(authors.iter().all(|author| handles.contains(author)), "{follower}");
        }
    }
}
