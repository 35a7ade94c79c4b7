//! The names of cards.

use std::fmt;

use fanfold_core::kinds::{Form, KeyKind};
use fanfold_core::{BoardId, Bucket, HandleHash, PostId, UserId};

use super::keys::{Key, Keys};

/// The name of a card.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CardId {
    /// The kind of its key.
    kind: KeyKind,
    id: u128,
}

impl CardId {
    /// The card of a post.
    pub fn post(post: PostId) -> Self {
        Self { kind: KeyKind::PostCard, id: post.0 }
    }

    /// The card of a user.
    pub fn user(user: UserId) -> Self {
        Self { kind: KeyKind::UserCard, id: user.0.into() }
    }

    /// The user who has a handle.
    pub fn handle(hash: HandleHash) -> Self {
        Self { kind: KeyKind::HandleCard, id: hash.0.into() }
    }

    /// Whether the first user, who is the viewer, follows the second one.
    pub fn relation(viewer: UserId, user: UserId) -> Self {
        Self { kind: KeyKind::RelationCard, id: pair(viewer.0, user.0) }
    }

    /// A card of this kind, of a user.
    pub fn of_user(kind: KeyKind, user: UserId) -> Self {
        Self { kind, id: user.0.into() }
    }

    /// The settings of a board.
    pub fn board(board: BoardId) -> Self {
        Self { kind: KeyKind::BoardCard, id: pair(board.owner.0, board.name.0) }
    }

    /// The kind of its key.
    pub fn kind(self) -> KeyKind {
        self.kind
    }

    fn form(self) -> Form {
        self.kind.card().map_or(Form::One, |card| card.form)
    }

    /// The id of a card of this kind, as the number that it is. `None`: the card is of another kind.
    pub fn id(self, kind: KeyKind) -> Option<u128> {
        (self.kind == kind).then_some(self.id)
    }

    /// The two ids of a card of this kind.
    pub fn ids(self, kind: KeyKind) -> Option<(u64, u64)> {
        Some(((self.id(kind)? >> 64) as u64, self.id as u64))
    }

    /// Whose bucket it is in.
    pub(super) fn place(self) -> UserId {
        match self.form() {
            Form::Post => PostId(self.id).author(),
            Form::One => UserId(self.id as u64),
            Form::Two => UserId((self.id >> 64) as u64),
        }
    }

    /// The name in the queue of a bucket. The script adds the time.
    pub(super) fn name(self) -> Vec<u8> {
        let bytes = self.id.to_be_bytes();
        let id = match self.form() {
            Form::One => bytes.get(8..).unwrap_or_default(),
            Form::Post | Form::Two => &bytes,
        };
        let letter = self.kind.card().map_or(0, |card| card.letter);
        [&[letter], id].concat()
    }

    /// The card with this name. `None` for other names.
    pub(super) fn named(name: &[u8]) -> Option<Self> {
        let (letter, rest) = name.split_first()?;
        let (kind, card) = KeyKind::all()
            .filter_map(|kind| Some((kind, kind.card()?)))
            .find(|(_, card)| card.letter == *letter)?;
        let id = match card.form {
            Form::One => u64::from_be_bytes(rest.try_into().ok()?).into(),
            Form::Post | Form::Two => u128::from_be_bytes(rest.try_into().ok()?),
        };
        Some(Self { kind, id })
    }

    /// The id, as keys have it.
    pub(super) fn text(self) -> String {
        match self.form() {
            Form::Post => PostId(self.id).to_string(),
            Form::One => UserId(self.id as u64).to_string(),
            Form::Two => format!("{}:{}", UserId((self.id >> 64) as u64), UserId(self.id as u64)),
        }
    }
}

impl Keys {
    /// The bucket of a card. The card of a post is in the bucket of its author, and a viewer's relations and marks are in
    /// the bucket of the viewer.
    pub fn bucket_of_card(self, card: CardId) -> Bucket {
        self.bucket(card.place())
    }

    /// The key of a card.
    pub fn card(self, card: CardId) -> Key {
        let bucket = self.bucket_of_card(card);
        Key::new(card.kind, None, bucket, Some(&card.text()))
    }
}

fn pair(first: u64, second: u64) -> u128 {
    u128::from(first) << 64 | u128::from(second)
}

impl fmt::Display for CardId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind.name(), self.text())
    }
}

impl fmt::Debug for CardId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use fanfold_core::board::id::NameHash;

    use super::*;

    #[test]
    fn a_card_is_found_by_its_name_in_the_queue() {
        let (a, b) = (UserId(10), UserId(11));
        let board = BoardId { owner: UserId(13), name: NameHash(14) };
        let all = [
            (CardId::post(PostId(7 << 64 | 5)), "post:0000000000003G000000000005"),
            (CardId::user(a), "user:000000000000000a"),
            (CardId::handle(HandleHash(9)), "handle:0000000000000009"),
            (CardId::relation(a, b), "follows:000000000000000a:000000000000000b"),
            (CardId::of_user(KeyKind::LikesCard, a), "marks:likes:000000000000000a"),
            (CardId::board(board), "board-card:000000000000000d:000000000000000e"),
        ];
        for (id, text) in all {
            assert_eq!(CardId::named(&id.name()), Some(id));
            assert_eq!(id.to_string(), text);
        }
        assert_eq!(CardId::relation(a, b).ids(KeyKind::RelationCard), Some((10, 11)));
        assert_eq!(CardId::relation(a, b).ids(KeyKind::BoardCard), None);
        for name in
            [&b""[..], b"x", b"p123", b"u", b"h1234567", b"h", b"r12345678", b"r", b"b12345678"]
        {
            assert_eq!(CardId::named(name), None);
        }
    }
}
