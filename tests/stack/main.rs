//! Tests against real servers: Valkey, the local cloud, the deployed stack. `cargo local test`
//! starts them; without them every test here fails and says so.
//!
//! | module | tests |
//! | --- | --- |
//! | [`scripts`] | each Lua script against a plain model |
//! | [`rules`] | the rules that keep a feed right, one by one, through the real handlers |
//! | [`queues`] | each queue function: batches twice, reordered, late, with one bad record |
//! | [`histories`] | random histories against an oracle, on the local cloud |
//! | [`simulation`] | thousands of histories in which every single call may be the next |
//! | [`cluster`] | real Valkey servers and clusters that fail |
//! | [`tls`] | Valkey over TLS, and with IAM in place of a password |
//! | [`faults`] | the deployed stack under load, while its parts are disturbed |
//! | [`api`] | the deployed stack over HTTP, each answer held against the specification |
//! | [`security`] | attacks on the deployed stack, and what the threat model says of them |
//! | [`serial`] | the deployed stack, where a test disturbs what others rely on |
//! | [`fixtures`] | what earlier versions wrote is read, and still written so |
//! | [`openapi`] | the specification is the handlers' |
//! | [`binaries`] | the release binaries: size, start, what they hold |
//! | [`tools`] | `cargo local`, `cargo lambda watch`, `sam local invoke`, `sam build` and `sam deploy` |

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "all of this is tests: a panic is how they fail"
)]

mod api;
mod binaries;
mod cluster;
mod faults;
mod fixtures;
mod harness;
mod histories;
mod openapi;
mod queues;
mod rules;
mod scripts;
mod security;
mod serial;
mod simulation;
mod tls;
mod tools;
