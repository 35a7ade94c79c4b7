//! The tags of a post.

use std::collections::{BTreeMap, BTreeSet};

use fanfold_core::{Tag, TagHash};

use crate::posts::entities::{Entities, Meaning};

/// The tags of a post.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tagging {
    /// Those of the present text, as it has them. None, if the post is gone.
    pub present: BTreeMap<TagHash, String>,
    /// Those of all texts that it had.
    pub ever: BTreeSet<TagHash>,
}

/// The tags of a text, as it has them, without their signs. Of one tag, the first place counts.
pub fn names(text: &str, entities: &Entities) -> BTreeMap<TagHash, String> {
    let mut names = BTreeMap::new();
    for entity in &entities.0 {
        if let Meaning::Tag(tag) = &entity.means {
            let name = text.chars().skip(entity.start + 1);
            let name = name.take(entity.end.saturating_sub(entity.start + 1));
            names.entry(Tag::of_entity(tag).hash()).or_insert_with(|| name.collect());
        }
    }
    names
}

/// The tags of a text.
pub fn hashes(entities: &Entities) -> impl Iterator<Item = TagHash> {
    entities.0.iter().filter_map(|entity| match &entity.means {
        Meaning::Tag(tag) => Some(Tag::of_entity(tag).hash()),
        Meaning::Mention(_) | Meaning::Link => None,
    })
}
