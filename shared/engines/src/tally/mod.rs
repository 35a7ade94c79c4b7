//! Numbers that crowds change: the followers of an author, the likes of a post.
//!
//! DynamoDB cancels transactions that write the same item at the same time, so a single counter takes about 60 changes a
//! second. Here each change adds to one of several rows, in its own transaction. The number is the sum of the rows; it is
//! computed once a second, after the changes, and written where readers find it. It can be computed again at any time.
//!
//! Each row also counts its changes, and these numbers only grow. Of two sums, the one with more changes is newer, and is
//! kept.

mod request;
pub mod rows;

pub use request::Counts;
pub use rows::Tallied;
