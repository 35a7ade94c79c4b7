//! Fan-out: the delivery of a post to its author's followers.
//!
//! [`dispatch`] takes a published post and decides how it reaches the followers; [`cut`] divides them into chunks;
//! [`deliver`] takes a chunk; [`push`] writes to feeds.

mod cut;
pub mod deliver;
pub mod dispatch;
pub mod push;
pub mod receipts;

use crate::fanout::receipts::ReceiptStore;
use crate::feeds::pulled::PulledStore;
use crate::follows::items::GraphStore;
use crate::people::items::UserStore;
use crate::posts::items::PostStore;
use fanfold_core::fanout::{DeliveryCounts, FanoutPart};
use fanfold_core::limits::{self, FOLLOWERS_PER_QUERY};
use fanfold_core::message::{DeliverChunk, PostEvent};
use fanfold_core::registry::{BULK_CHUNKS, BULK_EVENTS, CHUNKS, POST_EVENTS};
use fanfold_engines::valkey::Valkey;
use fanfold_runtime::StartError;
use fanfold_runtime::aws::SdkConfig;
use fanfold_runtime::config::{Config, ConfigError};
use fanfold_runtime::sqs::Queue;

/// Partitions of a large audience that one dispatch reads.
const PARTITIONS_PER_PART: u16 = 8;

/// The settings of fan-out. All values are numbers of followers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FanOutSettings {
    /// Followers in one message (`CHUNK_FOLLOWERS`).
    pub chunk: usize,
    /// Dispatch itself pushes to an audience up to this size (`SMALL_FOLLOWERS`).
    pub small: u64,
    /// A larger audience goes through queues of its own (`BULK_FOLLOWERS`).
    pub bulk: u64,
    /// An author with this many followers is pulled (`PULL_FOLLOWERS`). 0: no author is.
    pub pull: u64,
}

impl FanOutSettings {
    /// Reads the settings. An error names the setting that is malformed or out of range.
    pub fn read(config: &Config) -> Result<Self, ConfigError> {
        let number = |name, default, max| config.number(name, default, 0..=max);
        let (chunk, chunk_max) = (limits::CHUNK_FOLLOWERS_DEFAULT, limits::CHUNK_FOLLOWERS_MAX);
        let chunk = config.number("CHUNK_FOLLOWERS", chunk as u64, 1..=(chunk_max as u64))?;
        let (small, small_max) = (limits::SMALL_FOLLOWERS_DEFAULT, limits::SMALL_FOLLOWERS_MAX);
        let (bulk, bulk_max) = (limits::BULK_FOLLOWERS_DEFAULT, limits::BULK_FOLLOWERS_MAX);
        Ok(Self {
            chunk: chunk as usize,
            small: number("SMALL_FOLLOWERS", small as u64, small_max as u64)?,
            bulk: number("BULK_FOLLOWERS", bulk, bulk_max)?,
            pull: number("PULL_FOLLOWERS", limits::PULL_FOLLOWERS_DEFAULT, bulk_max)?,
        })
    }
}

/// The stores, the queues and the settings of dispatch.
#[derive(Clone)]
pub struct Dispatch {
    pub posts: PostStore,
    pub users: UserStore,
    pub graph: GraphStore,
    pub receipts: ReceiptStore,
    pub pulled: PulledStore,
    pub valkey: Valkey,
    /// The queues for normal audiences.
    pub lane: Lane,
    /// The queues for large audiences, so that other posts do not wait for them.
    pub bulk: Lane,
    pub fanout: FanOutSettings,
    /// Followers that one query reads.
    pub page_followers: i32,
    /// Partitions of a large audience in each part.
    pub partitions_per_part: u16,
}

/// The queues that a fan-out goes through: normal audiences and large audiences have their own.
#[derive(Clone)]
pub struct Lane {
    /// Chunks for deliver.
    pub chunks: Queue<DeliverChunk>,
    /// Events for dispatch: the parts of a large audience, and the rest of a dispatch that runs out of time.
    pub events: Queue<PostEvent>,
}

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

impl Dispatch {
    /// Makes the clients from the settings. An error names the setting that is missing or malformed.
    pub fn new(sdk: &SdkConfig, config: &Config) -> Result<Self, StartError> {
        let lane = |chunks, events| {
            Ok::<_, StartError>(Lane {
                chunks: Queue::new(sdk, config, chunks)?,
                events: Queue::new(sdk, config, events)?,
            })
        };
        Ok(Self {
            posts: PostStore::new(sdk, config)?,
            users: UserStore::new(sdk, config)?,
            graph: GraphStore::new(sdk, config)?,
            receipts: ReceiptStore::new(sdk, config)?,
            pulled: PulledStore::new(sdk, config)?,
            valkey: Valkey::new(sdk, config)?,
            lane: lane(CHUNKS, POST_EVENTS)?,
            bulk: lane(BULK_CHUNKS, BULK_EVENTS)?,
            fanout: FanOutSettings::read(config)?,
            page_followers: FOLLOWERS_PER_QUERY,
            partitions_per_part: PARTITIONS_PER_PART,
        })
    }
}
