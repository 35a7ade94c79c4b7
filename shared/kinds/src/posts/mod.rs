//! Posts: their items, and the use cases that publish, read and delete them.

mod cases;
pub mod items;

pub use cases::{Posts, Receipt, delete, delivery, publish, read};
pub(crate) use cases::{key_use, show_published};
