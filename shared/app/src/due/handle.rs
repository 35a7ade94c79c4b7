//! The handler of due items.

use std::time::Duration;

use fanfold_core::limits::DUE_LOOK_AHEAD;
use fanfold_core::message::ItemDue;
use fanfold_core::{DueItem, Time};
use fanfold_runtime::StoreError;
use fanfold_runtime::log::Chain;

pub use super::{Due, Handled};
use super::{delay_until, scheduled, timers};

/// Handles the message of a due item. Reads the item: only the entry that it has now is due.
///
/// Fails with [`StoreError::NotCommittedYet`] if the item is not committed yet; the message is then tried again.
pub async fn handle(app: &Due, message: &ItemDue, now: Time) -> Result<Handled, StoreError> {
    let entry = &message.entry;
    // mutation: due-early
    if now < entry.at {
        return wait(app, message, now).await;
    }
    let handled = match &entry.item {
        DueItem::Post(id) => scheduled::publish_due(app, *id, message, now).await?,
        DueItem::Timer(owner, name) => timers::fire(app, (*owner, name), message, now).await?,
    };
    // without this, a look-ahead hands the entry on again, which leads to nothing
    if let Err(error) = app.valkey.due_done(std::slice::from_ref(entry)).await {
        let (owner, at) = (entry.item.owner(), entry.at);
        tracing::warn!(%owner, %at, error = %Chain(&error), "still in the index of due items");
    }
    Ok(handled)
}

/// A message came before its time: clocks differ. By the clock of this function, the item is not due yet.
async fn wait(app: &Due, message: &ItemDue, now: Time) -> Result<Handled, StoreError> {
    let left = message.entry.at.since(now);
    if left <= DUE_LOOK_AHEAD {
        let delay = delay_until(message.entry.at, now).max(Duration::from_secs(1));
        app.items.send_after(message, delay).await?;
    } else {
        app.valkey.due_again(&message.entry).await?;
    }
    Ok(Handled::Early)
}
