//! Follows: who follows whom, in both directions, with the counts of followers.

pub mod cards;
mod cases;
pub mod events;
pub mod items;
pub mod messages;
pub(crate) mod owned;
pub mod partitions;

pub use cases::{
    FollowersOf, FollowingOf, Related, UserPlace, change, end, followers, following, relate,
};
