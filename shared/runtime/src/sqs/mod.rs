//! SQS: the outbox, the runner of batches, retries and dead letters.

pub mod batch;
mod consume;
mod head;
mod outbox;
mod probe;
mod record;
mod redrive;
mod retries;
mod text;

pub use batch::{Incoming, Outcome};
pub use consume::{Moment, consume, consume_batches};
pub use outbox::{Announced, Outbox};
pub use probe::QueueProbe;
pub use redrive::{DeadLetters, Redriven};
pub use retries::Retries;
