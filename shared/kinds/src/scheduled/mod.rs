//! Scheduled posts: a text that waits for its time, when it becomes a post of its author.

mod cases;
pub mod events;
pub mod items;
pub(crate) mod owned;

pub use cases::{NewScheduled, ScheduledEdit, ScheduledOf, cancel, change, list, read, schedule};

/// The tag of scheduled posts among due items.
pub const TAG: &str = "post";
