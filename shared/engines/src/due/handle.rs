//! The handler of due items.

use std::time::Duration;

use fanfold_core::limits::{CARD_MARK_WITHIN, DUE_LOOK_AHEAD};
use fanfold_core::{DueEntry, Time};
use fanfold_runtime::log::Chain;
use fanfold_runtime::{StoreError, clock};

use super::engine::{Due, delay_until};
use super::kind::{DueKind, Handled, Showing};
use super::message::ItemDue;

/// Handles the message of a due item with the kind of its tag, which works over `app`.
///
/// Fails with [`StoreError::NotCommittedYet`] if the item is not committed yet, and with [`StoreError::UnknownTag`] if no kind has
/// the tag; the message is then tried again.
pub async fn handle<S>(
    due: Due<'_>,
    (kinds, app): (&[DueKind<S>], &S),
    message: &ItemDue,
    now: Time,
) -> Result<Handled, StoreError> {
    let entry = &message.entry;
    // mutation: due-early
    if now < entry.at {
        return wait(due, message, now).await;
    }
    let tag = &entry.item.tag;
    let kind = kinds.iter().find(|kind| kind.tag == tag);
    let kind = kind.ok_or_else(|| StoreError::UnknownTag { tag: tag.clone() })?;
    let (handled, shown) = (kind.handle)(app, message, now).await?;
    if handled == Handled::NothingToDo && shown.is_none() {
        // DynamoDB has it if somebody changed the table by hand, or restored only a part of it
        if due.index.remove_stray(entry, (kind.stray)(app, entry)?).await? {
            tracing::warn!(owner = %entry.item.owner, at = %entry.at, "removed an entry without its item");
        }
    }
    if !due.pause.is_on(now) {
        tell_valkey(due, entry, shown, now).await;
    }
    Ok(handled)
}

/// Shows what was done, and removes the entry from the index. Without this, the handlers of events do the first, and a
/// look-ahead hands the entry on again, which leads to nothing.
async fn tell_valkey(due: Due<'_>, entry: &DueEntry, shown: Option<Showing<'_>>, now: Time) {
    let show = async {
        if let Some(shown) = shown {
            shown.await;
        }
    };
    let both = async { futures::join!(due.valkey.due_done(std::slice::from_ref(entry)), show).0 };
    let (owner, at) = (entry.item.owner, entry.at);
    match clock::within(CARD_MARK_WITHIN, both).await {
        Some(Ok(())) => {}
        Some(Err(error)) => {
            due.pause.begin(now);
            tracing::warn!(%owner, %at, error = %Chain(&error), "still in the index of due items");
        }
        None => {
            due.pause.begin(now);
            tracing::warn!(%owner, %at, "Valkey did not answer in time, and is left alone for a while");
        }
    }
}

/// A message came before its time: clocks differ. By the clock of this function, the item is not due yet.
async fn wait(due: Due<'_>, message: &ItemDue, now: Time) -> Result<Handled, StoreError> {
    let left = message.entry.at.since(now);
    if left <= DUE_LOOK_AHEAD {
        let delay = delay_until(message.entry.at, now).max(Duration::from_secs(1));
        due.outbox.send_after(message, delay).await?;
    } else {
        due.valkey.due_again(&message.entry).await?;
    }
    Ok(Handled::Early)
}
