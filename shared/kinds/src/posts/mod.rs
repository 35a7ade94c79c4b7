//! Posts: their items, and the use cases that publish, read and delete them.

pub mod cards;
mod cases;
pub mod events;
pub mod items;
pub mod messages;
pub(crate) mod owned;

pub use cases::{Receipt, delete, delivery, publish, read};
pub(crate) use cases::{key_use, show_published};
