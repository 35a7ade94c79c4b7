//! Posts: their items, and the use cases that publish, read and delete them.
//!
//! **Publish.** `posts` checks the text. Then it makes three calls one after another. The first reads the profile; at
//! the same time, the `Idempotency-Key`, the handles in the text and the answered post are looked up if there are any, and
//! Valkey counts the write. The second sends `PostPublished` for the id that was drawn. The third writes post, counter and key in one transaction. If another
//! request with the same key committed first, its post is the answer. Then the author's card is marked as stale,
//! because the number of posts has changed. At the same time, the post is pushed to the author's own two feeds if they
//! are live, so the next request shows it. Without Valkey, dispatch does both later. A repeated request with its key
//! sends the event again.
//!
//! **Delete.** `posts` sends `PostDeleted`, and replaces the post by a tombstone and changes the counter in one
//! transaction. Then it marks the cards of the post and of its author as stale, and removes the post from the author's
//! own feeds. `dispatch` handles the event: it does the same when the deletion is visible. From then on, readers pass
//! over the entries in other feeds and remove them.

pub mod cards;
mod cases;
mod edit;
pub mod entities;
pub mod events;
pub mod extras;
pub mod items;
pub mod messages;
pub(crate) mod owned;
pub mod thread;

pub use cases::{NewPost, Receipt, delete, delivery, publish, read};
pub(crate) use cases::{bound, key_use, show_published, thread};
pub use edit::{PostEdit, edit, history};
