//! The names of cards.

use std::fmt;

use fanfold_core::{BoardId, Bucket, HandleHash, PostId, UserId};

use super::keys::{Key, KeyKind, Keys};

/// A kind of cards.
#[derive(Debug, PartialEq, Eq)]
pub struct CardKind {
    /// The kind of its keys.
    pub key: KeyKind,
    /// The beginning of its names in the queue of a bucket.
    letter: u8,
    /// What its ids consist of.
    form: Form,
}

/// What the ids of a kind of cards consist of. The bucket is that of the author, of the hash, or of the first of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Post,
    One,
    Two,
}

impl CardKind {
    const fn new(key: KeyKind, letter: u8, form: Form) -> Self {
        Self { key, letter, form }
    }
}

/// The kinds, in the order in which their cards are filled.
static KINDS: [CardKind; 6] = [
    CardKind::new(KeyKind::PostCard, b'p', Form::Post),
    CardKind::new(KeyKind::UserCard, b'u', Form::One),
    CardKind::new(KeyKind::HandleCard, b'h', Form::One),
    CardKind::new(KeyKind::RelationCard, b'r', Form::Two),
    CardKind::new(KeyKind::LikesCard, b'l', Form::One),
    CardKind::new(KeyKind::BoardCard, b'b', Form::Two),
];

/// The name of a card.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CardId {
    /// The place of the kind among [`KINDS`].
    kind: u8,
    id: u128,
}

impl CardId {
    /// The card of a post.
    pub fn post(post: PostId) -> Self {
        Self { kind: 0, id: post.0 }
    }

    /// The card of a user.
    pub fn user(user: UserId) -> Self {
        Self { kind: 1, id: user.0.into() }
    }

    /// The user who has a handle.
    pub fn handle(hash: HandleHash) -> Self {
        Self { kind: 2, id: hash.0.into() }
    }

    /// Whether the first user, who is the viewer, follows the second one.
    pub fn relation(viewer: UserId, user: UserId) -> Self {
        Self { kind: 3, id: pair(viewer.0, user.0) }
    }

    /// What a viewer likes, of the newest posts.
    pub fn likes(viewer: UserId) -> Self {
        Self { kind: 4, id: viewer.0.into() }
    }

    /// The settings of a board.
    pub fn board(board: BoardId) -> Self {
        Self { kind: 5, id: pair(board.owner.0, board.name.0) }
    }

    /// The kind.
    pub fn kind(self) -> &'static CardKind {
        let [first, ..] = &KINDS;
        KINDS.get(usize::from(self.kind)).unwrap_or(first)
    }

    /// The id of a card of this kind, as the number that it is. `None`: the card is of another kind.
    pub fn id(self, kind: KeyKind) -> Option<u128> {
        (self.kind().key == kind).then_some(self.id)
    }

    /// The two ids of a card of this kind.
    pub fn ids(self, kind: KeyKind) -> Option<(u64, u64)> {
        Some(((self.id(kind)? >> 64) as u64, self.id as u64))
    }

    /// Whose bucket it is in.
    pub(super) fn place(self) -> UserId {
        match self.kind().form {
            Form::Post => PostId(self.id).author(),
            Form::One => UserId(self.id as u64),
            Form::Two => UserId((self.id >> 64) as u64),
        }
    }

    /// The name in the queue of a bucket. The script adds the time.
    pub(super) fn name(self) -> Vec<u8> {
        let bytes = self.id.to_be_bytes();
        let id = match self.kind().form {
            Form::One => bytes.get(8..).unwrap_or_default(),
            Form::Post | Form::Two => &bytes,
        };
        [&[self.kind().letter], id].concat()
    }

    /// The card with this name. `None` for other names.
    pub(super) fn named(name: &[u8]) -> Option<Self> {
        let (letter, rest) = name.split_first()?;
        let place = KINDS.iter().position(|kind| kind.letter == *letter)?;
        let id = match KINDS.get(place)?.form {
            Form::One => u64::from_be_bytes(rest.try_into().ok()?).into(),
            Form::Post | Form::Two => u128::from_be_bytes(rest.try_into().ok()?),
        };
        Some(Self { kind: place as u8, id })
    }

    /// The id, as keys have it.
    pub(super) fn text(self) -> String {
        match self.kind().form {
            Form::Post => PostId(self.id).to_string(),
            Form::One => UserId(self.id as u64).to_string(),
            Form::Two => format!("{}:{}", UserId((self.id >> 64) as u64), UserId(self.id as u64)),
        }
    }
}

impl Keys {
    /// The bucket of a card. The card of a post is in the bucket of its author, and a viewer's relations and likes are in
    /// the bucket of the viewer.
    pub fn bucket_of_card(self, card: CardId) -> Bucket {
        self.bucket(card.place())
    }

    /// The key of a card.
    pub fn card(self, card: CardId) -> Key {
        let bucket = self.bucket_of_card(card);
        Key::new(card.kind().key, None, bucket, Some(&card.text()))
    }
}

fn pair(first: u64, second: u64) -> u128 {
    u128::from(first) << 64 | u128::from(second)
}

impl fmt::Display for CardId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind().key.name(), self.text())
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
            (CardId::post(PostId(7 << 64 | 5)), "post:00000000000E0000000000000B"),
            (CardId::user(a), "user:000000000000000a"),
            (CardId::handle(HandleHash(9)), "handle:0000000000000009"),
            (CardId::relation(a, b), "follows:000000000000000a:000000000000000b"),
            (CardId::likes(a), "likes:000000000000000a"),
            (CardId::board(board), "board-card:000000000000000d:000000000000000e"),
        ];
        for (id, text) in all {
            assert_eq!(CardId::named(&id.name()), Some(id));
            let (kind, of) = text.split_once(':').unwrap();
            assert_eq!(id.kind().key.name(), kind);
            if kind != "post" {
                assert_eq!(id.text(), of);
            }
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
