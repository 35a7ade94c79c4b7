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
//! | [`rounds`] | take batches from several keys in turn |

pub mod handle;
pub mod lookahead;
pub mod rounds;
pub mod scheduled;
pub mod timers;

use std::time::Duration;

use fanfold_core::limits::{CARD_MARK_WITHIN, DUE_HORIZON, DUE_LOOK_AHEAD, SEND_DELAY_MAX};
use fanfold_core::message::ItemDue;
use fanfold_core::time::millis;
use fanfold_core::{DueEntry, Time};
use fanfold_runtime::log::Chain;
use fanfold_runtime::sqs::{Announced, Queue};
use fanfold_runtime::{StoreError, clock};
use fanfold_store::valkey::Valkey;

/// The delay of a message that is to arrive at `at`, in whole seconds. SQS cannot deliver it earlier.
pub(crate) fn delay_until(at: Time, now: Time) -> Duration {
    // mutation: due-delay
    Duration::from_secs(millis(at.since(now)).div_ceil(1_000)).min(SEND_DELAY_MAX)
}

/// Whether an item is due before a look-ahead is certain to find it. The request that makes it then hands it on itself.
fn is_near(at: Time, now: Time) -> bool {
    // mutation: due-near
    at <= now + DUE_LOOK_AHEAD
}

/// Sends the message of an entry that is due soon, before the commit of its item. `None`: a look-ahead will find it.
async fn hand_on(
    queue: &Queue<ItemDue>,
    entry: &DueEntry,
    now: Time,
) -> Result<Option<Announced<ItemDue>>, StoreError> {
    if !is_near(entry.at, now) {
        return Ok(None);
    }
    let message = ItemDue::announced(entry.clone(), now);
    queue.announce_after(&message, delay_until(entry.at, now)).await.map(Some)
}

/// Makes the index follow a commit: `old` is gone, and `new` is there. Without Valkey, look-aheads find the new entry in
/// DynamoDB when it is overdue, and the old one leads to nothing.
async fn indexed(valkey: &Valkey, old: Option<&DueEntry>, new: Option<&DueEntry>, now: Time) {
    let add = async {
        match new {
            // what is due later than every load so far is found by a later one
            Some(new) if new.at < now + DUE_HORIZON * 3 => {
                valkey.add_due(new, is_near(new.at, now), now).await
            }
            _ => Ok(()),
        }
    };
    let remove = async {
        match old {
            Some(old) if new != Some(old) => valkey.due_done(std::slice::from_ref(old)).await,
            _ => Ok(()),
        }
    };
    let both = async { futures::join!(add, remove) };
    let (added, removed) = match clock::within(CARD_MARK_WITHIN, both).await {
        Some(done) => done,
        None => {
            tracing::warn!("the index of due items was not changed: Valkey did not answer in time");
            return;
        }
    };
    if let Err(error) = added.and(removed) {
        tracing::warn!(error = %Chain(&error), "the index of due items was not changed");
    }
}
