//! The heads of an author: the newest posts, in the item of the profile.
//!
//! A rebuild of a home feed needs the newest posts of each followed author. With heads, it reads a hundred authors in one call,
//! instead of making a query for each. Every publication and deletion writes the profile anyway, for the counter of posts, so
//! heads cost no call, no unit and no conflict: a head has 8 bytes ([`PostId::head`]), and a profile stays below 1 KB.
//!
//! **The law.** The heads are the author's published posts above the floor (`head_floor`), which never falls. A publication
//! adds a head, and a deletion removes it, in the transaction that writes the post. A post that is published at or below the
//! floor, because it was scheduled for earlier, has no head.
//!
//! A publication that has read [`HeadBounds::max`] heads *cuts* them: it leaves the newest ones, with its own, and raises the
//! floor to the newest of the others, on condition that the heads are as they were read. A head is added on condition that
//! it is above the floor, and that there are fewer than `max`. If a condition fails, because others have published meanwhile,
//! the profile is read again.
//!
//! DynamoDB may show one item of a transaction a moment before the other. Dispatch therefore waits until the profile has the
//! head of its post: whoever makes a feed live after that reads it.

use fanfold_core::{PostId, Slice, UserId};
use fanfold_engines::table::{Item, Write, number, words, words_of};
use fanfold_runtime::error::StoreError;

/// The bounds of the heads of an author. A test has lower ones.
#[derive(Debug, Clone, Copy)]
pub struct HeadBounds {
    /// With this many heads, a publication cuts them. A profile with so many, and with the longest name, is below 1 KB.
    pub max: usize,
    /// The heads that are left after a cut, with that of the new post.
    pub kept: usize,
}

impl HeadBounds {
    pub const USUAL: Self = Self { max: 35, kept: 24 };
}

/// The heads of an author, as they were read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heads {
    /// All heads in the item, in the order of the answer.
    pub(super) read: Vec<u64>,
    pub(super) floor: u64,
}

/// What a change of the posts of an author does to the heads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeadChange {
    /// Adds the head of a new post, on condition that there are fewer heads than this, and a lower floor.
    Add(u64, usize),
    /// Replaces the heads that were read, on condition that they are the same.
    Cut { read: Vec<u64>, kept: Vec<u64>, floor: u64 },
    /// Removes the head of a deleted post, if it is there.
    Remove(u64),
    /// The new post is at or below the floor.
    Nothing,
}

impl Heads {
    /// Those of an author without posts.
    pub const EMPTY: Self = Self { read: Vec::new(), floor: 0 };

    /// The heads in the item of a profile.
    pub(super) fn of(doing: &'static str, item: &Item) -> Result<Self, StoreError> {
        let floor = item.get("head_floor").and_then(|floor| floor.as_n().ok()?.parse().ok());
        let heads = words_of(item, "heads").zip(floor);
        let (read, floor) = heads.ok_or_else(|| StoreError::Item {
            doing,
            source: "the heads have another form".into(),
        })?;
        Ok(Self { read, floor })
    }

    /// Whether the profile knows a post that is published: it is among the heads, or not above their floor.
    pub fn know(&self, post: PostId) -> bool {
        post.head() <= self.floor || self.read.contains(&post.head())
    }

    /// The newest posts of the author, down to the floor.
    pub fn newest(&self, author: UserId) -> Slice {
        let mut heads = self.read.clone();
        heads.sort_unstable_by(|a, b| b.cmp(a));
        let posts = heads.into_iter().map(|head| PostId::of_head(head, author)).collect();
        let bound = match self.floor {
            0 => PostId::MIN,
            floor => PostId::of_head(floor, UserId(u64::MAX)),
        };
        Slice { posts, bound }
    }

    /// The change for a new post of the author.
    pub fn published(&self, post: PostId, bounds: HeadBounds) -> HeadChange {
        let added = post.head();
        if added <= self.floor {
            return HeadChange::Nothing;
        }
        if self.read.len() < bounds.max {
            return HeadChange::Add(added, bounds.max);
        }
        let mut kept = self.read.clone();
        kept.push(added);
        kept.sort_unstable_by(|a, b| b.cmp(a));
        // mutation: head-cut-floor
        let floor = kept.get(bounds.kept).copied().unwrap_or(self.floor);
        kept.truncate(bounds.kept);
        HeadChange::Cut { read: self.read.clone(), kept, floor }
    }
}

impl HeadChange {
    /// The change for a new post of an author whose heads were not read.
    pub fn unread(post: PostId, bounds: HeadBounds) -> Self {
        Self::Add(post.head(), bounds.max)
    }

    /// Adds the change to a write of the profile with this expression, which begins with `ADD`, and this condition.
    pub(super) fn in_write(&self, update: Write, adds: String, condition: String) -> Write {
        let (expression, condition) = match self {
            Self::Nothing => (adds, condition),
            // mutation: head-bound
            Self::Add(..) => (
                format!("{adds}, heads :head"),
                // mutation: head-below
                format!(
                    "{condition} AND head_floor < :added AND (attribute_not_exists(heads) OR size(heads) < :most)"
                ),
            ),
            Self::Remove(_) => (format!("{adds} DELETE heads :head"), condition),
            // mutation: head-cut-blind
            Self::Cut { .. } => (
                format!("{adds} SET heads = :heads, head_floor = :floor"),
                format!("{condition} AND heads = :read"),
            ),
        };
        let update = match self {
            Self::Nothing => update,
            Self::Add(head, most) => update
                .value(":head", words([*head]))
                .value(":added", number(head))
                .value(":most", number(most)),
            Self::Remove(head) => update.value(":head", words([*head])),
            Self::Cut { read, kept, floor } => update
                .value(":read", words(read.iter().copied()))
                .value(":heads", words(kept.iter().copied()))
                .value(":floor", number(floor)),
        };
        update.expression(expression).condition(condition)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use fanfold_core::{PostId, Time, UserId};
    use fanfold_engines::table::{Item, number, words};
    use proptest::prelude::*;

    use super::{HeadBounds, HeadChange, Heads};

    const AUTHOR: UserId = UserId(7);

    fn post(at: u64) -> PostId {
        PostId::new(Time::from_ms(at), 3, AUTHOR)
    }

    /// What DynamoDB would do. Returns whether the condition held.
    fn apply(heads: &mut Heads, change: &HeadChange) -> bool {
        match change {
            HeadChange::Nothing => {}
            HeadChange::Add(head, most) if heads.read.len() >= *most || *head <= heads.floor => {
                return false;
            }
            HeadChange::Add(head, _) => heads.read.push(*head),
            HeadChange::Remove(head) => heads.read.retain(|one| one != head),
            HeadChange::Cut { read, .. } if *read != heads.read => return false,
            HeadChange::Cut { kept, floor, .. } => {
                *heads = Heads { read: kept.clone(), floor: *floor };
            }
        }
        true
    }

    proptest! {
        /// Writers have read heads of any earlier time, and the posts come in any order.
        #[test]
        fn heads_above_the_floor_are_the_posts(
            acts in prop::collection::vec((1u64..60, any::<bool>(), 0usize..4), 0..120),
        ) {
            let bounds = HeadBounds { max: 6, kept: 3 };
            let mut heads = Heads { read: Vec::new(), floor: 0 };
            let (mut earlier, mut posts) = (vec![heads.clone()], BTreeSet::new());
            // an id is used once
            let mut used = BTreeSet::new();
            for (at, is_deleted, back) in acts {
                let id = post(at);
                if is_deleted {
                    apply(&mut heads, &HeadChange::Remove(id.head()));
                    posts.remove(&id);
                } else if used.insert(id) {
                    posts.insert(id);
                    let read = &earlier[earlier.len().saturating_sub(1 + back)];
                    if !apply(&mut heads, &read.published(id, bounds)) {
                        let again = heads.published(id, bounds);
                        prop_assert!(apply(&mut heads, &again));
                    }
                }
                earlier.push(heads.clone());
                let newest = heads.newest(AUTHOR);
                let above: Vec<PostId> =
                    posts.iter().rev().copied().filter(|post| *post > newest.bound).collect();
                prop_assert_eq!(newest.posts, above);
                prop_assert!(heads.read.len() <= bounds.max, "{:?}", heads);
                prop_assert!(posts.iter().all(|post| heads.know(*post)));
            }
        }
    }

    #[test]
    fn heads_of_another_form_are_an_error() {
        let item =
            |heads| Item::from([("heads".to_owned(), heads), ("head_floor".to_owned(), number(7))]);
        assert_eq!(Heads::of("", &item(words([9]))).unwrap(), Heads { read: vec![9], floor: 7 });
        for damaged in [item(number(9)), Item::new()] {
            assert!(Heads::of("", &damaged).is_err(), "{damaged:?}");
        }
    }
}
