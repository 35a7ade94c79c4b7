//! SQS: typed queues, and the runner of a batch.

pub mod batch;
mod letters;
mod queue;

pub use letters::Letters;
pub use queue::Queue;
