//! People: profiles and their handles.

mod cases;
pub mod items;

pub use cases::{Profiles, Put, find, must_belong_to, put_profile};
