//! What AWS would put on the bill.

use super::Calls;
use crate::simulation::units::Units;

/// SQS bills each 64 KB of a request's payload as a request.
const SQS_REQUEST_BYTES: usize = 64 * 1024;

#[derive(Debug, Clone, Default)]
pub struct Counts {
    pub calls: Calls,
    pub units: Units,
    pub messages: u64,
    pub sqs_requests: u64,
    /// Times that a function was called with a batch of messages.
    pub batches: u64,
}

impl Counts {
    pub(super) fn called(&mut self, operation: &str) {
        *self.calls.entry(operation.to_owned()).or_insert(0) += 1;
    }

    pub(super) fn sent(&mut self, messages: usize, bytes: usize) {
        self.messages += messages as u64;
        self.sqs_requests += requests(bytes);
    }

    /// A batch that was received and, once it is done, deleted.
    pub(super) fn received(&mut self, bytes: usize) {
        self.batches += 1;
        self.sqs_requests += requests(bytes) + 1;
    }
}

fn requests(bytes: usize) -> u64 {
    bytes.div_ceil(SQS_REQUEST_BYTES).max(1) as u64
}
