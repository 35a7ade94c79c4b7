//! Marks that users put on posts. A kind of marks is a variant of [`MarkKind`]; everything here works for all of them: put
//! and remove a mark, list what a user marked, show on each post whether the viewer marked it, erase, export and audit.

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
