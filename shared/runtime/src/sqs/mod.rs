//! SQS: typed queues, the runner of batches, retries and dead letters.

pub mod batch;
mod consume;
mod head;
mod probe;
mod queue;
mod record;
mod redrive;
mod retries;
mod text;

pub use batch::{Incoming, Outcome};
pub use consume::{Moment, consume, consume_batches};
pub use probe::QueueProbe;
pub use queue::{Announced, Queue};
pub use redrive::{DeadLetters, Redriven};
pub use retries::Retries;
