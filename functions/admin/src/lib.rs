//! The function `admin`: what operators order. It has no route and no schedule; whoever may invoke it
//! by IAM gives orders.

pub mod doctor;
mod drop;
mod feed;
pub mod handler;
mod memory;
pub mod order;

pub use handler::App;
