//! The steps of erasing a user, and which of them remove each kind of data.

use fanfold_core::FeedKind;
use fanfold_engines::table::ItemKind;
use fanfold_engines::valkey::KeyKind;

/// A step of erasing a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The profile and the handle, which are removed first, and the note in their place, which is removed last.
    Profile,
    /// The texts of posts. Tombstones stay. Messages remove the likes of the posts.
    Posts,
    /// The likes that the user gave.
    Likes,
    /// The user's boards. Messages remove their scores.
    Boards,
    /// The scheduled posts and timers.
    Due,
    /// The relations to followers.
    Followers,
    /// The relations to followed authors. Tombstones stay.
    Following,
    /// The feeds, the write limits, and the mark of a pulled author.
    Caches,
    /// The rows that count followers and the likes of posts.
    Counts,
    /// The tombstones of relations to followed authors.
    EndedRelations,
    /// The tombstones of posts, with the receipts and idempotency keys that only they lead to.
    Remains,
}

/// The steps while other functions may still use earlier state. The feeds come last: a rebuild after that finds no
/// posts and no relations.
pub(super) const EMPTY: [Step; 7] = [
    Step::Posts,
    Step::Likes,
    Step::Boards,
    Step::Due,
    Step::Followers,
    Step::Following,
    Step::Caches,
];
/// The steps after every function that could restore data has ended.
pub(super) const ERASE: [Step; 4] =
    [Step::Caches, Step::Counts, Step::EndedRelations, Step::Remains];

/// The removal of a kind of data when its user is erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// These steps remove it.
    Steps(&'static [Step]),
    /// The data stays, for this reason.
    Stays(&'static str),
}

/// How the items of this kind are removed. A new kind does not compile without a line here.
pub const fn removal_of_items(kind: ItemKind) -> Removal {
    match kind {
        ItemKind::User | ItemKind::Handle => Removal::Steps(&[Step::Profile]),
        ItemKind::PulledAuthors => Removal::Steps(&[Step::Caches]),
        ItemKind::Post => Removal::Steps(&[Step::Posts, Step::Remains]),
        ItemKind::IdempotencyKey | ItemKind::Receipt => Removal::Steps(&[Step::Remains]),
        ItemKind::Following => Removal::Steps(&[Step::Following, Step::EndedRelations]),
        ItemKind::Follower => Removal::Steps(&[Step::Followers]),
        ItemKind::Count => Removal::Steps(&[Step::Counts]),
        ItemKind::Like | ItemKind::Liked => Removal::Steps(&[Step::Likes]),
        // those of the user's posts: the messages that Posts sends remove them
        ItemKind::Liker | ItemKind::LikeCount => Removal::Steps(&[Step::Likes, Step::Posts]),
        // the messages that Boards sends remove the scores
        ItemKind::Board | ItemKind::Score => Removal::Steps(&[Step::Boards]),
        // the messages that Posts sends remove the likes of the user's posts by day
        ItemKind::Trend => Removal::Steps(&[Step::Posts]),
        ItemKind::Received => Removal::Steps(&[Step::Counts]),
        ItemKind::ScoreKey => {
            Removal::Stays("it consists of hashes and a day, and expires after 24 hours")
        }
        ItemKind::Scheduled | ItemKind::Soonest | ItemKind::Timer | ItemKind::Due => {
            Removal::Steps(&[Step::Due])
        }
        ItemKind::DueChecked => Removal::Stays("it belongs to a part of the index of due items"),
        ItemKind::Probe => Removal::Stays("it belongs to no user, and expires"),
    }
}

/// How the keys of this kind are removed. A new kind does not compile without a line here.
pub const fn removal_of_keys(kind: KeyKind) -> Removal {
    match kind {
        KeyKind::Feed(FeedKind::Home | FeedKind::Author) => Removal::Steps(&[Step::Caches]),
        KeyKind::Live | KeyKind::FeedLock | KeyKind::Limit | KeyKind::Older => {
            Removal::Steps(&[Step::Caches])
        }
        KeyKind::CountLock | KeyKind::LikeCountLock | KeyKind::DueLock => {
            Removal::Stays("it expires")
        }
        KeyKind::Memory => Removal::Stays("it belongs to a bucket"),
        KeyKind::Rel => Removal::Stays(
            "pushes that are under way rely on it; the sweep removes it an hour after its last change",
        ),
        KeyKind::Rels => Removal::Stays("it lists the rel keys of a bucket"),
        KeyKind::UserCard => Removal::Steps(&[Step::Profile, Step::Caches]),
        KeyKind::PostCard => Removal::Steps(&[Step::Posts, Step::Remains]),
        KeyKind::LikesCard => Removal::Steps(&[Step::Caches]),
        KeyKind::HandleCard => Removal::Stays("it names a user without a profile, and expires"),
        KeyKind::RelationCard => Removal::Stays(
            "Followers and Following drop those of relations that end; the others say who looked at whose profile, and expire \
             within an hour",
        ),
        KeyKind::Due => Removal::Steps(&[Step::Due]),
        KeyKind::Horizon => Removal::Stays("it belongs to a part of the index of due items"),
        // the messages that Boards sends remove the copies
        KeyKind::Board | KeyKind::BoardScores | KeyKind::BoardDistinct | KeyKind::BoardRemoved => {
            Removal::Steps(&[Step::Boards])
        }
        KeyKind::BoardBegun | KeyKind::BoardNewest => {
            Removal::Stays("its name is a hash; it is a number, and expires within an hour")
        }
        KeyKind::BoardCard | KeyKind::Boards => Removal::Steps(&[Step::Boards]),
        KeyKind::Cards => Removal::Stays("it lists the cards of a bucket for an hour or two"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_of_a_removal_is_executed() {
        let items = ItemKind::ALL.iter().map(|kind| (format!("{kind:?}"), removal_of_items(*kind)));
        let keys = KeyKind::all().map(|kind| (format!("{kind:?}"), removal_of_keys(kind)));
        for (kind, removal) in items.chain(keys) {
            let Removal::Steps(steps) = removal else { continue };
            assert!(!steps.is_empty(), "{kind}");
            for step in steps {
                let executed =
                    *step == Step::Profile || EMPTY.contains(step) || ERASE.contains(step);
                assert!(executed, "{kind}: {step:?}");
            }
        }
    }
}
