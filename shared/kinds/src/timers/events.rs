//! Fires a timer when it is due.

use std::time::Duration;

use fanfold_core::limits::TRIES_MAX;
use fanfold_core::registry::WEBHOOKS;
use fanfold_core::time::millis;
use fanfold_core::{Time, TimerName, UserId};
use fanfold_engines::due::{EntryLease, HANDLED_ELSEWHERE, Handled, ItemDue};
use fanfold_runtime::retry::{look_again, pause};
use fanfold_runtime::{StoreError, metrics};

use super::items::{Timer, TimerPut};
use super::messages::TimerFired;
use crate::App;

/// Fires a timer that is due: sends its message, and then moves it to its next occurrence, or removes it. The message may
/// come before the commit of its timer, twice, or late. A timer that is replaced meanwhile, and has the same time as
/// before, fires as well.
pub async fn fire(
    app: &App,
    (owner, name): (UserId, &TimerName),
    message: &ItemDue,
    now: Time,
) -> Result<Handled, StoreError> {
    let (mut looked, mut handled) = (0, Handled::NothingToDo);
    let mut raced: Option<(Timer, EntryLease)> = None;
    for tried in 0..TRIES_MAX {
        let (timer, lease) = loop {
            let timer = app.timers.timer(owner, name).await?;
            if raced.take().is_some_and(|(fired, lease)| is_doubled(&fired, &lease, timer.as_ref()))
            {
                metrics::due_doubled();
            }
            match timer {
                Some(timer) if timer.due_at == message.entry.at => {
                    let revision = timer.revision.clone();
                    match EntryLease::take(app.due(), &message.entry, revision, now).await {
                        Some(lease) => break (timer, lease),
                        None => look_again(HANDLED_ELSEWHERE, &mut looked).await?,
                    }
                }
                // the message can be ahead of the commit that makes or moves the timer
                _ if handled == Handled::NothingToDo && message.may_be_ahead(now) => {
                    look_again("the timer", &mut looked).await?;
                }
                _ => return Ok(handled),
            }
        };
        let ended = match fire_once(app, &timer, lease.is_sent, now).await {
            Ok(ended) => ended,
            Err(error) => {
                match error {
                    // the timers of one user meet on the number of timers in the profile
                    StoreError::GaveUp { .. } => lease.note_sent().await,
                    _ => lease.give_back().await,
                }
                return Err(error);
            }
        };
        handled = Handled::Done;
        if ended != TimerPut::Raced {
            return Ok(handled);
        }
        raced = Some((timer, lease));
        pause(tried).await;
    }
    Err(StoreError::Unsettled { what: "the timer" })
}

/// Whether another function fired the same occurrence: the timer has moved to the next one, or is gone although nobody was
/// to fire it at the same time.
fn is_doubled(fired: &Timer, lease: &EntryLease, present: Option<&Timer>) -> bool {
    match present {
        _ if lease.is_sent => false,
        Some(present) => present.revision == fired.revision && present.due_at != fired.due_at,
        None => !lease.is_held,
    }
}

/// Fires a timer as it was read, unless its message was sent earlier. The result is that of the change that moves or removes
/// it.
async fn fire_once(
    app: &App,
    timer: &Timer,
    is_sent: bool,
    now: Time,
) -> Result<TimerPut, StoreError> {
    let payload = serde_json::from_str(&timer.payload)
        .map_err(|error| StoreError::Item { doing: "reading a timer", source: error.into() })?;
    let next = timer.every.map(|every| every.next(timer.due_at, now));
    let missed = next.map_or(0, |(_, missed)| missed);
    let owner = (timer.owner, timer.name.clone());
    let fired = TimerFired::new(owner, &timer.revision, timer.due_at, missed, payload);
    if !is_sent {
        // mutation: timer-fired-first
        app.outbox.send(&fired).await?;
        if app.settings.webhooks_on {
            app.outbox.send_on(WEBHOOKS, &fired, Duration::ZERO).await?;
        }
    }
    let put = match next {
        None => app.timers.end_timer(&app.users, timer).await?,
        Some((next, _)) => {
            let entry = timer.entry_at(next);
            let sent = app.due().hand_on(&entry, now).await?;
            let put = app.timers.repeat_timer(&sent, timer, next).await?;
            let is_indexed = put != TimerPut::Done
                || app.pause.is_on(now)
                || app.due().indexed(&entry, sent.is_sent(), now).await;
            if !is_indexed {
                app.pause.begin(now);
            }
            put
        }
    };
    // mutation: timer-moved
    let lateness = now.since(timer.due_at);
    metrics::due(lateness);
    let late_ms = millis(lateness);
    tracing::info!(owner = %timer.owner, due_at = %timer.due_at, late_ms, missed, ended = ?put, "timer fired");
    Ok(put)
}
