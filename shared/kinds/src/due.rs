//! The kinds of due items, and the handler and the look-ahead over them.

use std::str::FromStr;

use fanfold_core::{DueEntry, Time};
use fanfold_engines::due::{self, DueKind, Handled, ItemDue, LookedAhead, Showing};
use fanfold_runtime::StoreError;
use fanfold_runtime::clock::Deadline;
use fanfold_runtime::error::BoxError;

use crate::posts::show_published;
use crate::{App, scheduled, timers};

const DUE_KINDS: [DueKind<App>; 2] = [
    DueKind {
        tag: scheduled::TAG,
        handle: |app, message, now| {
            Box::pin(async move {
                let id = key(&message.entry)?;
                let done = scheduled::events::publish_due(app, id, message, now).await?;
                let show = |post| Box::pin(show_published(&app.valkey, post)) as Showing<'_>;
                Ok((done.0, done.1.map(show)))
            })
        },
        stray: |app, entry| Ok(app.scheduled.stray(key(entry)?, entry.at)),
    },
    DueKind {
        tag: timers::TAG,
        handle: |app, message, now| {
            Box::pin(async move {
                let timer = (message.entry.item.owner, &key(&message.entry)?);
                Ok((timers::events::fire(app, timer, message, now).await?, None))
            })
        },
        stray: |app, entry| Ok(app.timers.stray(entry.item.owner, &key(entry)?, entry.at)),
    },
];

/// What the key of an entry stands for.
fn key<K: FromStr<Err: Into<BoxError>>>(entry: &DueEntry) -> Result<K, StoreError> {
    let wrong =
        |error: K::Err| StoreError::Item { doing: "reading a due item", source: error.into() };
    entry.item.key.parse().map_err(wrong)
}

/// Handles the message of a due item; see [`due::handle`].
pub async fn handle(app: &App, message: &ItemDue, now: Time) -> Result<Handled, StoreError> {
    due::handle(app.due(), (&DUE_KINDS, app), message, now).await
}

/// Hands on what is due soon; see [`due::look_ahead`].
pub async fn look_ahead(
    app: &App,
    now: Time,
    deadline: Deadline,
) -> Result<LookedAhead, StoreError> {
    due::look_ahead(app.due(), &DUE_KINDS.each_ref().map(|kind| kind.tag), now, deadline).await
}
