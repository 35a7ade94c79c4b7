//! Follow and unfollow, as changes with a time.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Time;

/// Whether a user follows an author.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// The user follows the author.
    Following,
    /// The user does not follow the author.
    NotFollowing,
}

impl Relation {
    /// The stored form.
    pub fn name(self) -> &'static str {
        match self {
            Self::Following => "following",
            Self::NotFollowing => "not_following",
        }
    }
}

/// The last change of one user's relation to one author.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RelationChange {
    /// The relation after the change.
    pub relation: Relation,
    /// The time of the change.
    pub at: Time,
}

impl RelationChange {
    /// The score of this change in Valkey's `rel` keys: the time in ms, negative for an unfollow.
    pub fn score(self) -> i64 {
        match self.relation {
            Relation::Following => self.at.ms() as i64,
            Relation::NotFollowing => -(self.at.ms() as i64),
        }
    }

    /// The time of the next change: `now`, or 1 ms after `last` if the clock is behind it.
    pub fn next_at(last: Option<RelationChange>, now: Time) -> Time {
        // mutation: next-change
        last.map_or(now, |change| now.max(change.at + Duration::from_millis(1)))
    }

    /// Whether this change wins over another one. The later change wins; if both have the same time, an
    /// unfollow wins.
    pub fn wins_over(self, other: RelationChange) -> bool {
        match self.at.cmp(&other.at) {
            std::cmp::Ordering::Greater => true,
            std::cmp::Ordering::Less => false,
            std::cmp::Ordering::Equal => self.relation == Relation::NotFollowing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn change(at: u64, follow: bool) -> RelationChange {
        let relation = if follow { Relation::Following } else { Relation::NotFollowing };
        RelationChange { relation, at: Time::from_ms(at) }
    }

    proptest! {
        /// The same change wins for every order of arrival.
        #[test]
        fn the_order_of_arrival_does_not_matter(
            changes in prop::collection::vec((1u64..5, any::<bool>()), 1..8).prop_shuffle()
        ) {
            let last = |list: &mut dyn Iterator<Item = RelationChange>| {
                list.reduce(|kept, new| if new.wins_over(kept) { new } else { kept })
            };
            let changes: Vec<_> = changes.into_iter().map(|(at, f)| change(at, f)).collect();
            prop_assert_eq!(
                last(&mut changes.iter().copied()),
                last(&mut changes.iter().rev().copied())
            );
        }

        #[test]
        fn the_next_change_always_wins(at in 1u64..1000, now in 1u64..1000, was: bool, is: bool) {
            let last = change(at, was);
            let next = RelationChange::next_at(Some(last), Time::from_ms(now));
            prop_assert!(change(next.ms(), is).wins_over(last));
        }
    }
}
