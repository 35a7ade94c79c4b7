//! Follows: who follows whom, in both directions, with the counts of followers.

mod cases;
pub mod events;
pub mod items;
pub mod partitions;

pub use cases::{Related, Relations, change, end, followers, following, relate};
