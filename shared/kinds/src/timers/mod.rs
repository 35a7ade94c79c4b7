//! Timers: a name, a time and a payload. When the time has come, a message with the payload is sent.

mod cases;
pub mod events;
pub mod items;
pub mod messages;
pub(crate) mod owned;

pub use cases::{NewTimer, TimersOf, delete, list, put, read};

/// The tag of timers among due items.
pub const TAG: &str = "timer";
