//! The names of feeds. Keys in Valkey, cursors and logs use the same type.
//!
//! To add a kind of feed, add a line to the table of [`FeedKind`]. A home feed contains the posts of
//! followed authors and the user's own, and nothing else. Tags, lists and other collections are feeds of
//! their own.

use std::fmt;
use std::str::FromStr;

use crate::{Bucket, List, PostId, Tag, TagHash, UserId};

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident $name:literal $code:literal of $owner:ident;)*) => {
        /// The kinds of feeds.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum FeedKind {
            $($(#[$doc])* $kind,)*
        }

        impl FeedKind {
            /// All kinds of feeds.
            pub const ALL: &[Self] = &[$(Self::$kind),*];

            /// The name of the kind in keys, logs and texts.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => $name),* }
            }

            /// The byte that stands for the kind in a cursor.
            pub const fn code(self) -> u8 {
                match self { $(Self::$kind => $code),* }
            }

            /// What owns the feeds of this kind.
            pub const fn owned_by(self) -> OwnedBy {
                match self { $(Self::$kind => OwnedBy::$owner),* }
            }
        }
    };
}

kinds! {
    /// The merged posts of the authors that a user follows, and the user's own posts.
    Home "home" b'h' of User;
    /// The posts of one author.
    Author "author" b'a' of User;
    /// The posts whose present text has a tag.
    Tag "tag" b'#' of Everybody;
    /// The posts of everybody, of the last days.
    Public "public" b'*' of Everybody;
}

/// What owns the feeds of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnedBy {
    /// Each feed belongs to one user, and is dropped with the user.
    User,
    /// Everybody reads the same feed.
    Everybody,
}

impl FromStr for FeedKind {
    type Err = FeedIdError;

    fn from_str(name: &str) -> Result<Self, FeedIdError> {
        let kind = Self::ALL.iter().find(|kind| kind.name() == name);
        kind.copied().ok_or(FeedIdError)
    }
}

/// The owner of a feed: a user, or 64 bits that name something else, such as the hash of a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FeedOwner(pub u64);

impl FeedOwner {
    /// The user with these 64 bits. Home and author feeds belong to users.
    pub fn user(self) -> UserId {
        UserId(self.0)
    }
}

impl From<UserId> for FeedOwner {
    fn from(user: UserId) -> Self {
        Self(user.0)
    }
}

impl fmt::Display for FeedOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// One feed. Text form: the kind's name, a colon, and 16 hexadecimal digits of the owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FeedId {
    /// The kind.
    pub kind: FeedKind,
    /// The owner.
    pub owner: FeedOwner,
}

/// A text that does not name a feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a feed is named by its kind, a colon and 16 lower-case hexadecimal digits")]
pub struct FeedIdError;

/// A page has the posts older than the first id and newer than the second.
impl List for FeedId {
    type Place = (PostId, PostId);

    fn code(&self) -> u8 {
        self.kind.code()
    }

    fn owner(&self) -> u64 {
        self.owner.0
    }
}

impl FeedId {
    /// The home feed of a user.
    pub fn home(user: UserId) -> Self {
        Self { kind: FeedKind::Home, owner: user.into() }
    }

    /// The author feed of a user.
    pub fn author(user: UserId) -> Self {
        Self { kind: FeedKind::Author, owner: user.into() }
    }

    /// The feed of a tag, or of all posts.
    pub fn tag(tag: TagHash) -> Self {
        let kind = if tag == TagHash::PUBLIC { FeedKind::Public } else { FeedKind::Tag };
        Self { kind, owner: FeedOwner(tag.0) }
    }

    /// The feed of the posts with this tag.
    pub fn of_tag(tag: &Tag) -> Self {
        Self::tag(tag.hash())
    }

    /// The tag of a feed that everybody reads.
    pub fn tag_of(self) -> Option<TagHash> {
        (self.kind.owned_by() == OwnedBy::Everybody).then_some(TagHash(self.owner.0))
    }

    /// The author feed and the home feed of an author. Both contain the author's own posts.
    pub fn own(author: UserId) -> [Self; 2] {
        [Self::author(author), Self::home(author)]
    }

    /// The feeds that belong to a user: one of each kind that users own.
    pub fn of_user(user: UserId) -> impl Iterator<Item = Self> {
        let kinds = FeedKind::ALL.iter().filter(|kind| kind.owned_by() == OwnedBy::User);
        kinds.map(move |kind| Self { kind: *kind, owner: user.into() })
    }

    /// The user that a home or author feed belongs to.
    pub fn user(self) -> UserId {
        self.owner.user()
    }

    /// The bucket of this feed, below `buckets`. A user's feeds are in the bucket of the user.
    pub fn bucket(self, buckets: u16) -> Bucket {
        self.owner.user().bucket(buckets)
    }
}

impl fmt::Display for FeedId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind.name(), self.owner)
    }
}

impl FromStr for FeedId {
    type Err = FeedIdError;

    fn from_str(text: &str) -> Result<Self, FeedIdError> {
        let (kind, owner) = text.split_once(':').ok_or(FeedIdError)?;
        let owner: UserId = owner.parse().map_err(|_| FeedIdError)?;
        Ok(Self { kind: kind.parse()?, owner: owner.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn kinds_have_different_names_and_codes() {
        for (nth, kind) in FeedKind::ALL.iter().enumerate() {
            for other in &FeedKind::ALL[..nth] {
                assert!(kind.name() != other.name() && kind.code() != other.code());
            }
        }
    }

    #[test]
    fn a_user_has_one_feed_of_each_kind_that_users_own() {
        let user = UserId(7);
        let feeds: Vec<FeedId> = FeedId::of_user(user).collect();
        for kind in FeedKind::ALL {
            let count = feeds.iter().filter(|feed| feed.kind == *kind).count();
            assert_eq!(count, usize::from(kind.owned_by() == OwnedBy::User), "{kind:?}");
        }
        assert!(feeds.iter().all(|feed| feed.user() == user));
        assert!(FeedId::own(user).iter().all(|own| feeds.contains(own)));
    }

    #[test]
    fn a_tag_has_a_feed_in_every_spelling() {
        let feed = |tag: &str| FeedId::of_tag(&tag.parse().unwrap());
        assert!(feed("Rust") == feed("#rust") && feed("rust") != feed("rusty"));
        assert_eq!(feed("rust").to_string().parse(), Ok(feed("rust")));
        assert_eq!(FeedId::tag(TagHash::PUBLIC).kind, FeedKind::Public);
        assert_eq!(feed("rust").tag_of().map(FeedId::tag), Some(feed("rust")));
    }

    #[test]
    fn other_texts_are_not_feeds() {
        for bad in
            ["", "home", "home:", "home:x", "dance:00000000000000ff", "home:00000000000000FF"]
        {
            assert_eq!(bad.parse::<FeedId>(), Err(FeedIdError), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn a_feed_round_trips_through_its_text(user: u64, buckets in 1u16..) {
            for feed in FeedId::own(UserId(user)) {
                prop_assert_eq!(feed.to_string().parse(), Ok(feed));
                prop_assert_eq!(feed.bucket(buckets), UserId(user).bucket(buckets));
            }
        }
    }
}
