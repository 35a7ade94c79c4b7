//! The function `dispatch`: from a published post to the followers who should see it.

mod followers;
pub mod handler;

pub use handler::App;
