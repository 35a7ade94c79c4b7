//! SQS: typed queues, and the runner of a batch.

pub mod batch;
mod queue;

pub use queue::Queue;
