//! The counts that AWS would charge.

use super::Calls;
use crate::simulation::units::Units;

/// SQS bills each 64 KB of a request's payload as a request.
const SQS_REQUEST_BYTES: usize = 64 * 1024;

#[derive(Debug, Clone, Default)]
pub struct Counts {
    pub calls: Calls,
    /// The length of the longest chain of calls of which each began after the one before had ended.
    pub sequential: u64,
    pub units: Units,
    pub messages: u64,
    pub sqs_requests: u64,
    /// Invocations of functions with a batch of messages.
    pub batches: u64,
}

impl Counts {
    pub fn all_calls(&self) -> u64 {
        self.calls.values().sum()
    }

    pub(super) fn called(&mut self, operation: &str, chain: u64) {
        *self.calls.entry(operation.to_owned()).or_insert(0) += 1;
        self.sequential = self.sequential.max(chain);
    }

    pub(super) fn sent(&mut self, messages: usize, bytes: usize) {
        self.messages += messages as u64;
        self.sqs_requests += requests(bytes);
    }

    /// Counts a batch that is received, and deleted when it is done.
    pub(super) fn received(&mut self, bytes: usize) {
        self.batches += 1;
        self.sqs_requests += requests(bytes) + 1;
    }
}

fn requests(bytes: usize) -> u64 {
    bytes.div_ceil(SQS_REQUEST_BYTES).max(1) as u64
}
