//! People: profiles and their handles.

pub mod cards;
mod cases;
pub mod events;
pub mod items;
pub mod messages;
pub(crate) mod owned;

pub use cases::{Put, find, must_belong_to, put_profile};
