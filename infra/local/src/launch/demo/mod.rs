//! Demo data, made through the public API: people of a small town, and what they write to each other.
//!
//! | module | has or does |
//! | --- | --- |
//! | [`people`], [`posts`], [`boards`] | the built-in people, posts and leaderboards |
//! | [`fill`] | makes them |
//! | [`life`] | the options, and the threads that run while the system does |
//! | [`names`], [`newcomers`] | further people, and how they are made |
//! | [`authors`], [`pace`], [`texts`] | posts: who, when and what |
//! | [`readers`] | likes, follows and the rest |
//! | [`village`], [`tally`] | what the threads share, and what they did |
//! | [`api`], [`calls`], [`parallel`] | calls of the API, also several at the same time |

mod api;
mod authors;
mod boards;
mod calls;
mod fill;
mod life;
mod names;
mod newcomers;
mod pace;
mod parallel;
pub mod people;
mod posts;
mod readers;
mod tally;
mod texts;
mod village;

pub use life::{Demo, Life};

/// What a data file contains. Unit tests read each file.
fn data<T: serde::de::DeserializeOwned + Default>(file: &str) -> T {
    toml::from_str(file).unwrap_or_default()
}
