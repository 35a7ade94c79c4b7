//! The function `deliver`: from a chunk of followers to their feeds.

pub mod handler;

pub use handler::App;
