//! The function `sweep`: drops feeds that nobody reads.

pub mod handler;

pub use handler::App;
