//! Tags: the posts that have them, as feeds that everybody reads.
//!
//! **Where the rows come from.** A post keeps the names of all tags that it ever had. Whoever changes it (its publication, an edit, a
//! deletion) sends an event, and the handler brings the rows up to date: it reads the post, puts rows under the tags of the present
//! text, removes the others, does the same to the feeds in Valkey, and reads the post again until nothing has changed meanwhile. So
//! the order of events does not matter, and a handler that dies is repeated.
//!
//! **Reading.** A tag feed is a feed like others: live in Valkey, with a floor, rebuilt from the rows. Readers pass over posts whose
//! present text lacks the tag.

pub mod cases;
pub mod followed;
pub mod items;
pub mod messages;
pub mod names;
pub(crate) mod owned;
pub mod settings;
pub mod sync;
pub mod tagging;
pub mod uses;
