//! Who and what: users and posts.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use ulid::Ulid;

/// A text that is not an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    #[error("a user id is 16 lower-case hexadecimal digits")]
    User,
    #[error("a post id is 26 upper-case characters in ULID form")]
    Post,
}

/// A user: the first 64 bits of a SHA-256 over issuer and subject of their token, so that
/// nobody has to be looked up to be known. Text form: 16 lower-case hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct UserId(pub u64);

/// What the token says of a user, whole: two subjects whose [`UserId`]s clash differ here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity(pub [u8; 32]);

impl Identity {
    /// The issuer's length goes in first, so no two pairs run together to the same text.
    pub fn of(issuer: &str, subject: &str) -> Self {
        let mut hash = Sha256::new();
        hash.update((issuer.len() as u64).to_be_bytes());
        hash.update(issuer);
        hash.update(subject);
        Self(hash.finalize().into())
    }

    pub fn user(&self) -> UserId {
        let (first, _) = self.0.split_at(8);
        UserId(first.iter().fold(0, |id, byte| id << 8 | u64::from(*byte)))
    }
}

impl UserId {
    /// The bucket of this user among `buckets`. The id is a hash already, so its low half serves.
    pub fn bucket(self, buckets: u16) -> u16 {
        ((self.0 & 0xffff_ffff) % u64::from(buckets.max(1))) as u16
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

/// A post: 48 bits of publication time in ms, 16 bits that make it unique, 64 bits of author.
/// Greater is newer. Text form: ULID, upper case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PostId(pub u128);

impl PostId {
    pub const MIN: PostId = PostId(0);
    pub const MAX: PostId = PostId(u128::MAX);

    pub fn new(time_ms: u64, unique: u16, author: UserId) -> Self {
        let time = u128::from(time_ms & 0xffff_ffff_ffff);
        Self(time << 80 | u128::from(unique) << 64 | u128::from(author.0))
    }

    pub fn time_ms(self) -> u64 {
        (self.0 >> 80) as u64
    }

    pub fn author(self) -> UserId {
        UserId(self.0 as u64)
    }

    /// The greatest id of a millisecond; ids above it are strictly newer than that time.
    pub fn last_of_ms(time_ms: u64) -> Self {
        Self::new(time_ms, u16::MAX, UserId(u64::MAX))
    }

    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

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

    /// Takes the one spelling that [`fmt::Display`] gives: two texts never name one post.
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
    fn a_user_follows_from_issuer_and_subject_alone() {
        let identity = Identity::of("https://issuer.example", "ada");
        assert_eq!(identity, Identity::of("https://issuer.example", "ada"));
        assert_ne!(identity, Identity::of("https://issuer.exampl", "eada"));
        let hex: String = identity.0[..8].iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(identity.user().to_string(), hex);
    }

    #[test]
    fn only_the_canonical_spelling_of_an_id_is_taken() {
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
        fn ids_survive_their_text(post: u128, user: u64) {
            prop_assert_eq!(PostId(post).to_string().parse(), Ok(PostId(post)));
            prop_assert_eq!(UserId(user).to_string().parse(), Ok(UserId(user)));
        }

        #[test]
        fn text_and_id_sort_alike(a: u128, b: u128) {
            prop_assert_eq!(a.cmp(&b), PostId(a).to_string().cmp(&PostId(b).to_string()));
        }

        #[test]
        fn a_post_id_keeps_its_parts(time in 0u64..1 << 48, unique: u16, author: u64) {
            let id = PostId::new(time, unique, UserId(author));
            prop_assert_eq!((id.time_ms(), id.author()), (time, UserId(author)));
            prop_assert!(id <= PostId::last_of_ms(time));
            prop_assert!(time == 0 || id > PostId::last_of_ms(time - 1));
        }

        #[test]
        fn every_user_has_a_bucket(user: u64, buckets in 1u16..) {
            prop_assert!(UserId(user).bucket(buckets) < buckets);
        }
    }
}
