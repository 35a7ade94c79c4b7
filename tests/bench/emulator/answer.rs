//! Answers calls and counts them.

use std::time::Duration;

use serde_json::Value;

use super::crowd::Partition;
use super::{CHUNKS, EVENTS, Emulator, GRAPH, State};

/// A call that has begun.
pub(super) struct Begun {
    pub delay: Duration,
    /// The length of the longest chain of calls that ends with this call. Each call of a chain began after the
    /// one before had ended.
    chain: u64,
}

impl Emulator {
    /// To be called when a call arrives. The caller waits for the delay and then calls [`Emulator::answer`].
    pub(super) fn begin(&self, target: &str) -> Begun {
        let state = self.lock();
        let delay = match target.starts_with("DynamoDB") {
            true => state.delays.dynamodb,
            false => state.delays.sqs,
        };
        Begun { delay, chain: state.counts.sequential + 1 }
    }

    /// Answers a call, which ends with it. Returns the status and the body.
    pub(super) fn answer(&self, begun: &Begun, target: &str, body: &[u8]) -> (u16, Vec<u8>) {
        let request: Value = serde_json::from_slice(body).expect("a JSON request");
        let operation = target.rsplit('.').next().unwrap_or_default();
        let mut state = self.lock();
        let state = &mut *state;
        state.counts.called(operation, begun.chain);
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
