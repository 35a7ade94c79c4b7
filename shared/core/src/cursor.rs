//! The opaque tokens that clients page lists with.
//!
//! A cursor contains its list and the list's owner, so that a cursor of another list is refused. It ends with
//! four bytes of a hash, so that a damaged cursor is refused too. The hash has no secret: a forged cursor is
//! only a place in a list that the caller may read.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use crate::limits::TIMER_NAME_CHARS_MAX;
use crate::{FeedId, Partition, PostId, Ranking, ScheduledId, Time, TimerName, UserId};

const VERSION: u8 = 1;

/// The reason why a cursor is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CursorError {
    /// Another length, or other characters, than cursors of this list have.
    #[error("a cursor of this list has {chars} characters of A-Z, a-z, 0-9, - and _")]
    Form { chars: usize },
    /// The checksum or the version is wrong.
    #[error("the API did not issue this cursor; send a cursor of an answer, unchanged")]
    Malformed,
    /// A valid cursor of another list or another owner.
    #[error("this cursor belongs to another list or user; read this list from its beginning")]
    Foreign,
}

/// A list that is read page by page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListId {
    /// The posts of a feed.
    Feed(FeedId),
    /// The users who follow this user.
    Followers(UserId),
    /// The users that this user follows.
    Following(UserId),
    /// The scheduled posts of this user.
    Scheduled(UserId),
    /// The timers of this user.
    Timers(UserId),
    /// The posts that this user likes.
    Likes(UserId),
    /// The users who like this post.
    Likers(PostId),
    /// The posts or authors of this ranking.
    Ranking(Ranking),
}

impl ListId {
    /// The byte that stands for this kind of list in a cursor.
    const fn code(self) -> u8 {
        match self {
            Self::Feed(feed) => feed.kind.code(),
            Self::Followers(_) => b'f',
            Self::Following(_) => b'g',
            Self::Scheduled(_) => b's',
            Self::Timers(_) => b't',
            Self::Likes(_) => b'l',
            Self::Likers(_) => b'k',
            Self::Ranking(_) => b'r',
        }
    }

    fn owner(self) -> u64 {
        match self {
            Self::Feed(feed) => feed.owner.0,
            Self::Followers(user)
            | Self::Following(user)
            | Self::Scheduled(user)
            | Self::Timers(user)
            | Self::Likes(user) => user.0,
            // both halves of the id, so that posts of one author differ
            Self::Likers(post) => (post.0 >> 64) as u64 ^ post.0 as u64,
            Self::Ranking(ranking) => ranking as u64,
        }
    }

    /// The length of this list's cursors: base64 without padding has four characters for three bytes.
    const fn chars(self) -> usize {
        let place = match self {
            Self::Feed(_) => 32,
            Self::Followers(_) | Self::Following(_) => 10,
            Self::Scheduled(_) | Self::Likes(_) => 24,
            Self::Likers(_) | Self::Ranking(_) => 16,
            Self::Timers(_) => TIMER_NAME_CHARS_MAX,
        };
        ((2 + 8 + place + 4) * 4usize).div_ceil(3)
    }
}

/// A place in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cursor {
    /// In a feed: the page contains posts older than `before` and newer than `after`.
    Feed { before: PostId, after: PostId },
    /// In a list of users: the page begins after this user in this partition.
    User { partition: Partition, user: UserId },
    /// In a list of scheduled posts: the page begins after the one with this time and id.
    Scheduled { at: Time, id: ScheduledId },
    /// In a list of timers: the page begins after this name.
    Timer { name: TimerName },
    /// In a list of liked posts: the page begins after the like of this time and post.
    Liked { at: Time, post: PostId },
    /// In a list of users who like a post: the page begins after the like of this time and user.
    Liker { at: Time, user: UserId },
    /// In a ranking: the page begins after this place, counted from 1, of the snapshot of this time.
    Ranked { at: Time, place: u64 },
}

impl From<(Partition, UserId)> for Cursor {
    fn from((partition, user): (Partition, UserId)) -> Self {
        Self::User { partition, user }
    }
}

impl From<(Time, UserId)> for Cursor {
    fn from((at, user): (Time, UserId)) -> Self {
        Self::Liker { at, user }
    }
}

impl Cursor {
    /// Encodes the place as a cursor of this list, in URL-safe base64.
    pub fn encode(&self, list: ListId) -> String {
        let mut bytes = vec![VERSION, list.code()];
        bytes.extend(list.owner().to_be_bytes());
        match self {
            Cursor::Feed { before, after } => {
                bytes.extend(before.0.to_be_bytes());
                bytes.extend(after.0.to_be_bytes());
            }
            Cursor::User { partition, user } => {
                bytes.extend(partition.0.to_be_bytes());
                bytes.extend(user.0.to_be_bytes());
            }
            Cursor::Scheduled { at, id } => {
                bytes.extend(at.ms().to_be_bytes());
                bytes.extend(id.0.0.to_be_bytes());
            }
            Cursor::Liked { at, post } => {
                bytes.extend(at.ms().to_be_bytes());
                bytes.extend(post.0.to_be_bytes());
            }
            Cursor::Liker { at, user } => {
                bytes.extend(at.ms().to_be_bytes());
                bytes.extend(user.0.to_be_bytes());
            }
            Cursor::Ranked { at, place } => {
                bytes.extend(at.ms().to_be_bytes());
                bytes.extend(place.to_be_bytes());
            }
            Cursor::Timer { name } => {
                // filled up, so that all cursors of the list have the same length
                let fill = TIMER_NAME_CHARS_MAX.saturating_sub(name.as_str().len());
                bytes.extend(name.as_str().bytes());
                bytes.extend(std::iter::repeat_n(0, fill));
            }
        }
        let sum = checksum(&bytes);
        bytes.extend(sum);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Decodes a cursor of this list.
    pub fn decode(text: &str, list: ListId) -> Result<Self, CursorError> {
        let url_safe = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if text.len() != list.chars() || !text.bytes().all(url_safe) {
            return Err(CursorError::Form { chars: list.chars() });
        }
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| CursorError::Malformed)?;
        let (signed, sum) = bytes.split_last_chunk::<4>().ok_or(CursorError::Malformed)?;
        let (head, rest) = signed.split_first_chunk::<2>().ok_or(CursorError::Malformed)?;
        let (of, place) = rest.split_first_chunk::<8>().ok_or(CursorError::Malformed)?;
        if checksum(signed) != *sum || head[0] != VERSION {
            return Err(CursorError::Malformed);
        }
        if head[1] != list.code() || u64::from_be_bytes(*of) != list.owner() {
            return Err(CursorError::Foreign);
        }
        match list {
            ListId::Feed(_) => {
                let place = <[u8; 32]>::try_from(place).map_err(|_| CursorError::Malformed)?;
                let (before, after) = place.split_at(16);
                Ok(Cursor::Feed { before: post(before)?, after: post(after)? })
            }
            ListId::Followers(_) | ListId::Following(_) => {
                let place = <[u8; 10]>::try_from(place).map_err(|_| CursorError::Malformed)?;
                let (partition, user) = place.split_first_chunk().ok_or(CursorError::Malformed)?;
                let user = user.try_into().map_err(|_| CursorError::Malformed)?;
                let user = UserId(u64::from_be_bytes(user));
                let partition = Partition(u16::from_be_bytes(*partition));
                Ok(Cursor::User { partition, user })
            }
            ListId::Scheduled(_) => {
                let place = <[u8; 24]>::try_from(place).map_err(|_| CursorError::Malformed)?;
                let (at, id) = time(&place)?;
                Ok(Cursor::Scheduled { at, id: ScheduledId(post(id)?) })
            }
            ListId::Likes(_) => {
                let place = <[u8; 24]>::try_from(place).map_err(|_| CursorError::Malformed)?;
                let (at, id) = time(&place)?;
                Ok(Cursor::Liked { at, post: post(id)? })
            }
            ListId::Likers(_) => {
                let place = <[u8; 16]>::try_from(place).map_err(|_| CursorError::Malformed)?;
                let (at, user) = time(&place)?;
                let user = user.try_into().map_err(|_| CursorError::Malformed)?;
                Ok(Cursor::Liker { at, user: UserId(u64::from_be_bytes(user)) })
            }
            ListId::Ranking(_) => {
                let place = <[u8; 16]>::try_from(place).map_err(|_| CursorError::Malformed)?;
                let (at, place) = time(&place)?;
                let place = place.try_into().map_err(|_| CursorError::Malformed)?;
                Ok(Cursor::Ranked { at, place: u64::from_be_bytes(place) })
            }
            ListId::Timers(_) => {
                let name = place.split(|byte| *byte == 0).next().unwrap_or_default();
                let name = std::str::from_utf8(name).ok().and_then(|name| name.parse().ok());
                Ok(Cursor::Timer { name: name.ok_or(CursorError::Malformed)? })
            }
        }
    }
}

/// The time at the beginning of a place, and the rest of the place.
fn time(place: &[u8]) -> Result<(Time, &[u8]), CursorError> {
    let (at, rest) = place.split_first_chunk().ok_or(CursorError::Malformed)?;
    Ok((Time::from_ms(u64::from_be_bytes(*at)), rest))
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

    fn home(user: UserId) -> ListId {
        ListId::Feed(FeedId::home(user))
    }

    /// One list of each kind.
    fn one_of_each() -> Vec<ListId> {
        let owner = UserId(1);
        let feeds = crate::FeedKind::ALL.iter();
        let mut lists: Vec<ListId> =
            feeds.map(|kind| ListId::Feed(FeedId { kind: *kind, owner: owner.into() })).collect();
        // a new kind of list does not compile without a line here
        let next = |list: &ListId| match list {
            ListId::Feed(_) => Some(ListId::Followers(owner)),
            ListId::Followers(_) => Some(ListId::Following(owner)),
            ListId::Following(_) => Some(ListId::Scheduled(owner)),
            ListId::Scheduled(_) => Some(ListId::Timers(owner)),
            ListId::Timers(_) => Some(ListId::Likes(owner)),
            ListId::Likes(_) => Some(ListId::Likers(PostId(7))),
            ListId::Likers(_) => Some(ListId::Ranking(Ranking::Authors)),
            ListId::Ranking(_) => None,
        };
        while let Some(list) = lists.last().and_then(next) {
            lists.push(list);
        }
        lists
    }

    #[test]
    fn kinds_of_lists_have_different_codes() {
        let lists = one_of_each();
        let mut codes: Vec<u8> = lists.iter().map(|list| list.code()).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), lists.len());
    }

    proptest! {
        #[test]
        fn cursors_round_trip(owner: u64, before: u128, after: u128, partition: u16, user: u64, name in "[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}") {
            let owner = UserId(owner);
            let feed = Cursor::Feed { before: PostId(before), after: PostId(after) };
            prop_assert_eq!(
                Cursor::decode(&feed.encode(home(owner)), home(owner)), Ok(feed));
            let list = Cursor::User { partition: Partition(partition), user: UserId(user) };
            prop_assert_eq!(
                Cursor::decode(&list.encode(ListId::Followers(owner)), ListId::Followers(owner)),
                Ok(list));
            let id = ScheduledId(PostId(before));
            let place = Cursor::Scheduled { at: Time::from_ms(user), id };
            let list = ListId::Scheduled(owner);
            prop_assert_eq!(Cursor::decode(&place.encode(list), list), Ok(place));
            let (place, list) = (Cursor::Liked { at: Time::from_ms(user), post: PostId(before) }, ListId::Likes(owner));
            prop_assert_eq!(Cursor::decode(&place.encode(list), list), Ok(place));
            let place = Cursor::Liker { at: Time::from_ms(user), user: owner };
            let list = ListId::Likers(PostId(after));
            prop_assert_eq!(Cursor::decode(&place.encode(list), list), Ok(place));
            let (place, list) = (Cursor::Ranked { at: Time::from_ms(user), place: user }, ListId::Ranking(Ranking::PostsWeek));
            prop_assert_eq!(Cursor::decode(&place.encode(list), list), Ok(place.clone()));
            prop_assert_eq!(Cursor::decode(&place.encode(list), ListId::Ranking(Ranking::PostsDay)), Err(CursorError::Foreign));
            let name = name.parse().unwrap();
            let (place, list) = (Cursor::Timer { name }, ListId::Timers(owner));
            prop_assert_eq!(Cursor::decode(&place.encode(list), list), Ok(place));
        }

        #[test]
        fn a_cursor_of_another_list_or_owner_is_foreign(owner: u64, other: u64) {
            prop_assume!(owner != other);
            let text = Cursor::Feed { before: PostId(7), after: PostId(0) }
                .encode(home(UserId(owner)));
            prop_assert_eq!(
                Cursor::decode(&text, home(UserId(other))), Err(CursorError::Foreign));
            prop_assert_eq!(
                Cursor::decode(&text, ListId::Feed(FeedId::author(UserId(owner)))), Err(CursorError::Foreign));
            prop_assert_eq!(
                Cursor::decode(&text, ListId::Followers(UserId(owner))),
                Err(CursorError::Form { chars: 32 }));
        }

        #[test]
        fn any_other_text_is_refused_without_panic(text in ".{0,80}", bytes in prop::collection::vec(any::<u8>(), 0..46)) {
            let form = CursorError::Form { chars: 62 };
            for text in [text, URL_SAFE_NO_PAD.encode(bytes)] {
                prop_assert_eq!(Cursor::decode(&text, home(UserId(1))), Err(form));
            }
        }

        #[test]
        fn a_text_with_the_form_of_a_cursor_is_refused(text in "[A-Za-z0-9_-]{62}") {
            prop_assert_eq!(
                Cursor::decode(&text, home(UserId(1))), Err(CursorError::Malformed));
        }

        #[test]
        fn one_changed_character_is_detected(at in 0usize..60, with in "[A-Za-z0-9_-]") {
            let text = Cursor::Feed { before: PostId(7), after: PostId(0) }.encode(home(UserId(1)));
            let mut other = text.clone();
            other.replace_range(at..=at, &with);
            prop_assume!(other != text && at < text.len());
            prop_assert!(Cursor::decode(&other, home(UserId(1))).is_err());
        }
    }
}
