//! The handler of due items.

use std::time::Duration;

use fanfold_core::limits::{CARD_MARK_WITHIN, DUE_LOOK_AHEAD};
use fanfold_core::{DueEntry, DueItem, PostId, Time};
use fanfold_runtime::log::Chain;
use fanfold_runtime::{StoreError, clock};

pub use super::Handled;
use super::{delay_until, scheduled, timers};
use crate::App;
use crate::due::messages::ItemDue;
use crate::posts::show_published;

/// Handles the message of a due item. Reads the item: only the entry that it has now is due.
///
/// Fails with [`StoreError::NotCommittedYet`] if the item is not committed yet; the message is then tried again.
pub async fn handle(app: &App, message: &ItemDue, now: Time) -> Result<Handled, StoreError> {
    let entry = &message.entry;
    // mutation: due-early
    if now < entry.at {
        return wait(app, message, now).await;
    }
    let (handled, shown) = match &entry.item {
        DueItem::Post(id) => scheduled::publish_due(app, *id, message, now).await?,
        DueItem::Timer(owner, name) => {
            (timers::fire(app, (*owner, name), message, now).await?, None)
        }
    };
    if handled == Handled::NothingToDo && shown.is_none() {
        // DynamoDB has it if somebody changed the table by hand, or restored only a part of it
        // mutation: due-stray
        if app.due.remove_stray(entry).await? {
            tracing::warn!(owner = %entry.item.owner(), at = %entry.at, "removed an entry without its item");
        }
    }
    // mutation: due-pause
    if !app.pause.is_on(now) {
        tell_valkey(app, entry, shown, now).await;
    }
    Ok(handled)
}

/// Shows a post in its author's own feeds, and removes the entry from the index. Without this, dispatch does the first, and a
/// look-ahead hands the entry on again, which leads to nothing.
async fn tell_valkey(app: &App, entry: &DueEntry, shown: Option<PostId>, now: Time) {
    let show = async {
        if let Some(post) = shown {
            show_published(&app.valkey, post).await;
        }
    };
    let both = async { futures::join!(app.valkey.due_done(std::slice::from_ref(entry)), show).0 };
    let (owner, at) = (entry.item.owner(), entry.at);
    match clock::within(CARD_MARK_WITHIN, both).await {
        Some(Ok(())) => {}
        Some(Err(error)) => {
            app.pause.begin(now);
            tracing::warn!(%owner, %at, error = %Chain(&error), "still in the index of due items");
        }
        None => {
            app.pause.begin(now);
            tracing::warn!(%owner, %at, "Valkey did not answer in time, and is left alone for a while");
        }
    }
}

/// A message came before its time: clocks differ. By the clock of this function, the item is not due yet.
async fn wait(app: &App, message: &ItemDue, now: Time) -> Result<Handled, StoreError> {
    let left = message.entry.at.since(now);
    if left <= DUE_LOOK_AHEAD {
        let delay = delay_until(message.entry.at, now).max(Duration::from_secs(1));
        app.outbox.send_after(message, delay).await?;
    } else {
        app.valkey.due_again(&message.entry).await?;
    }
    Ok(Handled::Early)
}
