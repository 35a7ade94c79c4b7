//! Likes: who likes which post, lists of both directions, and their counts.

pub mod cards;
mod cases;
pub mod events;
pub mod items;
pub mod messages;
pub(crate) mod owned;

pub use cases::{LikedPage, LikedPlace, LikerPlace, liked, likers, put};
