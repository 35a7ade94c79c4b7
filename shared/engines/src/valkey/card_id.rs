//! The names of cards.
//!
//! Cards hold what pages show of posts, users and relations, and the settings of boards. Each kind has its cards
//! (`cards.rs`), and `shared/engines/src/card.rs` reads those of a page together; the scripts are `cards.lua`,
//! `fill.lua` and `stale.lua`, and `_cards.lua` describes the keys.
//!
//! | card | holds | is kept | is marked as stale by |
//! | --- | --- | --- | --- |
//! | of a post | the text and the number of likes, or that the post was deleted | 1 h; a missing post is not kept, because it may be committed later | the deletion, its event `PostDeleted`, each count of likes, the removal of the author |
//! | of a user | handle, name, the numbers of posts, followers and followed authors | 1 h; that a user has no profile: 10 s | publications, deletions, follows and changes of the profile, their events `PostPublished`, `PostDeleted`, `RelationChanged` and `ProfileChanged`, each count of followers, the removal of the user |
//! | of a relation | whether a viewer follows a user | 1 h | follows and unfollows, their event `RelationChanged`, and the removal of either user, which ends the relation |
//! | of what a viewer marked, for each kind of marks | the ids of the 200 newest marked posts, and whether there are others | 1 h | marks that were put or removed, their event `MarkChanged`, the removal of the likes of a deleted post, and the removal of the viewer |
//! | of a handle | the id of the user who has the handle | 1 h; a free handle is not kept | a reader that finds that the hint is wrong |
//! | of a board | its settings, token and layout, and the identity of its owner | 1 h; that there is no such board: 10 s | changes of the settings and the deletion, their event `BoardChanged`, and the removal of the owner |
//!
//! **Read.** A reader asks for all cards of a page, with one call for each bucket at the same time. For each card it
//! gets the card, the card's lease, or the answer that another reader has the lease. It reads the items whose leases
//! it has from DynamoDB, together and strongly consistent, and fills the cards. The metrics `CardHits` and
//! `CardMisses` count both.
//!
//! **Why a card is never older than a commit that has been marked.** A server runs scripts one after another. Let a
//! writer commit, and then mark the card at M. Let a reader get the lease at L, then read the item, and fill the card
//! at F.
//!
//! - L is later than M: the read began after the commit. It is strongly consistent, so it sees the commit.
//! - L is earlier than M, and F is later: the mark has ended the lease. Tokens are random numbers of 64 bits, so a
//!   later lease has another token. The fill changes nothing. A call that was repeated because its connection was cut
//!   can run late: the mark keeps the token of the lease that it ended, and a repeated call with this token gets no
//!   lease.
//! - F is earlier than M: the mark has ended the card.
//!
//! From M on, the server therefore has no card that is older than the commit. The writer answers after M, so a request
//! that begins after the answer sees the change. Nothing in this proof depends on a clock. The times in leases come
//! from readers whose clocks may differ: a lease that ends too early costs one more read, and its reader fills
//! nothing. A mark that comes twice or late costs one more read.
//!
//! **Dead readers.** A reader that dies leaves its lease. After 500 ms another reader takes the lease. A reader that
//! waits looks again after 5, 10, 20 … 320 ms, 635 ms in all. After that it reads the item itself and fills nothing.
//! The key of a first lease lives 5 s.
//!
//! **Dead writers.** A writer may die between its commit and its mark, or fail to reach Valkey. Its event went out
//! before the commit, so the handler of the event marks the card:
//!
//! - `dispatch` reads the published or the deleted post, and `changes` reads the relation or the profile, until the
//!   commit is visible. Only then the handler marks the card, so the mark is later than the commit. A writer lives at
//!   most 10 s, so after 30 s the commit has failed, or a later change has replaced it.
//! - `ProfileChanged` contains the number of changes that the profile will have (`revision`). The handler waits until
//!   the profile has as many. Two changes at the same time cannot have the same number: the second is refused, and
//!   sends another event.
//! - `MarkChanged` has the token of the mark that the commit adds, or none if a mark is removed. The handler waits
//!   until the mark that is there has this token, or until there is none.
//! - `BoardChanged` is delivered 30 s after it was sent. Its handler marks the card at once: the commit has come, or
//!   never will.
//! - `CountFollowers` and `CountLikes` write a number and then mark the card. A message that dies in between is
//!   handled again, and marks the card even if the number is right by then.
//! - The removal of a user drops the card of the profile after the profile has become a note, and the cards of each
//!   page of posts after the page was replaced by tombstones, and again when the tombstones are removed. An order that
//!   is repeated drops the cards of all posts of the page again.
//!
//! If the event waits in its queue, for example because Valkey does not answer, the card may be old for as long. It
//! ends after an hour in any case.
//!
//! **Handles.** The card of a handle names a user as a hint. Who uses it reads the card of the user, and compares its
//! handle. If they differ, the hint is marked, and DynamoDB says who has the handle. That nobody has a handle is an
//! answer: it is kept for a few seconds, and whoever takes the handle marks it. A mention uses these cards, too, so a
//! handle that a crowd mentions is read from DynamoDB once in a while.
//!
//! **Viewers.** The card of a relation is in the bucket of the viewer, so a list of 100 users needs one call for all
//! of the viewer's relations, at the same time as the calls for the users. The card of what a viewer likes is there,
//! too, so a page of posts needs one call more. Pages of posts read no relations.
//!
//! **Crowds.** When 20,000 readers a second want the post of the day and its card is missing, one of them reads the
//! item, and the others get the card a few milliseconds later. An author whose numbers change ten times a second costs
//! at most ten reads a second, whatever the number of readers.
//!
//! **Loss of data.** A card and a lease name the token of the bucket's memory, or the server's generation if the
//! bucket has no memory yet. After a fail-over, a marked card may be back on the new primary, but the generation is
//! another one, so the card is ignored. The same holds for a snapshot, a slot that moved, and `begin-memory`. If a
//! server loses everything, it loses the leases as well, and a reader that has lost its lease fills nothing. Evictions
//! and the time to live remove whole keys, which is a miss. No rule needs a card, a lease or a mark to stay.
//!
//! **A full server.** It refuses to store a lease: the reader reads the item and fills nothing. It refuses to store a
//! card: the script deletes the lease. It refuses a mark: the script deletes the key. Deletions are always possible.
//!
//! **Without Valkey.** A reader whose call fails uses DynamoDB for the rest of its request, and waits for one timeout
//! only. If single buckets fail, only their cards are read from DynamoDB.

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
