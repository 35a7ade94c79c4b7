//! The kinds of items and their partition keys. Only an [`ItemKind`] makes a [`Pk`], and every key and every item is
//! made with one, so no item is of an unlisted kind.

use std::collections::HashMap;
use std::fmt::{self, Display};

use aws_sdk_dynamodb::types::AttributeValue;
use fanfold_core::UserId;
use sha2::{Digest as _, Sha256};

use super::attribute::{Item, text};

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident $prefix:literal;)*) => {
        /// The kinds of items, by how their partition keys begin.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum ItemKind {
            $($(#[$doc])* $kind,)*
        }

        impl ItemKind {
            /// All kinds of items.
            pub const ALL: &[Self] = &[$(Self::$kind),*];

            /// The beginning of the partition keys of this kind.
            pub const fn prefix(self) -> &'static str {
                match self { $(Self::$kind => $prefix),* }
            }
        }
    };
}

kinds! {
    /// A profile, or the note of a user who is being dropped.
    User "user#";
    /// The user who has a handle.
    Handle "handle#";
    /// The one item that lists the pulled authors.
    PulledAuthors "pulled-authors";
    /// A post, or its tombstone. The partition key is the author's id alone.
    Post "";
    /// The post that an `Idempotency-Key` made.
    IdempotencyKey "key#";
    /// The plan and the state of the fan-out of a post.
    Receipt "receipt#";
    /// A relation, or its tombstone.
    Following "following#";
    /// A relation, from the author's side.
    Follower "followers#";
    /// A part of the number of followers.
    Count "counts#";
    /// A like.
    Like "likes#";
    /// A like, in the list of what a user likes.
    Liked "liked#";
    /// A like, in the list of who likes a post.
    Liker "likers#";
    /// A part of the number of likes.
    LikeCount "like-counts#";
    /// The settings of a board.
    Board "board#";
    /// The scores of a member of a board, or its tombstone.
    Score "scores#";
    /// The likes of a post on one day, hour by hour.
    Trend "trends#";
    /// The likes that the posts of an author have.
    Received "received#";
    /// An addition to scores that an `Idempotency-Key` names.
    ScoreKey "score-key#";
    /// A scheduled post, or what is left of it.
    Scheduled "scheduled#";
    /// The scheduled posts of a user that wait, by their time.
    Soonest "soonest#";
    /// A timer.
    Timer "timer#";
    /// An entry of the index of due items.
    Due "due#";
    /// The hour up to which a part of the index of due items was checked.
    DueChecked "due-checked";
    /// An item of a check.
    Probe "probe#";
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

    /// What [`ItemKind::pk`] made the partition key of this item for. `None` if the item is of another kind.
    pub fn owner(self, item: &Item) -> Option<&str> {
        let pk = item.get("pk")?.as_s().ok()?;
        if Self::of(pk)? == self { pk.strip_prefix(self.prefix()) } else { None }
    }
}

/// A partition key.
#[derive(Clone, PartialEq, Eq)]
pub struct Pk(String);

impl Pk {
    /// The key as the value of an expression.
    pub fn value(&self) -> AttributeValue {
        text(&self.0)
    }
}

impl fmt::Debug for Pk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The SHA-256 of a text, in hexadecimal digits. Keys have it in place of texts of any form and length.
pub fn hashed(text: &str) -> String {
    base16ct::lower::encode_string(&Sha256::digest(text))
}

/// The key of an item in a table without a sort key.
pub fn pk_only(pk: &Pk) -> Item {
    HashMap::from([("pk".to_owned(), pk.value())])
}

/// The key of an item in a table with a sort key.
pub fn key(pk: &Pk, sk: impl ToString) -> Item {
    let mut key = pk_only(pk);
    key.insert("sk".to_owned(), text(sk));
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_an_item_can_be_told_from_its_key() {
        for kind in ItemKind::ALL {
            let owner = "0123456789abcdef";
            let item = key(&kind.pk(owner), "-");
            let pk = item["pk"].as_s().unwrap();
            assert_eq!(ItemKind::of(pk), Some(*kind), "{pk}");
            assert_eq!(kind.owner(&item), Some(owner));
            let others = ItemKind::ALL.iter().filter(|other| *other != kind);
            assert!(others.into_iter().all(|other| other.owner(&item).is_none()), "{pk}");
        }
        assert_eq!(ItemKind::of("lists#0123456789abcdef"), None);
    }
}
