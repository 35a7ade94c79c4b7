//! The function `audit`: compares live feeds with what DynamoDB says they hold.

pub mod handler;

pub use handler::App;
