//! The proof that a commit takes which makes or moves a due item.

use fanfold_core::limits::DUE_LOOK_AHEAD;
use fanfold_core::{DueEntry, Time};
use fanfold_runtime::sqs::Announced;

use super::message::ItemDue;

/// The proof that somebody hands an item on when it is due. A commit that makes or moves an item takes it.
#[must_use]
pub enum HandOn {
    /// Its message was sent before the commit.
    Sent(Announced<ItemDue>),
    /// It is due later, so a look-ahead finds it.
    Later(Later),
    /// It keeps its time, so whoever was to hand it on still does.
    Kept(Kept),
}

/// The proof that a changed item keeps its entry.
pub struct Kept(());

/// The proof that an item is due later than every look-ahead that may run during its commit.
pub struct Later(());

impl HandOn {
    /// The proof for an entry that needs no message, because it is due later.
    pub fn without_message(entry: &DueEntry, now: Time) -> Option<Self> {
        // mutation: due-near
        (entry.at > now + DUE_LOOK_AHEAD).then_some(Self::Later(Later(())))
    }

    /// The proof for a change that keeps the entry.
    pub fn kept(before: &DueEntry, after: &DueEntry) -> Option<Self> {
        (before == after).then_some(Self::Kept(Kept(())))
    }

    /// Whether its message was sent.
    pub fn is_sent(&self) -> bool {
        matches!(self, Self::Sent(_))
    }
}
