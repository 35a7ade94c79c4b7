//! Follow and unfollow, as changes that carry their time.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    Following,
    NotFollowing,
}

impl Relation {
    /// As it is stored.
    pub fn name(self) -> &'static str {
        match self {
            Self::Following => "following",
            Self::NotFollowing => "not_following",
        }
    }
}

/// The last change of one user's relation to one author.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    pub relation: Relation,
    pub at_ms: u64,
}

impl Change {
    /// The score of a `rel` entry: the time, negative for an unfollow.
    pub fn score(self) -> i64 {
        match self.relation {
            Relation::Following => self.at_ms as i64,
            Relation::NotFollowing => -(self.at_ms as i64),
        }
    }

    /// The time of the next change: later than this one, also when a clock lags.
    pub fn next_at(last: Option<Change>, now_ms: u64) -> u64 {
        last.map_or(now_ms, |change| now_ms.max(change.at_ms + 1))
    }

    /// Last change wins; on a tie the unfollow does.
    pub fn wins_over(self, other: Change) -> bool {
        match self.at_ms.cmp(&other.at_ms) {
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

    fn change(at_ms: u64, follow: bool) -> Change {
        let relation = if follow { Relation::Following } else { Relation::NotFollowing };
        Change { relation, at_ms }
    }

    proptest! {
        /// Whatever the order in which changes arrive, the same one is left.
        #[test]
        fn the_order_of_arrival_does_not_matter(
            changes in prop::collection::vec((1u64..5, any::<bool>()), 1..8).prop_shuffle()
        ) {
            let last = |list: &mut dyn Iterator<Item = Change>| {
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
            prop_assert!(change(Change::next_at(Some(last), now), is).wins_over(last));
        }
    }
}
