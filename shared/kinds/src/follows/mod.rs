//! Follows: who follows whom, in both directions, with the counts of followers.
//!
//! **Follow and unfollow.** `users` makes three calls one after another. First the author's profile, the caller's
//! profile and the relation are read at the same time. If the author is named by a handle, the handle's card gives the
//! id; a missing card costs one more call. Then `RelationChanged` is sent. Then four items are written in one
//! transaction, on condition that the relation is unchanged: both directions, the caller's counter, and one of 16
//! *count rows* of the follower's partition. The caller's card is marked as stale, by `users` and again by `changes`.
//! `changes` reads the present relation and calls one script, which records the change unless a later one is known,
//! and removes the author's entries after an unfollow. A follow is recorded first, so that pushes land, and then
//! backfilled with posts that are read after that. (Posts read earlier could miss one whose push was left out because
//! of an earlier unfollow.) After a change, `changes` counts the author's followers, at most once a second, and marks
//! the author's card as stale.
//!
//! **Counting followers.** DynamoDB cancels transactions that write the same item at the same time, so a single
//! counter would allow about 60 follows a second and block the author's own posts. With count rows, few transactions
//! meet. After each change, `changes` sends itself `CountFollowers` with a delay of one second; while one is on its
//! way, no other is sent (`valkey/lua/ask.lua`). A count adds up the rows, writes the sum into the profile, and
//! doubles the partitions when needed. Each row also counts its changes, and a total replaces only a total of fewer
//! changes. Totals may therefore be computed twice or at once. The transaction does not check whether the author has a
//! profile; erasing a user ends relations that arrive late.
//!
//! # Bounds
//!
//! - Counting the followers of an author with 1,024 partitions costs 1,024 read units a second while the number
//!   changes.
//! - An author with 4 partitions can gain about 2,000 followers a second (500 for each partition). Further follows are
//!   tried again, and then get 503. Each follow reads the author's profile once; DynamoDB allows 3,000 reads a second
//!   of one item.
//! - A follow makes three calls one after another if the author is named by id, or by a handle whose card is there.
//!   Without the card, which includes times without Valkey, it makes four; if the card names an earlier owner of the
//!   handle, six.
//! - Counting needs Valkey: the number of followers does not change while Valkey does not answer. A dispatch that
//!   reads an old, small number pushes to all followers itself, which takes longer.

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
