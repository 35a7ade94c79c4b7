//! The kinds of data: what each stores, and what happens to it when its user is erased or asks for an export.
//!
//! A new kind is a block in the table below. Everything that works over all kinds (erasing, export, audit, checks of rights,
//! samples in tests) reads the table, and does not compile, or fails one test, until the kind has its part.

#[macro_use]
mod spec;

use std::fmt::{self, Display};

use crate::feed::OwnedBy;
use crate::{FeedKind, UserId};

pub use spec::{CardSpec, Export, Form, Phase, Removal};

use Export::{As, Not};
use Form::{One, Post, Two};
use Phase::{Deny, Empty, Erase, Forget};
use Removal::{In, Stays};

kinds! {
    /// Profiles, and who has which handle.
    People "people" {
        limits {
            /// Changing the profile.
            Profile "profile" "changes of the profile", "PROFILE_CHANGES_PER_MINUTE" 60 at most 60_000;
        }
        items {
            /// A profile, or the note of a user who is being dropped.
            User "user#", In(&[Deny]), As("profile");
            /// What a user says about themselves.
            About "about#", In(&[Empty]), As("about");
            /// The user who has a handle.
            Handle "handle#", In(&[Deny]), Not("the profile has the handle");
        }
        keys {
            /// The card of a user.
            UserCard "user" b'u' One, In(&[Deny, Forget]);
            /// What a user says about themselves.
            AboutCard "about" b'a' One, In(&[Empty]);
            /// The user who has a handle.
            HandleCard "handle" b'h' One, Stays("it names a user without a profile, and expires");
        }
    }

    /// Posts, and the keys that made them.
    Posts "posts" {
        limits {
            /// Publishing and deleting posts. Each reaches all followers.
            Post "post" "posts published, scheduled, changed or deleted", "POSTS_PER_MINUTE" 300 at most 60_000;
        }
        items {
            /// A post, or its tombstone. The partition key is the author's id alone.
            Post "", In(&[Empty, Erase]), As("post");
            /// An earlier version of a post that was edited.
            Version "versions#", In(&[Empty, Erase]), As("post_version");
            /// The post that an `Idempotency-Key` made.
            IdempotencyKey "key#", In(&[Empty, Erase]), Not("it is the hash of a key, and expires after 24 hours");
        }
        keys {
            /// The card of a post.
            PostCard "post" b'p' Post, In(&[Empty, Erase]);
        }
    }

    /// Likes of posts, in both directions, and their counts.
    Likes "likes" {
        limits {
            /// Marking posts, and removing marks. All kinds of marks share it.
            Mark "mark" "likes, bookmarks and followed tags that were put or removed", "MARK_CHANGES_PER_MINUTE" 300 at most 60_000;
        }
        items {
            /// A like.
            Like "likes#", In(&[Empty]), Not("the list of what the user likes has it");
            /// A like, in the list of what a user likes.
            Liked "liked#", In(&[Empty]), As("like");
            /// A like, in the list of who likes a post.
            Liker "likers#", In(&[Empty]), Not("it belongs to the user who gave the like");
            /// A part of the number of likes.
            LikeCount "like-counts#", In(&[Empty]), Not("the post has the number");
        }
        keys {
            /// What a viewer likes, of the newest posts.
            LikesCard "marks:likes" b'l' One, In(&[Forget]);
            /// The state of the request to count the likes of a post.
            LikeCountLock "lock:likes", Stays("it expires");
        }
    }

    /// Replies to posts, and their counts. A reply is a post; these are the lists under the posts that it answers.
    Replies "replies" {
        items {
            /// A reply, in the list of a post above it.
            Reply "replies#", In(&[Empty]), Not("the reply names the answered post");
            /// A part of the number of replies.
            ReplyCount "reply-counts#", In(&[Empty]), Not("the post has the number");
        }
        keys {
            /// The state of the request to count the replies to a post.
            ReplyCountLock "lock:replies", Stays("it expires");
        }
    }

    /// Tags: which posts have them. Their feeds belong to everybody.
    Tags "tags" {
        items {
            /// The numbers of parts that a busy tag has had.
            Tag "tag#", Stays("it belongs to a tag"), Not("it belongs to a tag");
            /// A post, under a tag of its present text.
            Tagged "tagged#", In(&[Empty]), Not("the post has its text");
            /// A post with a tag, on the day of the post.
            TagUse "tag-uses#", In(&[Empty]), Not("the post has its text");
            /// The name of a tag, for completion.
            TagName "tag-names#", Stays("it belongs to a tag, and expires a month after its last use"), Not("it belongs to a tag");
            /// The tags that a user follows.
            FollowedTags "followed-tags#", In(&[Empty, Erase]), As("followed_tag");
        }
    }

    /// Bookmarks of posts, which only their user sees.
    Bookmarks "bookmarks" {
        items {
            /// A bookmark.
            Bookmark "bookmarks#", In(&[Empty]), Not("the list of the user's bookmarks has it");
            /// A bookmark, in the list of its user.
            Bookmarked "bookmarked#", In(&[Empty]), As("bookmark");
        }
        keys {
            /// What a viewer bookmarked, of the newest posts.
            BookmarksCard "marks:bookmarks" b'm' One, In(&[Forget]);
        }
    }

    /// Boards and the scores of their members.
    Boards "boards" {
        limits {
            /// Changing boards and scores.
            Board "board" "changes of boards and of their members", "BOARD_CHANGES_PER_MINUTE" 600 at most 60_000;
        }
        items {
            /// The settings of a board.
            Board "board#", In(&[Empty]), As("board");
            /// The scores of a member of a board, or its tombstone.
            Score "scores#", In(&[Empty]), As("score");
            /// An addition to scores that an `Idempotency-Key` names.
            ScoreKey "score-key#", Stays("it consists of hashes and a day, and expires after 24 hours"),
                Not("it consists of hashes and a day");
        }
        keys {
            /// The settings of a board.
            BoardCard "board-card" b'b' Two, In(&[Empty]);
            /// The members of a board, best first.
            Board "board", In(&[Empty]);
            /// The state of a board, and the revisions and scores of its members.
            BoardScores "board:scores", In(&[Empty]);
            /// The different scores of a board with dense ranks.
            BoardDistinct "board:distinct", In(&[Empty]);
            /// The members that were removed from a board.
            BoardRemoved "board:removed", In(&[Empty]);
            /// The copies of boards of a bucket.
            Boards "boards", In(&[Empty]);
            /// The version of a merged board or a ranking that was begun last.
            BoardBegun "board:begun",
                Stays("its name is a hash; it is a number, and expires within an hour");
            /// The version of a merged board or a ranking that was ready last.
            BoardNewest "board:newest",
                Stays("its name is a hash; it is a number, and expires within an hour");
        }
    }

    /// What rankings are made of: the likes of posts by day, and of authors.
    Rankings "rankings" {
        items {
            /// The likes of a post on one day, hour by hour.
            Trend "trends#", In(&[Empty]), Not("it is a number of likes of a post on a day, and expires");
            /// The likes that the posts of an author have.
            Received "received#", In(&[Erase]), Not("it is the sum of the likes of the posts");
        }
    }

    /// Scheduled posts.
    Scheduled "scheduled" {
        items {
            /// A scheduled post, or what is left of it.
            Scheduled "scheduled#", In(&[Empty]), As("scheduled_post");
            /// The scheduled posts of a user that wait, by their time.
            Soonest "soonest#", In(&[Empty]), Not("the scheduled post has the time");
        }
    }

    /// Timers.
    Timers "timers" {
        limits {
            /// Putting and deleting timers.
            Timer "timer" "changes of timers", "TIMER_CHANGES_PER_MINUTE" 300 at most 60_000;
        }
        items {
            /// A timer.
            Timer "timer#", In(&[Empty]), As("timer");
        }
    }

    /// Who follows whom, and how many follow an author.
    Follows "follows" {
        limits {
            /// Following and unfollowing. Each changes a feed and adds the newest posts of the author.
            Relation "relation" "follows and unfollows", "RELATION_CHANGES_PER_MINUTE" 600 at most 60_000;
        }
        items {
            /// A relation, or its tombstone.
            Following "following#", In(&[Empty, Erase]), As("following");
            /// A relation, from the author's side.
            Follower "followers#", In(&[Empty]), As("follower");
            /// A part of the number of followers.
            Count "counts#", In(&[Erase]), Not("the profile has the number");
        }
        keys {
            /// Whether a viewer follows a user.
            RelationCard "follows" b'r' Two,
                Stays("those of relations that end are dropped; the others say who looked at whose profile, and expire within \
                       an hour");
            /// The last changes of relations between users of a bucket and an author.
            Rel "rel",
                Stays("pushes that are under way rely on it; the sweep removes it an hour after its last change");
            /// The `rel` keys of a bucket.
            Rels "rels", Stays("it lists the rel keys of a bucket");
            /// The state of the request to count an author's followers.
            CountLock "lock:count", Stays("it expires");
        }
    }

    /// Home and author feeds, and the delivery of posts to them.
    Feeds "feeds" {
        limits {
            /// Queries of pages that are pulled on purpose, or below the floor of a home feed.
            Pull "pull" "queries for pages that are pulled", "PULL_QUERIES_PER_MINUTE" 25_000 at most 1_000_000;
        }
        items {
            /// The one item that lists the pulled authors.
            PulledAuthors "pulled-authors", In(&[Forget]), Not("it says how posts are delivered");
            /// A home feed that the sweep has kept.
            KeptFeed "kept#", In(&[Forget]), Not("it has ids of posts, which their authors have");
            /// The plan and the state of the fan-out of a post.
            Receipt "receipt#", In(&[Erase]), Not("it says how far a post was delivered");
        }
        keys {
            /// The live feeds of a bucket.
            Live "live", In(&[Forget]);
            /// The lease of the rebuild of a feed. The feed's kind follows the name.
            FeedLock "lock", In(&[Forget]);
            /// The posts below the floor of a home feed that its owner pulled last.
            Older "older", In(&[Forget]);
        }
    }

    /// What engines keep, of all kinds of data.
    Engines "engines" {
        items {
            /// An entry of the index of due items.
            Due "due#", In(&[Empty]), Not("the scheduled post or the timer has the time");
            /// The hour up to which a part of the index of due items was checked.
            DueChecked "due-checked", Stays("it belongs to a part of the index of due items"),
                Not("it belongs to no user");
            /// An item of a check.
            Probe "probe#", Stays("it belongs to no user, and expires"), Not("it belongs to no user");
        }
        keys {
            /// The memory of a bucket.
            Memory "memory", Stays("it belongs to a bucket");
            /// The counter of a user's writes. The kind of writes follows the name.
            Limit "limit", In(&[Forget]);
            /// The names of the cards of a bucket, oldest first.
            Cards "cards", Stays("it lists the cards of a bucket for an hour or two");
            /// The entries of a part of the index of due items.
            Due "due", In(&[Empty]);
            /// Up to what time a part of the index of due items is complete.
            Horizon "horizon", Stays("it belongs to a part of the index of due items");
            /// The lease of the function that publishes or fires an item that is due.
            DueLock "lock:due", Stays("it expires");
        }
    }
}

impl ItemKind {
    /// The partition key of this kind for `of`: the user, handle or post that the item belongs to.
    pub fn pk(self, of: impl Display) -> Pk {
        Pk(format!("{}{of}", self.prefix()))
    }

    /// The kind of the item with this partition key. `None` for other keys.
    pub fn of(pk: &str) -> Option<Self> {
        if pk.parse::<UserId>().is_ok() {
            return Some(Self::Post);
        }
        let mut kinds = Self::ALL.iter().copied().filter(|kind| !kind.prefix().is_empty());
        kinds.find(|kind| pk.starts_with(kind.prefix()))
    }

    /// What [`ItemKind::pk`] made this partition key for. `None` if it is of another kind.
    pub fn owner(self, pk: &str) -> Option<&str> {
        if Self::of(pk)? == self { pk.strip_prefix(self.prefix()) } else { None }
    }
}

impl KeyKind {
    /// The kind of this key. `None` for other keys.
    pub fn of(key: &str) -> Option<Self> {
        let (name, _) = key.split_once(":{")?;
        let has_subkinds = |kind: &Self| matches!(kind, Self::FeedLock | Self::Limit);
        let found = Self::all().find(|kind| kind.name() == name && !has_subkinds(kind));
        found.or_else(|| {
            let (name, _) = name.split_once(':')?;
            Self::all().filter(has_subkinds).find(|kind| kind.name() == name)
        })
    }
}

/// A partition key. Only an [`ItemKind`] makes one, so no item is of an unlisted kind.
#[derive(Clone, PartialEq, Eq)]
pub struct Pk(String);

impl Display for Pk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Pk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_an_item_can_be_told_from_its_key() {
        for kind in ItemKind::ALL {
            let owner = "0123456789abcdef";
            let pk = kind.pk(owner).to_string();
            assert_eq!(ItemKind::of(&pk), Some(*kind), "{pk}");
            assert_eq!(kind.owner(&pk), Some(owner));
            let others = ItemKind::ALL.iter().filter(|other| *other != kind);
            assert!(others.into_iter().all(|other| other.owner(&pk).is_none()), "{pk}");
        }
        assert_eq!(ItemKind::of("lists#0123456789abcdef"), None);
    }

    #[test]
    fn no_two_kinds_of_cards_have_one_letter() {
        let mut letters: Vec<u8> = KeyKind::all().filter_map(|k| Some(k.card()?.letter)).collect();
        letters.sort_unstable();
        let all = letters.len();
        letters.dedup();
        assert_eq!(letters.len(), all);
    }
}
