//! The message of a timer that was due.

use fanfold_core::registry::TIMER_EVENTS;
use fanfold_core::{Time, TimerName, UserId, message};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// A timer was due. It is sent at least once for each occurrence; repetitions have the
/// same id. This body is a public form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimerFired {
    /// The id of the occurrence: 32 hexadecimal digits.
    pub id: String,
    /// The user to whom the timer belongs.
    pub owner: UserId,
    /// The name of the timer.
    pub name: TimerName,
    /// The time at which the timer was due, as RFC 3339 in UTC.
    pub due_at: String,
    /// The number of following occurrences that are skipped, because no function ran in time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub missed: u64,
    /// The timer's payload, any JSON.
    pub payload: serde_json::Value,
}

impl TimerFired {
    /// The occurrence of a timer at this time. `revision` differs between timers of one name that followed each other.
    pub fn new(
        (owner, name): (UserId, TimerName),
        revision: &str,
        due_at: Time,
        missed: u64,
        payload: serde_json::Value,
    ) -> Self {
        let text = format!("timer {owner} {name} {revision} {}", due_at.ms());
        let hash = Sha256::digest(text);
        let id = hash.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        let due_at = due_at.rfc3339();
        Self { id, owner, name, due_at, missed, payload }
    }
}

message!(TimerFired 1 on TIMER_EVENTS; in groups by |fired| fired.owner);

fn is_zero(number: &u64) -> bool {
    *number == 0
}
