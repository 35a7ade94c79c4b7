//! All of Fanfold's I/O.
//!
//! | module | talks to |
//! | --- | --- |
//! | [`config`] | the environment, once |
//! | [`aws`] | the AWS clients that the rest shares |
//! | [`dynamo`] | DynamoDB: users, posts and the graph, which are the truth |
//! | [`valkey`] | Valkey: the scripts of `valkey/lua`, one function each |
//! | [`feeds`] | both: pages, rebuilds and pulls of feeds |
//! | [`sqs`] | SQS: typed queues, and the runner of a batch |
//! | [`log`], [`measure`] | CloudWatch, by way of the log |
//! | [`origin`] | nobody: which request and invocation work belongs to |
//! | [`http`] | the HTTP API's side: problems, callers, bodies, views |

pub mod aws;
pub mod clock;
pub mod config;
pub mod dynamo;
pub mod error;
pub mod feeds;
pub mod http;
pub mod log;
pub mod measure;
pub mod origin;
pub mod sqs;
pub mod valkey;

pub use config::Config;
pub use error::StoreError;
