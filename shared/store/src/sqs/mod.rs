//! SQS: typed queues, and the runner of a batch.

pub mod batch;
mod consume;
mod head;
mod letters;
mod probe;
mod queue;
mod redrive;

pub use batch::Incoming;
pub use consume::{Moment, consume, consume_batches};
pub use letters::{Letters, Source};
pub use probe::QueueProbe;
pub use queue::Queue;
pub use redrive::{DeadLetters, Redriven};
