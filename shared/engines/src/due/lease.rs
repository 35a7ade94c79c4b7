//! The lease of an item that is due.

use fanfold_core::limits::CARD_MARK_WITHIN;
use fanfold_core::{DueEntry, Time};
use fanfold_runtime::clock;
use fanfold_runtime::log::Chain;

use super::engine::Due;
use crate::valkey::DueLease;

/// What a message waits for while another function has the lease of its item.
pub const HANDLED_ELSEWHERE: &str = "what another function publishes or fires";

/// The right of one function to send the messages of an item that is due. Two messages about one item then lead to one
/// publication, or one `TimerFired`. Without Valkey everybody has the right, and messages may be sent twice.
pub struct EntryLease<'a> {
    due: Due<'a>,
    entry: &'a DueEntry,
    revision: String,
    /// Whether Valkey knows of it.
    pub is_held: bool,
    /// Whether an earlier holder sent the messages, and could not change the item.
    pub is_sent: bool,
}

impl<'a> EntryLease<'a> {
    /// Takes the lease of an item as it was read. `None`: another function has it.
    pub async fn take(
        due: Due<'a>,
        entry: &'a DueEntry,
        revision: String,
        now: Time,
    ) -> Option<Self> {
        let free = |is_held| {
            Some(Self { due, entry, revision: revision.clone(), is_held, is_sent: false })
        };
        if due.pause.is_on(now) {
            return free(false);
        }
        let taken = due.valkey.lease_due(entry, &revision);
        match clock::within(CARD_MARK_WITHIN, taken).await {
            Some(Ok(DueLease::Taken)) => free(true),
            Some(Ok(DueLease::Sent)) => free(true).map(|lease| Self { is_sent: true, ..lease }),
            // mutation: due-lease-ignored
            Some(Ok(DueLease::Elsewhere)) => None,
            Some(Err(error)) => {
                due.pause.begin(now);
                tracing::warn!(error = %Chain(&error), "an item is handled without a lease");
                free(false)
            }
            None => {
                due.pause.begin(now);
                tracing::warn!("an item is handled without a lease: Valkey did not answer in time");
                free(false)
            }
        }
    }

    /// Lets the next holder change the item without sending its messages again.
    pub async fn note_sent(self) {
        if self.is_held {
            let noted = self.due.valkey.note_due_sent(self.entry, &self.revision);
            // without it, they are sent twice
            let _ = clock::within(CARD_MARK_WITHIN, noted).await;
        }
    }

    /// Gives the lease back, so that the next try need not wait for its end.
    pub async fn give_back(self) {
        if self.is_held {
            let given = self.due.valkey.return_due_lease(self.entry, &self.revision);
            // it ends by itself
            let _ = clock::within(CARD_MARK_WITHIN, given).await;
        }
    }
}
