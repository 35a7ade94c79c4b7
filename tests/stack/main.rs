//! Tests against real servers: Valkey, the local cloud, the deployed stack. `cargo local test`
//! starts the servers. A test whose server is missing fails with a message.
//!
//! | module | tests |
//! | --- | --- |
//! | [`scripts`] | each Lua script against a plain model |
//! | [`boards`] | boards: ranks, rebuilds, merges, against a sorted vector |
//! | [`rules`] | the rules that keep a feed right, one by one, through the real handlers |
//! | [`queues`] | each function that takes messages: batches twice, reordered, late, with one bad record |
//! | [`histories`] | random histories on the local cloud, compared with a model |
//! | [`simulation`] | thousands of histories with simulated faults, in which calls run in any order |
//! | [`cluster`] | real Valkey servers and clusters that fail |
//! | [`tls`] | Valkey over TLS, and with IAM instead of a password |
//! | [`faults`] | the deployed stack under load while its parts are disturbed |
//! | [`api`] | the deployed stack over HTTP, each answer is compared with the API description |
//! | [`security`] | attacks on the deployed stack, and the threat model |
//! | [`schedule`] | the schedule of the deployed stack |
//! | [`serial`] | the deployed stack, for tests that disturb other tests |
//! | [`fixtures`] | data of earlier versions can be read, and data is still written in the same form |
//! | [`house`] | dependencies between crates and between files |
//! | [`registry`] | the registry matches the template |
//! | [`openapi`] | the API description matches the handlers |
//! | [`binaries`] | the release binaries: size, start, contents |
//! | [`tools`] | `cargo local`, `cargo lambda watch`, `sam local invoke`, `sam build` and `sam deploy` |

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "everything here is a test: a test fails by a panic"
)]

mod api;
mod binaries;
mod boards;
mod cluster;
mod faults;
mod fixtures;
mod harness;
mod histories;
mod house;
mod openapi;
mod queues;
mod registry;
mod rules;
mod schedule;
mod scripts;
mod security;
mod serial;
mod simulation;
mod tls;
mod tools;
