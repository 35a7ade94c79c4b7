//! The function `posts`: publishing, reading and deleting single posts.

pub mod handler;
mod routes;

pub use handler::App;
pub use routes::routes;
