//! The names of cards.

use std::fmt;

use fanfold_core::board::id::NameHash;
use fanfold_core::{BoardId, HandleHash, PostId, UserId};

/// The name of a card.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CardId {
    /// The card of a post.
    Post(PostId),
    /// The card of a user.
    User(UserId),
    /// The user who has a handle.
    Handle(HandleHash),
    /// Whether the first user, who is the viewer, follows the second one.
    Relation(UserId, UserId),
    /// What a viewer likes, of the newest posts.
    Likes(UserId),
    /// The settings of a board.
    Board(BoardId),
}

/// The beginnings of names in the queue of a bucket.
const POST: u8 = b'p';
const USER: u8 = b'u';
const HANDLE: u8 = b'h';
const RELATION: u8 = b'r';
const LIKES: u8 = b'l';
const BOARD: u8 = b'b';

impl CardId {
    /// Whether this is the card of a handle.
    pub fn is_handle(&self) -> bool {
        matches!(self, Self::Handle(_))
    }

    /// The name in the queue of a bucket. The script adds the time.
    pub(super) fn name(&self) -> Vec<u8> {
        let (kind, rest) = match self {
            Self::Post(post) => (POST, post.0.to_be_bytes().to_vec()),
            Self::User(user) => (USER, user.0.to_be_bytes().to_vec()),
            Self::Handle(hash) => (HANDLE, hash.0.to_be_bytes().to_vec()),
            Self::Relation(viewer, user) => {
                (RELATION, [viewer.0.to_be_bytes(), user.0.to_be_bytes()].concat())
            }
            Self::Likes(viewer) => (LIKES, viewer.0.to_be_bytes().to_vec()),
            Self::Board(BoardId { owner, name }) => {
                (BOARD, [owner.0.to_be_bytes(), name.0.to_be_bytes()].concat())
            }
        };
        [vec![kind], rest].concat()
    }

    /// The card with this name. `None` for other names.
    pub(super) fn named(name: &[u8]) -> Option<Self> {
        let (kind, rest) = name.split_first()?;
        match *kind {
            POST => Some(Self::Post(PostId(u128::from_be_bytes(rest.try_into().ok()?)))),
            USER => Some(Self::User(UserId(u64::from_be_bytes(rest.try_into().ok()?)))),
            HANDLE => Some(Self::Handle(HandleHash(u64::from_be_bytes(rest.try_into().ok()?)))),
            RELATION => {
                let (viewer, user) = rest.split_first_chunk::<8>()?;
                let user = UserId(u64::from_be_bytes(user.try_into().ok()?));
                Some(Self::Relation(UserId(u64::from_be_bytes(*viewer)), user))
            }
            BOARD => {
                let (owner, name) = rest.split_first_chunk::<8>()?;
                let name = NameHash(u64::from_be_bytes(name.try_into().ok()?));
                Some(Self::Board(BoardId { owner: UserId(u64::from_be_bytes(*owner)), name }))
            }
            LIKES => Some(Self::Likes(UserId(u64::from_be_bytes(rest.try_into().ok()?)))),
            _ => None,
        }
    }
}

impl fmt::Display for CardId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Post(post) => write!(f, "post:{post}"),
            Self::User(user) => write!(f, "user:{user}"),
            Self::Handle(hash) => write!(f, "handle:{hash}"),
            Self::Relation(viewer, user) => write!(f, "follows:{viewer}:{user}"),
            Self::Likes(viewer) => write!(f, "likes:{viewer}"),
            Self::Board(board) => write!(f, "board-card:{board}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_is_found_by_its_name_in_the_queue() {
        let handle = CardId::Handle(HandleHash(9));
        let relation = CardId::Relation(UserId(10), UserId(11));
        let likes = CardId::Likes(UserId(12));
        let board = CardId::Board(BoardId { owner: UserId(13), name: NameHash(14) });
        let (post, user) = (CardId::Post(PostId(7)), CardId::User(UserId(8)));
        for id in [post, user, handle, relation, likes, board] {
            assert_eq!(CardId::named(&id.name()), Some(id));
        }
        for name in
            [&b""[..], b"x", b"p123", b"u", b"h1234567", b"h", b"r12345678", b"r", b"b12345678"]
        {
            assert_eq!(CardId::named(name), None);
        }
    }
}
