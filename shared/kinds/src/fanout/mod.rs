//! Fan-out: the delivery of a post to its author's followers.
//!
//! [`dispatch`] takes a published post and decides how it reaches the followers; [`cut`] divides them into chunks;
//! [`deliver`] takes a chunk; [`push`] writes to feeds.

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
