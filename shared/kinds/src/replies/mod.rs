//! Replies: posts that answer posts, the lists of them under each post above, and their number.
//!
//! **A reply** is a post that names the posts above it ([`crate::posts::thread`]). The answered post is read by its card, because
//! very many may answer one post at the same time. A post may be deleted while somebody answers it, so a reply may lead to a
//! post that is gone: its place in the thread is a placeholder. Deleting a post keeps its replies.
//!
//! **Lists.** The transaction that publishes a reply writes a row under each post above it: at most 40, of two write units each.
//! So the replies below any post are one list by time, with parts of 4 partition keys, and no item is written by everybody who
//! answers a post. A reply that is more than 39 levels below a post is in the list of the root and of the nearer posts alone.
//!
//! **Context.** The first step reads the post and a page of its list, from DynamoDB and at the same time. The second reads the
//! cards of the posts above and of the replies, as a page of a feed does, so a context takes at most four calls in a row.
//!
//! **Counting** works like the count of likes: the transaction adds to one of 128 rows of the answered post. `dispatch`, which
//! handles the publication, asks `changes` for a count with a delay of one second. The number is that of the direct replies.
//!
//! **Deletion.** The tombstone keeps the posts above. `changes` takes the reply out of their lists and out of the count in one
//! transaction, on condition that it is there, so this happens once. Then it requests a count, and the tombstone forgets the posts
//! above. When a user is erased, the same happens to tombstones that still have them, before they go. Others' replies to posts of
//! an erased user keep the ids of these posts.
//!
//! # Bounds
//!
//! - A post can get about 2,000 replies a second: each of the 4 parts of its list and of its count takes 1,000 write units, and a
//!   transaction takes two for a row.
//! - Each read of a context reads the post's item and its 4 parts, so one post's context can be read about 3,000 times a second.

mod cases;
pub mod events;
pub mod items;
pub mod messages;
pub(crate) mod owned;

pub use cases::{Above, Context, RepliesTo, context};
