//! The opaque tokens that page a list.
//!
//! A cursor names its list and the list's owner, so one of another list is refused, and ends in
//! four bytes of a hash, so one that was garbled is refused too. The hash has no secret: whoever
//! forges a cursor gets a place in a list that they may read anyway.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use crate::limits::CURSOR_CHARS_MAX;
use crate::{PostId, UserId};

const VERSION: u8 = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CursorError {
    #[error("this is not a cursor that was given out")]
    Malformed,
    #[error("this cursor belongs to another list")]
    Foreign,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ListKind {
    Home = b'h',
    Author = b'a',
    Followers = b'f',
    Following = b'g',
}

/// A place in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cursor {
    /// In a feed: posts older than `before`, and newer than `after`.
    Feed { before: PostId, after: PostId },
    /// In a list of users: what comes after this one, in this partition.
    User { shard: u16, user: UserId },
}

impl Cursor {
    pub fn encode(self, kind: ListKind, owner: UserId) -> String {
        let mut bytes = vec![VERSION, kind as u8];
        bytes.extend(owner.0.to_be_bytes());
        match self {
            Cursor::Feed { before, after } => {
                bytes.extend(before.0.to_be_bytes());
                bytes.extend(after.0.to_be_bytes());
            }
            Cursor::User { shard, user } => {
                bytes.extend(shard.to_be_bytes());
                bytes.extend(user.0.to_be_bytes());
            }
        }
        let sum = checksum(&bytes);
        bytes.extend(sum);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    pub fn decode(text: &str, kind: ListKind, owner: UserId) -> Result<Self, CursorError> {
        if text.len() > CURSOR_CHARS_MAX {
            return Err(CursorError::Malformed);
        }
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| CursorError::Malformed)?;
        let (signed, sum) = bytes.split_last_chunk::<4>().ok_or(CursorError::Malformed)?;
        let (head, rest) = signed.split_first_chunk::<2>().ok_or(CursorError::Malformed)?;
        let (of, place) = rest.split_first_chunk::<8>().ok_or(CursorError::Malformed)?;
        if checksum(signed) != *sum || head[0] != VERSION {
            return Err(CursorError::Malformed);
        }
        if head[1] != kind as u8 || u64::from_be_bytes(*of) != owner.0 {
            return Err(CursorError::Foreign);
        }
        match kind {
            ListKind::Home | ListKind::Author => {
                let place = <[u8; 32]>::try_from(place).map_err(|_| CursorError::Malformed)?;
                let (before, after) = place.split_at(16);
                Ok(Cursor::Feed { before: post(before)?, after: post(after)? })
            }
            ListKind::Followers | ListKind::Following => {
                let place = <[u8; 10]>::try_from(place).map_err(|_| CursorError::Malformed)?;
                let (shard, user) = place.split_first_chunk().ok_or(CursorError::Malformed)?;
                let user = user.try_into().map_err(|_| CursorError::Malformed)?;
                let user = UserId(u64::from_be_bytes(user));
                Ok(Cursor::User { shard: u16::from_be_bytes(*shard), user })
            }
        }
    }
}

fn post(bytes: &[u8]) -> Result<PostId, CursorError> {
    let bytes = bytes.try_into().map_err(|_| CursorError::Malformed)?;
    Ok(PostId(u128::from_be_bytes(bytes)))
}

fn checksum(bytes: &[u8]) -> [u8; 4] {
    let hash: [u8; 32] =
        Sha256::new().chain_update(b"fanfold cursor").chain_update(bytes).finalize().into();
    [hash[0], hash[1], hash[2], hash[3]]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn cursors_come_back_as_they_went(owner: u64, before: u128, after: u128, shard: u16, user: u64) {
            let owner = UserId(owner);
            let feed = Cursor::Feed { before: PostId(before), after: PostId(after) };
            prop_assert_eq!(
                Cursor::decode(&feed.encode(ListKind::Home, owner), ListKind::Home, owner), Ok(feed));
            let list = Cursor::User { shard, user: UserId(user) };
            prop_assert_eq!(
                Cursor::decode(&list.encode(ListKind::Followers, owner), ListKind::Followers, owner),
                Ok(list));
        }

        #[test]
        fn a_cursor_of_another_list_or_owner_is_foreign(owner: u64, other: u64) {
            prop_assume!(owner != other);
            let text = Cursor::Feed { before: PostId(7), after: PostId(0) }
                .encode(ListKind::Home, UserId(owner));
            prop_assert_eq!(
                Cursor::decode(&text, ListKind::Home, UserId(other)), Err(CursorError::Foreign));
            prop_assert_eq!(
                Cursor::decode(&text, ListKind::Followers, UserId(owner)), Err(CursorError::Foreign));
        }

        #[test]
        fn any_text_is_refused_without_panic(text in ".{0,80}", bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            for text in [text, URL_SAFE_NO_PAD.encode(bytes)] {
                prop_assert_eq!(
                    Cursor::decode(&text, ListKind::Home, UserId(1)), Err(CursorError::Malformed));
            }
        }

        #[test]
        fn one_changed_character_is_noticed(at in 0usize..60, with in "[A-Za-z0-9_-]") {
            let text = Cursor::Feed { before: PostId(7), after: PostId(0) }.encode(ListKind::Home, UserId(1));
            let mut other = text.clone();
            other.replace_range(at..=at, &with);
            prop_assume!(other != text && at < text.len());
            prop_assert!(Cursor::decode(&other, ListKind::Home, UserId(1)).is_err());
        }
    }
}
