//! The kinds of due items, and the handler and the look-ahead over them.
//!
//! **Schedule.** A scheduled post takes the same checks and calls as a publication, and a timer nearly the same. If
//! the item is due within two minutes, `ItemDue` is sent with the delay that is left. One transaction then writes the
//! item, its entry in the index, and the counter in the profile, which bounds the number of items; for a scheduled
//! post also the list of the author and the `Idempotency-Key`. After the commit the entry is added to Valkey, if it is
//! before the horizon, or before the time up to which a load is under way. If this fails, the request is answered as
//! usual.
//!
//! **Publish or fire.** `due` gets `ItemDue` and reads the item. If the time is ahead by its clock, it sends the
//! message again. If the item is gone or has another time, there is nothing to do. Else it takes a lease of the item
//! as it was read (`lock:due:{p}:<entry>#<revision>`, 5 s); while another function has the lease, it waits, or returns
//! the message. Without Valkey it goes on without a lease. `due` publishes a scheduled post like `posts`: it sends
//! `PostPublished`, and then writes post, item, list, entry and counters in one transaction. `due` fires a timer in
//! another order: it sends `TimerFired` to `timer-events`, and to `webhooks` if there is an address; then one
//! transaction moves the timer to its next occurrence, or removes it. In the end it removes the entry from Valkey.
//! Nobody else does: the entry of an item that was moved or cancelled stays until its time, and the handler of its
//! message then does nothing.
//!
//! **Change or cancel.** A change, a cancellation and the publication are transactions on condition that the item
//! still waits and is as it was read. One of them is first. The others read the item again: a request finds that the
//! post is published (409 with its id), and `due` finds that there is nothing to do. A timer that is replaced or
//! deleted while it fires may have sent its message already.
//!
//! **Crashes.** The following tables list each place where a function may die.
//!
//! | a request dies after | the result |
//! | --- | --- |
//! | nothing was sent | nothing happened |
//! | `ItemDue` was sent, before the commit | `due` looks for the item, and returns the message to the queue until 30 s have passed since it was sent. Then the commit has failed, and there is nothing to do. A message that is delayed for longer arrives after that |
//! | the commit, before Valkey has the entry | an item within 120 s has its message. A later one is read by the next load, or found when it is overdue, up to 80 s after its time. The client has no answer: a repetition with its `Idempotency-Key` returns the same scheduled post, and a repeated `PUT` replaces the timer |
//! | the entry was added, before the answer | nothing is missing |
//!
//! | a look-ahead dies after | the result |
//! | --- | --- |
//! | it began a load | the horizon is where it was. The next look-ahead continues there |
//! | it took entries | the lease ends after 30 s, before the next look-ahead. Items are due 60 s or more after they are first taken, so they are not late |
//! | it sent some or all messages, before it noted this | the next look-ahead sends them again. `due` does each item once |
//! | it noted that they were handed on | nothing is missing. SQS keeps the messages; if one is removed by hand, the entry is handed on again after an hour |
//!
//! | `due` dies while it publishes, after | the result |
//! | --- | --- |
//! | it read the item | SQS delivers the message again |
//! | `PostPublished` was sent, before the commit | `dispatch` looks for the post for 30 s after the time in the event, which is the time of the publication and not that of the post's id. The next try sends another event |
//! | the commit | the message finds a published post, and shows it in the author's own feeds. `PostPublished` was sent before, so the fan-out is under way |
//! | the author's feeds were updated, before the entry was removed | the entry is handed on again after an hour, and its handler does nothing |
//!
//! | `due` dies while it fires a timer, after | the result |
//! | --- | --- |
//! | it read the timer | SQS delivers the message again |
//! | `TimerFired` was sent to `timer-events`, or to both queues, before the commit | the next try sends it again, with the same id. `missed` may be greater |
//! | `ItemDue` of the next occurrence was sent, before the commit | the next try sends it again. If none commits, the message finds a timer with another time |
//! | the commit | the message finds a timer with another time, or none |
//! | before the entry of the next occurrence was added | as for a request: the occurrence has its message, or is found when it is overdue |
//!
//! **Once, and at least once.** The publication is one transaction, on condition that the item waits and has the
//! revision that was read. It writes the post under the reserved id on condition that there is none. So it happens
//! once, whatever is delivered twice. If another post has the reserved id, the item gets another one. A timer cannot
//! have this promise: the message leaves for a queue that the transaction cannot include. The message goes first, so
//! it is never lost. Its id is a hash of owner, name, due time and the timer's revision, which is a token of the
//! request that put the timer. Repetitions therefore have the same id, and a timer that replaces another one of the
//! same name and time has other ids.
//!
//! **Races.** A message names the entry, which contains the time. `due` compares it with the item. If a scheduled post
//! was moved from 9:00 to 10:00, the handler of the message of 9:00 does nothing. A timer that is replaced while it
//! fires, and keeps its time, fires again with its new payload. If it was moved back, both messages of 9:00 are good,
//! and the first one publishes. A transaction that meets a change reads the item again, up to eight times.
//!
//! # Decisions
//!
//! - **One function at a time publishes or fires an item.** `TimerFired` and the `ItemDue` of the next occurrence
//!   precede the commit, so two handlers would double both, and each double would repeat itself at every later
//!   occurrence. Only the holder of the lease sends them. Its name has the revision, so that a replaced timer does not
//!   wait for the old one.
//! - **The owner is the message group of `ItemDue` and `TimerFired`.** The transactions of one user meet on the user's
//!   profile, so a user whose 1,000 timers have the same second would occupy all invocations of `due` for 20 s. SQS
//!   delivers the messages of other groups first in this case. Tests show that messages have the group, and not what
//!   SQS does with it.
//! - **A stray entry is removed with a condition on its item.** Every transaction writes item and entry together, so
//!   DynamoDB has an entry without its item only if somebody changed the table by hand. It would be handed on each
//!   minute. `due` removes it in a transaction that also checks the item, because the item may move back meanwhile.
//!
//! # Bounds
//!
//! - The scheduled posts and the timers of one user write one profile item when they are made or end, and DynamoDB
//!   cancels transactions that meet on an item: about 60 a second succeed. If all 1,300 items of a user end at one
//!   time, this takes about 20 s. Occurrences of a timer that repeats do not write the profile.
//! - `ItemDue` whose function is killed is tried again after `QueueVisibility`. One that is removed from the queue by
//!   hand is sent again after an hour.

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
