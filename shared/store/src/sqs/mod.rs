//! SQS: typed queues, and the runner of a batch.

pub mod batch;
mod consume;
mod letters;
mod queue;

pub use consume::{Moment, consume};
pub use letters::Letters;
pub use queue::Queue;
