//! The message of a due item.

use fanfold_core::limits::COMMIT_GRACE;
use fanfold_core::registry::DUE_ITEMS;
use fanfold_core::{DueEntry, Time, message};
use serde::{Deserialize, Serialize};

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

message!(ItemDue 1 on DUE_ITEMS; in groups by |message| message.entry.item.owner);
