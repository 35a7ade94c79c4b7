//! DynamoDB and SQS for the benches: the simulation's model without its faults, with counters, with
//! a delay for each DynamoDB call if it is wanted, and with audiences of a million followers.

mod counts;
mod crowd;
mod wire;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fanfold_core::UserId;
use fanfold_core::message::PostPublished;
use serde_json::Value;
use tokio::sync::Notify;

use crate::simulation::cloud::Cloud;
pub use counts::Counts;
use crowd::Partition;
pub use crowd::agrees_with_the_model;
pub use wire::config;

pub const USERS: &str = "users";
pub const POSTS: &str = "posts";
pub const GRAPH: &str = "graph";
/// Both lanes lead here.
pub const CHUNKS: &str = "chunks";
pub const EVENTS: &str = "events";

#[derive(Clone, Default)]
pub struct Emulator {
    state: Arc<Mutex<State>>,
    sent: Arc<Notify>,
}

#[derive(Default)]
struct State {
    cloud: Cloud,
    /// Partitions of followers, by their `pk`: too many for items of JSON.
    crowds: HashMap<String, Partition>,
    counts: Counts,
    delay: Duration,
    chunks: VecDeque<String>,
    events: VecDeque<String>,
    drop_chunks: bool,
}

impl Emulator {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn put(&self, table: &str, item: Value) {
        let Value::Object(item) = item else { panic!("an item is an object") };
        self.lock().cloud.put(table, item);
    }

    /// Gives an author these followers, in as many partitions as the store would.
    pub fn put_crowd(&self, author: UserId, followers: &[UserId]) {
        let partitions = crowd::partitions(author, followers);
        self.lock().crowds.extend(partitions);
    }

    /// From now on each DynamoDB call takes this much longer.
    pub fn set_delay(&self, delay: Duration) {
        self.lock().delay = delay;
    }

    /// Whether chunks are counted and dropped.
    pub fn set_drop_chunks(&self, drop: bool) {
        self.lock().drop_chunks = drop;
    }

    /// What was counted since this was last asked.
    pub fn take_counts(&self) -> Counts {
        let mut state = self.lock();
        let units = std::mem::take(&mut state.cloud.units);
        Counts { units, ..std::mem::take(&mut state.counts) }
    }

    /// A batch of chunks as Lambda would take it: up to ten, as soon as there is one. Counted as a
    /// receive and a delete. None, if there is none yet and `more` says that none will come.
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

    /// A part of a fan-out that is divided, if one waits.
    pub fn take_event(&self) -> Option<PostPublished> {
        let mut state = self.lock();
        let body = state.events.pop_front()?;
        state.counts.received(body.len());
        Some(serde_json::from_str(&body).expect("an event"))
    }

    /// Lets those who wait for chunks look again.
    pub fn wake(&self) {
        self.sent.notify_waiters();
    }

    /// Answers a call: the status, and the body as it goes over the wire.
    fn answer(&self, target: &str, body: &[u8]) -> (u16, Vec<u8>) {
        let request: Value = serde_json::from_slice(body).expect("a JSON request");
        let operation = target.rsplit('.').next().unwrap_or_default();
        let mut state = self.lock();
        let state = &mut *state;
        state.counts.called(operation);
        if let Some(partition) = state.crowd_of(operation, &request) {
            let page = partition.page(&request);
            state.cloud.units.read(page.read_bytes, &request["ConsistentRead"]);
            return (200, page.body);
        }
        let (status, answer) = state.cloud.call(target, &request);
        let sent = std::mem::take(&mut state.cloud.sent);
        if !sent.is_empty() {
            state.counts.sent(sent.len(), sent.iter().map(|(_, body)| body.len()).sum());
            for (queue, body) in sent {
                match queue.as_str() {
                    EVENTS => state.events.push_back(body),
                    CHUNKS if !state.drop_chunks => state.chunks.push_back(body),
                    _ => {}
                }
            }
            self.sent.notify_waiters();
        }
        (status, answer.to_string().into_bytes())
    }
}

impl State {
    fn crowd_of(&self, operation: &str, request: &Value) -> Option<&Partition> {
        if operation != "Query" || request["TableName"] != GRAPH {
            return None;
        }
        self.crowds.get(request["ExpressionAttributeValues"][":pk"]["S"].as_str()?)
    }
}

/// Calls by their operation.
pub type Calls = BTreeMap<String, u64>;
