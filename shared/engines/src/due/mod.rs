//! Items with a time of their own: scheduled posts and timers.
//!
//! DynamoDB has the items, and an index of them by hour. Valkey has a sorted set of those that are due within the next hour
//! or two. A look-ahead runs every minute, takes what is due within two minutes, and hands it on to SQS with the delay that
//! is left. What is due sooner is handed on by the request that makes it. The function `due` receives the messages, reads
//! each item, and publishes or fires it.
//!
//! | module | use cases |
//! | --- | --- |
//! | [`scheduled`] | schedule, list, read, change and cancel a post; publish it when it is due |
//! | [`timers`] | put, list, read and delete a timer; fire it when it is due |
//! | [`lookahead`] | find and hand on what is due |
//! | [`handle`] | handle the message of a due item |
//! | `lease` | one function at a time fires or publishes an item |
//! | `queue` | the queue of due items |
//! | [`rounds`] | take batches from several keys in turn |

pub mod handle;
pub mod items;
mod lease;
pub mod lookahead;
pub mod messages;
pub mod pause;
pub mod rounds;
pub mod scheduled;
pub mod timers;

use std::time::Duration;

use fanfold_core::limits::{CARD_MARK_WITHIN, SEND_DELAY_MAX};
use fanfold_core::time::millis;
use fanfold_core::{DueEntry, Time};
use fanfold_engines::valkey::Valkey;
use fanfold_runtime::log::Chain;
use fanfold_runtime::sqs::Outbox;
use fanfold_runtime::{StoreError, clock};

use crate::due::items::HandOn;
use crate::due::messages::ItemDue;

/// The result of handling the message of a due item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handled {
    /// The post is published, or the timer fired.
    Done,
    /// The item is gone, or has another time, or was done before.
    NothingToDo,
    /// The message came before the item's time. It was sent again, or a look-ahead hands it on again.
    Early,
}

/// The delay of a message that is to arrive at `at`, in whole seconds. SQS cannot deliver it earlier.
pub(crate) fn delay_until(at: Time, now: Time) -> Duration {
    // mutation: due-delay
    Duration::from_secs(millis(at.since(now)).div_ceil(1_000)).min(SEND_DELAY_MAX)
}

/// After this many tries, a request that others overtook lets them win.
const OVERTAKEN_AFTER: u32 = 3;

/// Sends the message of an entry that is due soon, before the commit of its item. A look-ahead finds a later one.
async fn hand_on(outbox: &Outbox, entry: &DueEntry, now: Time) -> Result<HandOn, StoreError> {
    if let Some(later) = HandOn::without_message(entry, now) {
        return Ok(later);
    }
    let message = ItemDue::announced(entry.clone(), now);
    outbox.announce_after(&message, delay_until(entry.at, now)).await.map(HandOn::Sent)
}

/// Adds an entry to the index after its commit. Without Valkey, look-aheads find it in DynamoDB when it is overdue. Returns
/// whether Valkey did it in time. `is_handed_on`: its message was sent.
///
/// The entry that the item had before stays until its time, and then leads to nothing. If it were removed, another request
/// could move the item back meanwhile, and its entry would be lost.
async fn indexed(valkey: &Valkey, entry: &DueEntry, is_handed_on: bool, now: Time) -> bool {
    // mutation: due-added
    let add = valkey.add_due(entry, is_handed_on, now);
    match clock::within(CARD_MARK_WITHIN, add).await {
        Some(Ok(())) => true,
        Some(Err(error)) => {
            tracing::warn!(error = %Chain(&error), "the index of due items was not changed");
            false
        }
        None => {
            tracing::warn!("the index of due items was not changed: Valkey did not answer in time");
            false
        }
    }
}
