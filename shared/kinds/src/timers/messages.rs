//! The messages of due.

use fanfold_core::limits::COMMIT_GRACE;
use fanfold_core::registry::{DUE_ITEMS, TIMER_EVENTS};
use fanfold_core::{DueEntry, Time, TimerName, UserId, message};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// An item is due. It is sent ahead, so that SQS delivers it at the item's time, and may be sent before the
/// item is committed. Its handler reads the item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ItemDue {
    /// The item with its time.
    pub entry: DueEntry,
    /// When the message was sent before the commit of its item. `None`: the item is committed.
    #[serde(default, rename = "announced_at_ms", skip_serializing_if = "Option::is_none")]
    pub announced_at: Option<Time>,
}

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

impl ItemDue {
    /// The message of an entry whose item is committed.
    pub fn new(entry: DueEntry) -> Self {
        Self { entry, announced_at: None }
    }

    /// The message of an entry, sent at this time before the commit of its item.
    pub fn announced(entry: DueEntry, at: Time) -> Self {
        Self { announced_at: Some(at), ..Self::new(entry) }
    }

    /// Whether the commit of the item may still be under way.
    pub fn may_be_ahead(&self, now: Time) -> bool {
        self.announced_at.is_some_and(|at| now <= at + COMMIT_GRACE)
    }
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

// mutation: due-group
message!(ItemDue 1 on DUE_ITEMS; in groups by |message| message.entry.item.owner());
message!(TimerFired 1 on TIMER_EVENTS; in groups by |fired| fired.owner);

fn is_zero(number: &u64) -> bool {
    *number == 0
}
