//! Timers: a name, a time and a payload. When the time has come, a message with the payload is sent.
//!
//! # Decisions
//!
//! - **`every` has no months and years.** They have no fixed length: after January 31st, a month ends in March or is
//!   shortened, and each answer surprises somebody. Days are 24 hours, because a timer has no time zone. An owner who
//!   needs the calendar puts the next time when a timer fires.
//! - **Missed occurrences are skipped and counted** (`missed`). After an outage of a day, a timer of every minute
//!   would otherwise fire 1,440 times at once. The next time is computed from the due time, so a late run does not
//!   move it.
//! - **A `due_at` in the past means now.** A client whose request is slow or whose clock is ahead gets its timer. A
//!   scheduled post is different: its time is shown to readers, so a time in the past is more likely a mistake, and is
//!   refused.

mod cases;
pub mod events;
pub mod items;
pub mod messages;
pub(crate) mod owned;

pub use cases::{NewTimer, TimersOf, delete, list, put, read};

/// The tag of timers among due items.
pub const TAG: &str = "timer";
