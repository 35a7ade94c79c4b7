//! The opaque tokens that clients page lists with.
//!
//! A cursor contains its list and the list's owner, so that a cursor of another list is refused. It ends with
//! four bytes of a hash, so that a damaged cursor is refused too. The hash has no secret: a forged cursor is
//! only a place in a list that the caller may read.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use crate::{Partition, PostId, Time, UserId};

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
pub trait List {
    /// A place in the list: a page begins after it.
    type Place: ListPlace;

    /// What the API's users must know of the cursor.
    const ABOUT: &'static str =
        "A cursor is opaque: one that was not issued for this list is answered\nwith 404.";

    /// The length of this list's cursors: base64 without padding has four characters for three bytes.
    const CURSOR_CHARS: usize =
        ((2 + 8 + <Self::Place as ListPlace>::BYTES + 4) * 4usize).div_ceil(3);

    /// The byte that stands for this kind of list in a cursor.
    fn code(&self) -> u8;

    /// What tells the lists of this kind apart.
    fn owner(&self) -> u64;

    /// Encodes a place as a cursor of this list, in URL-safe base64.
    fn cursor(&self, place: &Self::Place) -> String {
        let mut bytes = vec![VERSION, self.code()];
        bytes.extend(self.owner().to_be_bytes());
        place.encode(&mut bytes);
        let sum = checksum(&bytes);
        bytes.extend(sum);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Decodes a cursor of this list.
    fn place(&self, text: &str) -> Result<Self::Place, CursorError> {
        let url_safe = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if text.len() != Self::CURSOR_CHARS || !text.bytes().all(url_safe) {
            return Err(CursorError::Form { chars: Self::CURSOR_CHARS });
        }
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| CursorError::Malformed)?;
        let (signed, sum) = bytes.split_last_chunk::<4>().ok_or(CursorError::Malformed)?;
        let (head, rest) = signed.split_first_chunk::<2>().ok_or(CursorError::Malformed)?;
        let (of, place) = rest.split_first_chunk::<8>().ok_or(CursorError::Malformed)?;
        if checksum(signed) != *sum || head[0] != VERSION {
            return Err(CursorError::Malformed);
        }
        if head[1] != self.code() || u64::from_be_bytes(*of) != self.owner() {
            return Err(CursorError::Foreign);
        }
        Self::Place::decode(place).ok_or(CursorError::Malformed)
    }
}

/// A place in a list, or a part of it. All places of a type have the same number of bytes.
pub trait ListPlace: Sized {
    const BYTES: usize;

    /// Adds the bytes of the place.
    fn encode(&self, to: &mut Vec<u8>);

    /// The place with these bytes. `None` for another number of bytes, and for bytes of no place.
    fn decode(bytes: &[u8]) -> Option<Self>;
}

macro_rules! places {
    ($($place:ty as $number:ty: |$of:ident| $get:expr, |$from:ident| $make:expr;)*) => {$(
        impl ListPlace for $place {
            const BYTES: usize = size_of::<$number>();

            fn encode(&self, to: &mut Vec<u8>) {
                let $of = self;
                to.extend($get.to_be_bytes());
            }

            fn decode(bytes: &[u8]) -> Option<Self> {
                let $from = <$number>::from_be_bytes(bytes.try_into().ok()?);
                Some($make)
            }
        }
    )*};
}

places! {
    u64 as u64: |number| number, |number| number;
    Time as u64: |at| at.ms(), |ms| Self::from_ms(ms);
    UserId as u64: |user| user.0, |id| Self(id);
    PostId as u128: |post| post.0, |id| Self(id);
    Partition as u16: |partition| partition.0, |number| Self(number);
}

impl<A: ListPlace, B: ListPlace> ListPlace for (A, B) {
    const BYTES: usize = A::BYTES + B::BYTES;

    fn encode(&self, to: &mut Vec<u8>) {
        self.0.encode(to);
        self.1.encode(to);
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (first, second) = bytes.split_at_checked(A::BYTES)?;
        Some((A::decode(first)?, B::decode(second)?))
    }
}

fn checksum(bytes: &[u8]) -> [u8; 4] {
    let hash: [u8; 32] =
        Sha256::new().chain_update(b"fanfold cursor").chain_update(bytes).finalize().into();
    [hash[0], hash[1], hash[2], hash[3]]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FeedId, ScheduledId, TimerName};
    use proptest::prelude::*;

    /// A list with places of any form.
    struct Of<P>(u64, std::marker::PhantomData<P>);

    impl<P: ListPlace> List for Of<P> {
        type Place = P;

        fn code(&self) -> u8 {
            b'!'
        }

        fn owner(&self) -> u64 {
            self.0
        }
    }

    fn round_trips<P: ListPlace + PartialEq + std::fmt::Debug>(owner: u64, place: P) {
        let list = Of(owner, std::marker::PhantomData);
        let cursor = list.cursor(&place);
        assert_eq!(list.place(&cursor), Ok(place));
        assert_eq!(Of::<P>(!owner, list.1).place(&cursor), Err(CursorError::Foreign));
    }

    fn home(user: UserId) -> FeedId {
        FeedId::home(user)
    }

    proptest! {
        #[test]
        fn cursors_round_trip(owner: u64, before: u128, after: u128, partition: u16, user: u64, name in "[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}") {
            round_trips(owner, (PostId(before), PostId(after)));
            round_trips(owner, (Partition(partition), UserId(user)));
            round_trips(owner, (Time::from_ms(user), ScheduledId(PostId(before))));
            round_trips(owner, (Time::from_ms(user), UserId(owner)));
            round_trips(owner, (Time::from_ms(user), user));
            round_trips(owner, name.parse::<TimerName>().unwrap());
        }

        #[test]
        fn a_cursor_of_another_list_or_owner_is_foreign(owner: u64, other: u64) {
            prop_assume!(owner != other);
            let text = home(UserId(owner)).cursor(&(PostId(7), PostId(0)));
            prop_assert_eq!(home(UserId(other)).place(&text), Err(CursorError::Foreign));
            prop_assert_eq!(FeedId::author(UserId(owner)).place(&text), Err(CursorError::Foreign));
            let users = Of::<(Partition, UserId)>(owner, std::marker::PhantomData);
            prop_assert_eq!(users.place(&text), Err(CursorError::Form { chars: 32 }));
        }

        #[test]
        fn any_other_text_is_refused_without_panic(text in ".{0,80}", bytes in prop::collection::vec(any::<u8>(), 0..46)) {
            let form = CursorError::Form { chars: 62 };
            for text in [text, URL_SAFE_NO_PAD.encode(bytes)] {
                prop_assert_eq!(home(UserId(1)).place(&text), Err(form));
            }
        }

        #[test]
        fn a_text_with_the_form_of_a_cursor_is_refused(text in "[A-Za-z0-9_-]{62}") {
            prop_assert_eq!(home(UserId(1)).place(&text), Err(CursorError::Malformed));
        }

        #[test]
        fn one_changed_character_is_detected(at in 0usize..60, with in "[A-Za-z0-9_-]") {
            let text = home(UserId(1)).cursor(&(PostId(7), PostId(0)));
            let mut other = text.clone();
            other.replace_range(at..=at, &with);
            prop_assume!(other != text && at < text.len());
            prop_assert!(home(UserId(1)).place(&other).is_err());
        }
    }
}
