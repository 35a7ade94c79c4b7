//! The function `users`: profiles, who follows whom, the specification, and what no route takes.

pub mod handler;
mod routes;

pub use handler::App;
pub use routes::routes;
