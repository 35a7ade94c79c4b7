//! The function `rebuild`: home feeds of too many authors to be rebuilt within a request.

pub mod handler;

pub use handler::App;
