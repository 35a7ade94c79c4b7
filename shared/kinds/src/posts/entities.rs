//! The mentions, tags and links of a post, with the users whom the mentions mean.
//!
//! Handles are looked up when a post is written, or published at its time. A mention keeps its user, whatever becomes of the
//! handle. A handle that belongs to nobody is text.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::str::FromStr;

use fanfold_core::text::entities::{self, Found};
use fanfold_core::{Handle, UserId};
use serde::{Deserialize, Serialize};

/// The entities of a text, in their order. They are stored as one string, such as `0-4@c48b64f66d8a4a58 5-9#rust 10-29`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Entities(pub Vec<Entity>);

/// A part of a text that means something. Offsets count code points.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entity {
    pub start: usize,
    pub end: usize,
    pub means: Meaning,
}

/// What a part of a text means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Meaning {
    Mention(UserId),
    /// A tag in the form in which it is compared.
    Tag(String),
    /// The part is a URL.
    Link,
}

/// What was found in a text, before its handles are looked up.
#[derive(Debug, Clone)]
pub struct Unbound {
    found: Vec<Found>,
    /// The users of handles that the post had before.
    bound: HashMap<Handle, UserId>,
}

impl Unbound {
    /// What a text has.
    pub fn of(text: &str) -> Self {
        Self { found: entities::find(text), bound: HashMap::new() }
    }

    /// What the new text of a post has. A handle that the old one had keeps its user.
    pub fn again(text: &str, (old, bound): (&str, &Entities)) -> Self {
        let bound = bound.0.iter().filter_map(|entity| match entity.means {
            Meaning::Mention(user) => Some((entity.start, user)),
            _ => None,
        });
        let bound: HashMap<usize, UserId> = bound.collect();
        let handles = entities::find(old).into_iter().filter_map(|found| match found.entity {
            entities::Entity::Mention(handle) => Some((handle, *bound.get(&found.start)?)),
            _ => None,
        });
        // mutation: bound-handles
        let bound: HashMap<Handle, UserId> = handles.collect();
        Self { bound, ..Self::of(text) }
    }

    /// The handles to look up.
    pub fn handles(&self) -> BTreeSet<&Handle> {
        let handles = self.found.iter().filter_map(|found| match &found.entity {
            entities::Entity::Mention(handle) => Some(handle),
            _ => None,
        });
        handles.filter(|handle| !self.bound.contains_key(*handle)).collect()
    }

    /// The entities, with the owners of the handles.
    pub fn bind(self, owners: &HashMap<Handle, UserId>) -> Entities {
        let Self { found, bound } = self;
        let owner = |handle: &Handle| bound.get(handle).or_else(|| owners.get(handle)).copied();
        let known = |Found { start, end, entity }| {
            let means = match entity {
                // mutation: mention-owner
                entities::Entity::Mention(handle) => Meaning::Mention(owner(&handle)?),
                entities::Entity::Tag(tag) => Meaning::Tag(tag),
                entities::Entity::Link(_) => Meaning::Link,
            };
            Some(Entity { start, end, means })
        };
        Entities(found.into_iter().filter_map(known).collect())
    }
}

impl Entities {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Entity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { start, end, means } = self;
        match means {
            Meaning::Mention(user) => write!(f, "{start}-{end}@{user}"),
            Meaning::Tag(tag) => write!(f, "{start}-{end}#{tag}"),
            Meaning::Link => write!(f, "{start}-{end}"),
        }
    }
}

impl FromStr for Entity {
    type Err = UnknownEntity;

    fn from_str(text: &str) -> Result<Self, UnknownEntity> {
        let parse = || {
            let (start, rest) = text.split_once('-')?;
            let length = rest.find(['@', '#']).unwrap_or(rest.len());
            let (end, means) = rest.split_at(length);
            let means = match means.split_at_checked(1) {
                Some(("@", user)) => Meaning::Mention(user.parse().ok()?),
                Some(("#", tag)) => Meaning::Tag(tag.to_owned()),
                _ => Meaning::Link,
            };
            Some(Self { start: start.parse().ok()?, end: end.parse().ok()?, means })
        };
        parse().ok_or_else(|| UnknownEntity(text.to_owned()))
    }
}

/// A stored entity of an unknown form.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is no entity")]
pub struct UnknownEntity(String);

impl TryFrom<String> for Entities {
    type Error = UnknownEntity;

    fn try_from(text: String) -> Result<Self, UnknownEntity> {
        text.split_ascii_whitespace().map(str::parse).collect::<Result<_, _>>().map(Self)
    }
}

impl From<Entities> for String {
    fn from(entities: Entities) -> Self {
        let entities: Vec<String> = entities.0.iter().map(Entity::to_string).collect();
        entities.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_entities_are_read_as_they_were() {
        let entity = |start, means| Entity { start, end: start + 4, means };
        let all = Entities(vec![
            entity(0, Meaning::Mention(UserId(7))),
            entity(5, Meaning::Tag("c++-日本".to_owned())),
            entity(10, Meaning::Link),
        ]);
        let text = String::from(all.clone());
        assert_eq!(text, "0-4@0000000000000007 5-9#c++-日本 10-14");
        assert_eq!(Entities::try_from(text).unwrap(), all);
        assert_eq!(Entities::try_from(String::new()).unwrap(), Entities::default());
        for unknown in ["1", "a-b", "1-2@x", "1-2!", "-1-2"] {
            assert!(unknown.parse::<Entity>().is_err(), "{unknown}");
        }
    }
}
