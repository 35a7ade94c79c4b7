//! What Fanfold decides without doing any I/O.
//!
//! | module | holds |
//! | --- | --- |
//! | [`id`] | who and what: [`UserId`], [`PostId`], buckets |
//! | [`order`] | the one order of every feed, as Valkey scores and members |
//! | [`slice`] | a piece of a feed and how far down it is complete |
//! | [`merge`] | the lazy merge of many feeds |
//! | [`cursor`] | the opaque tokens that page a list |
//! | [`fanout`] | partitions, ranges and chunks of followers |
//! | [`message`] | the bodies on the queues |
//! | [`relation`] | follow and unfollow as changes with a time |
//! | [`text`] | what a person may write |
//! | [`limits`] | every bound of the system |

pub mod cursor;
pub mod fanout;
pub mod id;
pub mod limits;
pub mod merge;
pub mod message;
pub mod order;
pub mod relation;
pub mod slice;
pub mod text;

pub use cursor::{Cursor, CursorError, ListKind};
pub use id::{IdError, PostId, UserId};
pub use merge::Merge;
pub use relation::{Change, Relation};
pub use slice::Slice;
