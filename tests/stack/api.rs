//! The deployed stack over HTTP. Each answer is held against the specification by the client.

mod delivery;
mod feeds;
mod followed;
mod posts;
mod refusals;
mod users;
