//! Marks that users put on posts. A kind of marks is a variant of [`MarkKind`]; everything here works for all of them: put
//! and remove a mark, list what a user marked, show on each post whether the viewer marked it, erase, export and audit.
//!
//! **Marks.** A like or another mark is put and removed in the same way. `posts` makes three calls one after another.
//! First the card of the post, the caller's profile and the caller's like are read at the same time. Then
//! `MarkChanged` is sent. Then one transaction writes the rows of the mark, and for a like one of 128 rows that count,
//! on condition that the like is as it was read, and that the profile belongs to the caller. The card of what the
//! caller likes is marked as stale, by `posts` and again by `changes`. `changes` then counts the likes of the post, at
//! most once a second: it adds up the rows, writes the sum into the post's item, and marks the post's card. The
//! transaction that writes the sum also adds the difference to the row of the post for this day and hour, and to the
//! row of the author; rankings are made from these. The transaction does not check the post, because all who like it
//! would meet on its item. The count does: if the post is gone, the likes are removed.
//!
//! The event of a deletion also goes to `changes`, which removes the likes of the post, 200 in one step, in as many
//! messages as it takes. It first removes each like with its row in the list of the user, then marks the cards, and
//! last removes the rows in the list of the post, because only these lead to the others. The tombstone of the post
//! keeps the number of its likes until a transaction has taken them from the row of the author. Then the rows of the
//! post's days are removed.

pub mod card;
mod cases;
pub mod events;
pub mod items;
mod kind;
mod list;
pub mod messages;
pub(crate) mod owned;
pub(crate) mod writes;

pub use cases::put;
pub use kind::{MarkKind, MarkSet, MarkSpec};
pub use list::{MarkedBy, MarkedPlace, marked};
