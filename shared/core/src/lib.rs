//! The parts of Fanfold that do no I/O: ids, order, messages, merging, paging and limits.
//!
//! | module | contains |
//! | --- | --- |
//! | [`id`] | [`UserId`], [`PostId`], [`UserRef`], buckets |
//! | [`feed`] | [`FeedId`], the name of a feed |
//! | [`order`] | the order of feeds, as scores and members in Valkey |
//! | [`slice`] | a part of a feed, with the point down to which the part is complete |
//! | [`merge`] | the lazy merge of several feeds |
//! | [`board`] | members ranked by scores: order, ranks, sums |
//! | [`content`] | what apps store with posts and profiles: JSON of their own, attachments, links |
//! | [`cursor`] | the opaque tokens that clients page lists with |
//! | [`due`] | items with a time of their own |
//! | [`fanout`] | partitions, ranges and chunks of followers |
//! | [`message`] | the bodies of messages on the queues |
//! | [`ranking`] | posts by likes, and authors by likes |
//! | [`registry`] | the queues, functions and settings of a deployment |
//! | [`relation`] | follow and unfollow as changes with a time |
//! | [`tag`] | tags as names of feeds |
//! | [`text`] | the rules for texts, names and handles |
//! | [`time`] | points in time |
//! | [`kinds`] | the kinds of data, with their limits, items and keys |
//! | [`limits`] | the bounds of texts, pages, batches, retries and times |

pub mod board;
pub mod content;
pub mod cursor;
pub mod due;
pub mod fanout;
pub mod feed;
pub mod id;
pub mod kinds;
pub mod limits;
pub mod merge;
pub mod message;
pub mod order;
pub mod ranking;
pub mod registry;
pub mod relation;
pub mod slice;
pub mod tag;
pub mod text;
pub mod time;

pub use board::{Board, BoardId, BoardName, MemberName, RoundId, Scores};
pub use cursor::{CursorError, List, ListPlace};
pub use due::{DueEntry, DueItem, DuePart, Every, ScheduledId, TimerName};
pub use fanout::Partition;
pub use feed::{FeedId, FeedKind};
pub use id::{Bucket, IdError, PostId, UserId, UserRef};
pub use merge::Merge;
pub use ranking::{Ranking, Snapshot};
pub use relation::{Relation, RelationChange};
pub use slice::Slice;
pub use tag::{Tag, TagHash};
pub use text::{Handle, HandleHash};
pub use time::{Hour, Second, Time};
