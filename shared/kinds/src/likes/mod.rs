//! Likes: who likes which post, lists of both directions, and their counts.

mod cases;
pub mod events;
pub mod items;

pub use cases::{LikedPage, LikedPlace, LikerPlace, Likes, liked, likers, put};
