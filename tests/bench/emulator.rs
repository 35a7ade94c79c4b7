//! DynamoDB and SQS for the benches: the simulation's model without faults, but with counters, with an
//! optional delay for each call, and with audiences of a million followers.

mod answer;
mod counts;
pub mod crowd;
mod http;
mod wire;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fanfold_core::UserId;
use fanfold_core::message::Received as _;
use fanfold_kinds::posts::messages::PostPublished;
use serde_json::Value;
use tokio::sync::Notify;

use crate::simulation::cloud::Cloud;
pub use counts::Counts;
use crowd::Partition;
pub use crowd::assert_agrees_with_the_model;
pub use wire::config;

pub const USERS: &str = "users";
pub const POSTS: &str = "posts";
pub const GRAPH: &str = "graph";
pub const DUE: &str = "due";
pub const MARKS: &str = "marks";
pub const BOARDS: &str = "boards";
/// The URL of `chunks` and of `bulk-chunks`.
pub const CHUNKS: &str = "chunks";
/// The URL of `post-events` and of `bulk-events`.
pub const EVENTS: &str = "events";

#[derive(Clone, Default)]
pub struct Emulator {
    state: Arc<Mutex<State>>,
    sent: Arc<Notify>,
}

#[derive(Default)]
struct State {
    cloud: Cloud,
    /// Partitions with too many followers for items of JSON, by `pk`.
    crowds: HashMap<String, Partition>,
    counts: Counts,
    delays: Delays,
    chunks: VecDeque<String>,
    events: VecDeque<String>,
    drop_chunks: bool,
}

/// How much longer each call takes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Delays {
    pub dynamodb: Duration,
    pub sqs: Duration,
}

impl Emulator {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn put(&self, table: &str, item: Value) {
        let Value::Object(item) = item else { panic!("an item is an object") };
        self.lock().cloud.put(table, item);
    }

    /// Gives an author these followers, in the partitions that the store would choose.
    pub fn put_crowd(&self, author: UserId, followers: &[UserId]) {
        let partitions = crowd::partitions(author, followers);
        self.lock().crowds.extend(partitions);
    }

    /// From now on each DynamoDB call takes this much longer.
    pub fn set_delay(&self, dynamodb: Duration) {
        self.set_delays(Delays { dynamodb, sqs: Duration::ZERO });
    }

    pub fn set_delays(&self, delays: Delays) {
        self.lock().delays = delays;
    }

    /// Sets whether chunks are counted and then dropped.
    pub fn set_drop_chunks(&self, drop: bool) {
        self.lock().drop_chunks = drop;
    }

    /// The counts since the last call of this function.
    pub fn take_counts(&self) -> Counts {
        let mut state = self.lock();
        let units = std::mem::take(&mut state.cloud.units);
        Counts { units, ..std::mem::take(&mut state.counts) }
    }

    /// Takes a batch of chunks as Lambda would: waits for the first one, and takes up to ten. Counts a
    /// receive and a delete. None: there is no chunk, and `more` says that none will come.
    pub async fn take_chunks(&self, more: impl Fn() -> bool) -> Option<Vec<String>> {
        loop {
            let arrived = self.sent.notified();
            {
                let mut state = self.lock();
                let batch: Vec<String> = (0..10).map_while(|_| state.chunks.pop_front()).collect();
                if !batch.is_empty() {
                    state.counts.received(batch.iter().map(String::len).sum());
                    return Some(batch);
                }
            }
            if !more() {
                return None;
            }
            arrived.await;
        }
    }

    /// Takes a waiting part of a divided fan-out.
    pub fn take_event(&self) -> Option<PostPublished> {
        let mut state = self.lock();
        let body = state.events.pop_front()?;
        state.counts.received(body.len());
        Some(PostPublished::decode(&body).expect("an event"))
    }

    /// Wakes the functions that wait for chunks.
    pub fn wake(&self) {
        self.sent.notify_waiters();
    }
}

/// The number of calls by operation.
pub type Calls = BTreeMap<String, u64>;
