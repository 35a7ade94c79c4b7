//! What the engine works with, and the calls of requests that make or move an item.

use std::time::Duration;

use fanfold_core::limits::{CARD_MARK_WITHIN, SEND_DELAY_MAX};
use fanfold_core::time::millis;
use fanfold_core::{DueEntry, Time};
use fanfold_runtime::log::Chain;
use fanfold_runtime::sqs::Outbox;
use fanfold_runtime::{StoreError, clock};

use super::hand_on::HandOn;
use super::index::DueIndex;
use super::message::ItemDue;
use super::pause::Pause;
use crate::valkey::Valkey;

/// The stores and the settings of due items.
#[derive(Clone, Copy)]
pub struct Due<'a> {
    /// The index in DynamoDB.
    pub index: &'a DueIndex,
    /// The index in Valkey.
    pub valkey: &'a Valkey,
    /// Sends the messages of entries.
    pub outbox: &'a Outbox,
    /// Whether Valkey is left alone for a while.
    pub pause: &'a Pause,
    /// The most entries that a look-ahead takes from a part at once.
    pub batch: usize,
}

/// The delay of a message that is to arrive at `at`, in whole seconds. SQS cannot deliver it earlier.
pub(super) fn delay_until(at: Time, now: Time) -> Duration {
    Duration::from_secs(millis(at.since(now)).div_ceil(1_000)).min(SEND_DELAY_MAX)
}

/// After this many tries, a request that others overtook lets them win.
pub const OVERTAKEN_AFTER: u32 = 3;

impl Due<'_> {
    /// Sends the message of an entry that is due soon, before the commit of its item. A look-ahead finds a later one.
    pub async fn hand_on(self, entry: &DueEntry, now: Time) -> Result<HandOn, StoreError> {
        if let Some(later) = HandOn::without_message(entry, now) {
            return Ok(later);
        }
        let message = ItemDue::announced(entry.clone(), now);
        self.outbox.announce_after(&message, delay_until(entry.at, now)).await.map(HandOn::Sent)
    }

    /// Adds an entry to the index after its commit. Without Valkey, look-aheads find it in DynamoDB when it is overdue. Returns
    /// whether Valkey did it in time. `is_handed_on`: its message was sent.
    ///
    /// The entry that the item had before stays until its time, and then leads to nothing. If it were removed, another request
    /// could move the item back meanwhile, and its entry would be lost.
    pub async fn indexed(self, entry: &DueEntry, is_handed_on: bool, now: Time) -> bool {
        let add = self.valkey.add_due(entry, is_handed_on, now);
        match clock::within(CARD_MARK_WITHIN, add).await {
            Some(Ok(())) => true,
            Some(Err(error)) => {
                tracing::warn!(error = %Chain(&error), "the index of due items was not changed");
                false
            }
            None => {
                tracing::warn!(
                    "the index of due items was not changed: Valkey did not answer in time"
                );
                false
            }
        }
    }
}
