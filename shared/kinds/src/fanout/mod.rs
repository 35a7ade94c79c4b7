//! Fan-out: the delivery of a post to its author's followers.
//!
//! [`dispatch`] takes a published post and decides how it reaches the followers; [`cut`] divides them into chunks;
//! [`deliver`] takes a chunk; [`push`] writes to feeds.
//!
//! **Fan-out.** `dispatch` reads the post and pushes the author's own feeds. The rest depends on the audience:
//!
//! | followers | what happens |
//! | --- | --- |
//! | up to `SmallFollowers` | dispatch reads them and pushes to their feeds |
//! | up to `BulkFollowers` | dispatch cuts them into chunks on `chunks` |
//! | more | dispatch sends a `PostPublished` with a *part* for every eight partitions to `bulk-events`. The parts are cut at the same time, into chunks on `bulk-chunks` |
//!
//! The queues that all authors share therefore carry one message for a large author. The bulk queues have a
//! concurrency limit of their own (`BulkAtOnce`). With less than 5 s left, a dispatch sends the rest to its own queue
//! as parts that begin where it stopped; each invocation gets at least one range further.
//!
//! `deliver` takes up to ten chunks and makes **one script call per bucket for all of them**. The script reads once
//! which feeds are live, once per post whether somebody unfollowed the author lately, and inserts the post into each
//! live feed. A receipt counts what was delivered, once however often a message arrives.
//!
//! **Dispatch** reads four partitions at a time, with one page of each in memory, and sends ten chunks at a time. A
//! part is eight partitions of a large audience.
//!
//! **Trims.** A push of one post in four also checks the length of each feed: a feed above 7/8 of `FeedCap` is cut
//! back to 2/3 of it.
//!
//! **Partitions.** An author's followers are spread over 4, 8 … 1,024 partitions. The number doubles at 25,000
//! followers per partition (`FollowersPerPartition`; a new author has `FollowerPartitions`, because DynamoDB allows
//! 500 follows a second in each). A new follower goes to one of the partitions of the last doubling, because the older
//! ones are full. Each partition is sorted by bucket.
//!
//! **Receipts.** The order of a partition's followers has 64 fixed ranges, and a chunk consists of whole ranges, so a
//! repeated dispatch cuts the same chunks. The first dispatch notes the partitions (the *plan*). `deliver` adds a
//! chunk's ranges to a set in the partition's row, with its counts, on condition that the set does not have them yet.
//! The writer that completes a row adds the partition to the plan; the writer that completes the plan knows that all
//! followers have the post. Each step can be repeated, so a message that arrives twice counts once, and a function
//! that dies between two steps leaves nothing undone. If followers changed between two cuts of a partition, chunks may
//! overlap in part: the shared ranges are completed once, with the counts of the first. A follower who unfollows and
//! follows again meanwhile can move to another partition and count in both. A receipt costs one write per chunk, or
//! one for a small audience.
//!
//! # Large authors
//!
//! **Pulled authors** (`PullFollowers`; off by default). Posts of such an author are merged in when a feed is read. A
//! feed has a *pointer* to each author whose posts may be missing from it; a page of such a feed is merged with those
//! author feeds and shows duplicates once. An extra pointer is harmless; without a needed one, posts would be missing.
//! Pointers therefore travel with a post:
//!
//! 1. An author who crosses the threshold is *marked* before any follower is read. The mark is in one item, which
//!    every dispatch, rebuild and backfill reads. Posts are still pushed, now with the pointer.
//! 2. When the receipt of such a fan-out is complete, every live feed of a follower who was read has the pointer.
//!    Backfills for later followers, and rebuilds, read the mark after the feed is live and before they read any
//!    posts. Now the author is *pulled*, and posts are no longer pushed.
//! 3. Below 4/5 of the threshold the mark is removed and posts are pushed again. Pointers that remain in feeds stay
//!    correct.
//!
//! A reader with an old mark still finds all posts, because a post enters the author feed before dispatch decides
//! whether to push it.
//!
//! # Bounds
//!
//! - Each rebuild and each follow reads the item of pulled authors, so all of them together are limited to 3,000 a
//!   second.
//! - Pointers to an author who is no longer pulled cost a merge with each page, until the feed is rebuilt.
//! - If some buckets fail, an audience of up to `SmallFollowers` is pushed again as a whole.

mod cut;
pub mod deliver;
pub mod dispatch;
pub mod messages;
pub mod push;
pub mod receipts;
pub mod settings;

use fanfold_core::fanout::{DeliveryCounts, FanoutPart};

/// The result of a dispatch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dispatched {
    /// The post is deleted, or was never committed.
    NothingToDo,
    /// The post was pushed to all followers by an earlier dispatch of the event.
    Again,
    /// The author is pulled: readers find the post in the author feed.
    Pulled,
    /// The post was pushed to the followers in this invocation.
    Pushed(DeliveryCounts),
    /// The large audience was divided into this many parts, each for a dispatch of its own.
    Divided { parts: usize },
    /// The followers were cut into this many chunks.
    Cut { chunks: usize },
    /// The time ran out: this many chunks were sent, and the rest went back to the queue as events.
    Continued { chunks: usize, rest: Vec<FanoutPart> },
}

impl Dispatched {
    /// The fields of the log line: the way, and how many chunks and parts were sent.
    pub(crate) fn log_fields(&self) -> (&'static str, Option<usize>, Option<usize>) {
        match self {
            Self::NothingToDo => ("none", None, None),
            Self::Again => ("again", None, None),
            Self::Pulled => ("pulled", None, None),
            Self::Pushed(_) => ("pushed", None, None),
            Self::Divided { parts } => ("divided", None, Some(*parts)),
            Self::Cut { chunks } => ("cut", Some(*chunks), None),
            Self::Continued { chunks, rest } => ("continued", Some(*chunks), Some(rest.len())),
        }
    }
}
