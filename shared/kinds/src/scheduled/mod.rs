//! Scheduled posts: a text that waits for its time, when it becomes a post of its author.
//!
//! # Decisions
//!
//! - **The reserved post id has the time of publication.** So the post is in the order that its author chose, and a
//!   repeated publication cannot make a second post. A post that is published late appears below newer posts: a reader
//!   who asks with `newer_than` may not get it, as with a fan-out that is delayed. `PostPublished` has the real time
//!   of publication, so `dispatch` does not take a late post for a failed commit.
//!
//! # Bounds
//!
//! - A scheduled post that is published more than 12 s late may be missing for two minutes on pages below the floor of
//!   a home feed, whose posts were kept before.

mod cases;
pub mod events;
pub mod items;
pub(crate) mod owned;

pub use cases::{NewScheduled, ScheduledEdit, ScheduledOf, cancel, change, list, read, schedule};

/// The tag of scheduled posts among due items.
pub const TAG: &str = "post";
