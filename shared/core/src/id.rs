//! Ids of users and posts.
//!
//! - A **user id** is the first 64 bits of a SHA-256 over the issuer and the subject of the token, so no lookup is
//!   needed. The profile keeps the whole hash. Every write checks it, and a second subject with the same 64 bits
//!   cannot make a profile.
//! - A **post id** has 128 bits in ULID form: 48 bits of time (ms), 16 bits that make it unique, and 64 bits of the
//!   author. It sorts by time, names its author, and is the key in DynamoDB. A conditional write detects a clash and
//!   tries other bits.
//! - **Every feed is in descending order of post ids.** In DynamoDB this is the descending sort key. In Valkey the
//!   score is the negated time and the member is the 16 bytes of the *inverted* id; equal scores sort by ascending
//!   bytes. Both stores therefore give posts of one millisecond in the same order, a page can begin in one store and
//!   continue in the other, and a cursor is an id.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use ulid::Ulid;

use crate::text::Handle;
use crate::time::Time;

/// A text that is not an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// Not a user id.
    #[error("a user id is 16 lower-case hexadecimal digits")]
    User,
    /// Not a post id.
    #[error("a post id is 26 upper-case characters in ULID form")]
    Post,
    /// Neither a user id nor `@` and a handle.
    #[error("a user is an id of 16 hexadecimal digits, or @ and a handle")]
    UserRef,
    /// Not the id of a board.
    #[error("a board's id is a user id, a colon, and 16 lower-case hexadecimal digits")]
    Board,
    /// Not the name of a ranking.
    #[error("a ranking is posts-day, posts-week, authors or tags-day")]
    Ranking,
}

/// The id of a user: the first 64 bits of a SHA-256 over the issuer and the subject of the token, so no
/// lookup is needed. Text form: 16 lower-case hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct UserId(pub u64);

/// The whole SHA-256 over the issuer and the subject of a token. Two users with the same [`UserId`] have
/// different identities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity(pub [u8; 32]);

impl Identity {
    /// The identity of this issuer and subject. The hash begins with the issuer's length, so different pairs
    /// never give the same input.
    pub fn of(issuer: &str, subject: &str) -> Self {
        let mut hash = Sha256::new();
        hash.update((issuer.len() as u64).to_be_bytes());
        hash.update(issuer);
        hash.update(subject);
        Self(hash.finalize().into())
    }

    /// The id of the user: the first 8 bytes, big-endian.
    pub fn user(&self) -> UserId {
        let (first, _) = self.0.split_at(8);
        UserId(first.iter().fold(0, |id, byte| id << 8 | u64::from(*byte)))
    }
}

/// One of the buckets of a deployment: users whose keys in Valkey share a hash tag. Numbered from 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bucket(pub u16);

impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl UserId {
    /// The bucket of this user, below `buckets`: the lower 32 bits of the id, modulo `buckets`.
    pub fn bucket(self, buckets: u16) -> Bucket {
        Bucket(((self.0 & 0xffff_ffff) % u64::from(buckets.max(1))) as u16)
    }
}

impl fmt::Display for UserId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for UserId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        if text.len() != 16 || !text.bytes().all(hex) {
            return Err(IdError::User);
        }
        u64::from_str_radix(text, 16).map(UserId).map_err(|_| IdError::User)
    }
}

impl TryFrom<String> for UserId {
    type Error = IdError;

    fn try_from(text: String) -> Result<Self, IdError> {
        text.parse()
    }
}

impl From<UserId> for String {
    fn from(id: UserId) -> Self {
        id.to_string()
    }
}

/// A user as named by a caller. Text form: a user id, or `@` and a handle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserRef {
    /// By user id.
    Id(UserId),
    /// By handle.
    Handle(Handle),
}

impl FromStr for UserRef {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let user = match text.strip_prefix('@') {
            Some(handle) => handle.parse().ok().map(Self::Handle),
            None => text.parse().ok().map(Self::Id),
        };
        user.ok_or(IdError::UserRef)
    }
}

impl fmt::Display for UserRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => write!(f, "{id}"),
            Self::Handle(handle) => write!(f, "@{handle}"),
        }
    }
}

/// The id of a post: 48 bits of publication time in ms since 1970, 16 bits that make it unique, and 64 bits
/// of the author. A newer post has a greater id. Text form: ULID, 26 upper-case characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PostId(pub u128);

impl PostId {
    /// The lowest id. No post has it.
    pub const MIN: PostId = PostId(0);
    /// The highest id. No post has it.
    pub const MAX: PostId = PostId(u128::MAX);

    /// Builds an id. Only the lower 48 bits of the time are used.
    pub fn new(time: Time, unique: u16, author: UserId) -> Self {
        let time = u128::from(time.ms() & 0xffff_ffff_ffff);
        Self(time << 80 | u128::from(unique) << 64 | u128::from(author.0))
    }

    /// The publication time.
    pub fn time(self) -> Time {
        Time::from_ms((self.0 >> 80) as u64)
    }

    /// The author of the post.
    pub fn author(self) -> UserId {
        UserId(self.0 as u64)
    }

    /// The greatest id of a millisecond. Every greater id has a later time.
    pub fn last_of(time: Time) -> Self {
        Self::new(time, u16::MAX, UserId(u64::MAX))
    }

    /// The *head*: the time and the unique bits. Of the posts of one author, a newer one has a greater head.
    pub fn head(self) -> u64 {
        (self.0 >> 64) as u64
    }

    /// The id of an author's post with this head.
    pub fn of_head(head: u64, author: UserId) -> Self {
        Self(u128::from(head) << 64 | u128::from(author.0))
    }

    /// The id that is greater by one. [`PostId::MAX`] stays.
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// The id that is less by one. [`PostId::MIN`] stays.
    pub fn previous(self) -> Self {
        Self(self.0.saturating_sub(1))
    }
}

impl fmt::Display for PostId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Ulid::from(self.0).array_to_str(&mut [0; 26]))
    }
}

impl FromStr for PostId {
    type Err = IdError;

    /// Parses the spelling that [`fmt::Display`] writes, and no other, so each post has one spelling.
    fn from_str(text: &str) -> Result<Self, IdError> {
        let id = Ulid::from_string(text).map_err(|_| IdError::Post)?;
        let id = PostId(id.into());
        if id.to_string() == text { Ok(id) } else { Err(IdError::Post) }
    }
}

impl TryFrom<String> for PostId {
    type Error = IdError;

    fn try_from(text: String) -> Result<Self, IdError> {
        text.parse()
    }
}

impl From<PostId> for String {
    fn from(id: PostId) -> Self {
        id.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_user_id_depends_on_issuer_and_subject_only() {
        let identity = Identity::of("https://issuer.example", "ada");
        assert_eq!(identity, Identity::of("https://issuer.example", "ada"));
        assert_ne!(identity, Identity::of("https://issuer.exampl", "eada"));
        let hex: String = identity.0[..8].iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(identity.user().to_string(), hex);
    }

    #[test]
    fn a_user_is_named_by_id_or_handle() {
        assert_eq!("@ada".parse(), Ok(UserRef::Handle("ada".parse().unwrap())));
        assert_eq!("00000000000000ff".parse(), Ok(UserRef::Id(UserId(255))));
        for bad in ["", "@", "@Ada", "ada", "00000000000000FF", "@a b"] {
            assert_eq!(bad.parse::<UserRef>(), Err(IdError::UserRef), "{bad}");
        }
    }

    #[test]
    fn only_the_canonical_spelling_of_an_id_is_accepted() {
        for bad in [
            "",
            "x",
            "8ZZZZZZZZZZZZZZZZZZZZZZZZZ",
            "01arz3ndektsv4rrffq69g5fav",
            "01ARZ3NDEKTSV4RRFFQ69G5FA",
        ] {
            assert_eq!(bad.parse::<PostId>(), Err(IdError::Post), "{bad}");
        }
        for bad in ["", "0", "00000000000000FF", "+0000000000000ff", "0000000000000000f"] {
            assert_eq!(bad.parse::<UserId>(), Err(IdError::User), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn ids_round_trip_through_their_text(post: u128, user: u64) {
            prop_assert_eq!(PostId(post).to_string().parse(), Ok(PostId(post)));
            prop_assert_eq!(UserId(user).to_string().parse(), Ok(UserId(user)));
        }

        #[test]
        fn texts_of_ids_sort_like_ids(a: u128, b: u128) {
            prop_assert_eq!(a.cmp(&b), PostId(a).to_string().cmp(&PostId(b).to_string()));
        }

        #[test]
        fn a_post_id_keeps_its_parts(time in 0u64..1 << 48, unique: u16, author: u64) {
            let earlier = Time::from_ms(time.saturating_sub(1));
            let time = Time::from_ms(time);
            let id = PostId::new(time, unique, UserId(author));
            prop_assert_eq!((id.time(), id.author()), (time, UserId(author)));
            prop_assert_eq!(PostId::of_head(id.head(), id.author()), id);
            prop_assert!(id <= PostId::last_of(time));
            prop_assert!(time == Time::EPOCH || id > PostId::last_of(earlier));
        }

        #[test]
        fn every_user_has_a_bucket(user: u64, buckets in 1u16..) {
            prop_assert!(UserId(user).bucket(buckets).0 < buckets);
        }
    }
}
