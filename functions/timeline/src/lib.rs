//! The function `timeline`: the pages of home feeds and author feeds.

pub mod handler;
mod routes;

pub use handler::App;
pub use routes::routes;
