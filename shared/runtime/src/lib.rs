//! The modules that all functions run on: settings, clients, logs, metrics and queues.
//!
//! | module | contains |
//! | --- | --- |
//! | [`config`] | settings, which a function reads when it starts |
//! | [`aws`] | the configuration of all AWS clients |
//! | [`clock`] | the time, deadlines, pauses and random numbers |
//! | [`error`] | the errors of calls to stores |
//! | [`log`] | structured logs |
//! | [`metrics`] | metrics in CloudWatch's embedded metric format |
//! | [`trace`] | the ids of the request and the invocation that work belongs to |
//! | [`retry`] | pauses between tries |
//! | [`store`] | names of tables and URLs of queues |
//! | [`sqs`] | typed queues, and the runner of batches of messages |
//! | [`invoke`] | the runner of functions that schedules or operators invoke |

pub mod aws;
pub mod clock;
pub mod config;
pub mod error;
pub mod invoke;
pub mod log;
pub mod metrics;
pub mod retry;
pub mod sqs;
pub mod store;
pub mod trace;

pub use config::Config;
pub use error::StoreError;

/// The reason why a function cannot start, or why an invocation fails.
pub type StartError = Box<dyn std::error::Error + Send + Sync>;
