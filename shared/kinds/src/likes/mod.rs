//! Likes: a kind of marks that is public and counted. Who likes a post is a list, and the post shows the number.

mod cases;
pub mod events;
pub mod items;
pub mod messages;
pub(crate) mod owned;

pub use cases::{LikerPlace, LikersOf, likers};
