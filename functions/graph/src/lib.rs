//! The function `graph`: brings a reader's home feed in line with a relation that changed.

pub mod handler;

pub use handler::App;
