//! The one place that turns ids into what a viewer sees: it reads the cards of posts and users, and leaves out what is
//! hidden from the viewer.
//!
//! Only a deletion removes an entry from a feed. What is hidden from one viewer stays for the others.

mod people;
mod posts;
mod viewer;

pub use people::{SeenUser, profile, seen, user, users};
pub(crate) use people::{owner, owners};
pub use posts::{Cards, PostWithAuthor, ShownPost, all_posts, post, posts, sees, unmarked};
pub use viewer::Viewer;
