//! Timers: put, list, read and delete a timer, and fire it when it is due.

use std::time::Duration;

use fanfold_core::id::Identity;
use fanfold_core::limits::{SCHEDULE_AHEAD_MAX, TIMER_PAYLOAD_BYTES_MAX, TRIES_MAX};
use fanfold_core::registry::WEBHOOKS;
use fanfold_core::time::millis;
use fanfold_core::{DueEntry, Every, Time, TimerName, UserId};
use fanfold_runtime::clock::{self, Stopwatch};
use fanfold_runtime::retry::{look_again, pause};
use fanfold_runtime::{StoreError, metrics};
use serde_json::Value;

use super::items::{Timer, TimerPut};
use super::lease::{EntryLease, HANDLED_ELSEWHERE};
use super::{Handled, OVERTAKEN_AFTER, hand_on, indexed};
use crate::due::messages::{ItemDue, TimerFired};
use crate::limit::within_limit;
use crate::people::must_belong_to;
use crate::{App, Error};

/// A timer to put.
#[derive(Debug, Clone)]
pub struct NewTimer {
    /// The time from which it is due. A time in the past means now; with `every`, the next of the times that follow it.
    pub due_at: Time,
    /// The time between two occurrences. `None`: there is one.
    pub every: Option<Every>,
    /// Any JSON.
    pub payload: Value,
}

/// A page of timers, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimerPage {
    pub timers: Vec<Timer>,
    /// The name after which the next page begins. `None`: this is the last one.
    pub next_after: Option<TimerName>,
}

/// Makes a timer, or replaces the one of this name. Also returns whether it is new.
///
/// Fails with [`Error::TimeRange`] if the time is too far, with [`Error::EveryTooShort`], with [`Error::PayloadTooBig`], with [`Error::TimersLimit`] if the
/// caller has too many timers, and with [`Error::ProfileMissing`], [`Error::IdentityClash`] or [`Error::TooManyWrites`].
pub async fn put(
    app: &App,
    caller: &Identity,
    name: &TimerName,
    new: NewTimer,
    now: Time,
) -> Result<(Timer, bool), Error> {
    let watch = Stopwatch::start();
    let payload = new.payload.to_string();
    if payload.len() > TIMER_PAYLOAD_BYTES_MAX {
        return Err(Error::PayloadTooBig { found: payload.len(), max: TIMER_PAYLOAD_BYTES_MAX });
    }
    if new.due_at > now + SCHEDULE_AHEAD_MAX {
        return Err(Error::TimeRange { field: "due_at", allowed: "at most 366 days ahead" });
    }
    // mutation: timer-every-min
    if new.every.is_some_and(|every| every.length() < app.settings.timer_every_min) {
        return Err(Error::EveryTooShort { min: app.settings.timer_every_min });
    }
    // mutation: timer-phase
    let due_at = match new.every {
        // the times stay those that were asked for
        Some(every) if new.due_at < now => every.next(new.due_at, now).0,
        _ => new.due_at.max(now),
    };
    let timer = Timer {
        owner: caller.user(),
        name: name.clone(),
        due_at,
        asked: new.due_at,
        every: new.every,
        payload,
        revision: format!("{:016x}", clock::random()),
    };
    let reads = async {
        futures::try_join!(app.users.profile(caller.user()), app.due.timer(caller.user(), name))
    };
    let reads = within_limit(&app.valkey, app.limits.timer, caller.user(), now, reads);
    let (profile, mut old) = reads.await?;
    must_belong_to(&profile.ok_or(Error::ProfileMissing)?, caller)?;
    let entry = timer.entry();
    let mut sent = None;
    for tried in 0..TRIES_MAX {
        // a repeated request, or one of several at the same time
        // mutation: timer-put-again
        if let Some(old) = old.as_ref().filter(|old| old.is_as_asked(&timer)) {
            // its writer may have died before it did this
            indexed(&app.valkey, &old.entry(), false, now).await;
            return Ok((old.clone(), false));
        }
        let sent = match &sent {
            Some(sent) => sent,
            None => sent.insert(hand_on(&app.outbox, &entry, now + watch.elapsed()).await?),
        };
        match app.due.put_timer(sent, &app.users, caller, old.as_ref(), &timer).await {
            Ok(TimerPut::Done) => {
                tracing::info!(owner = %timer.owner, due_at = %timer.due_at, "timer put");
                indexed(&app.valkey, &entry, sent.is_sent(), now).await;
                return Ok((timer, old.is_none()));
            }
            Ok(TimerPut::Raced) | Err(StoreError::GaveUp { .. }) => pause(tried).await,
            Ok(TimerPut::Refused) => {
                let profile = app.users.profile(caller.user()).await?;
                must_belong_to(&profile.ok_or(Error::ProfileMissing)?, caller)?;
                return Err(Error::TimersLimit { max: app.users.timers_max() });
            }
            Err(error) => return Err(error.into()),
        }
        let before = old;
        old = app.due.timer(caller.user(), name).await?;
        let revision = |timer: &Timer| timer.revision.clone();
        let is_replaced =
            old.is_some() && old.as_ref().map(revision) != before.as_ref().map(revision);
        // another request put the timer after this one had read it: as if this one had been first
        if is_replaced && tried >= OVERTAKEN_AFTER {
            return Ok((timer, before.is_none()));
        }
    }
    Err(StoreError::Unsettled { what: "the timer" }.into())
}

/// Reads a timer of the caller.
pub async fn read(app: &App, caller: &Identity, name: &TimerName) -> Result<Timer, Error> {
    let timer = app.due.timer(caller.user(), name).await?;
    timer.ok_or_else(|| Error::NoSuchTimer(name.clone()))
}

/// A page of the caller's timers, by name.
pub async fn list(
    app: &App,
    caller: UserId,
    after: Option<&TimerName>,
    limit: usize,
) -> Result<TimerPage, Error> {
    let (timers, more) = app.due.timers(caller, after, limit).await?;
    let next_after = timers.last().map(|timer| timer.name.clone()).filter(|_| more);
    Ok(TimerPage { timers, next_after })
}

/// Deletes a timer of the caller. Fails with [`Error::NoSuchTimer`] if there is none, for example because it fired.
pub async fn delete(
    app: &App,
    caller: &Identity,
    name: &TimerName,
    now: Time,
) -> Result<(), Error> {
    let reads = async {
        futures::try_join!(app.users.profile(caller.user()), app.due.timer(caller.user(), name))
    };
    let reads = within_limit(&app.valkey, app.limits.timer, caller.user(), now, reads);
    let (profile, old) = reads.await?;
    let none = || Error::NoSuchTimer(name.clone());
    let mut old = old.ok_or_else(none)?;
    must_belong_to(&profile.ok_or_else(none)?, caller)?;
    for tried in 0..TRIES_MAX {
        match app.due.end_timer(&app.users, &old).await {
            Ok(TimerPut::Done) => {
                tracing::info!(owner = %old.owner, due_at = %old.due_at, "timer deleted");
                return Ok(());
            }
            Ok(TimerPut::Raced | TimerPut::Refused) | Err(StoreError::GaveUp { .. }) => {
                pause(tried).await;
            }
            Err(error) => return Err(error.into()),
        }
        old = read(app, caller, name).await?;
    }
    Err(StoreError::Unsettled { what: "the timer" }.into())
}

/// Fires a timer that is due: sends its message, and then moves it to its next occurrence, or removes it. The message may
/// come before the commit of its timer, twice, or late. A timer that is replaced meanwhile, and has the same time as
/// before, fires as well.
pub(super) async fn fire(
    app: &App,
    (owner, name): (UserId, &TimerName),
    message: &ItemDue,
    now: Time,
) -> Result<Handled, StoreError> {
    let (mut looked, mut handled) = (0, Handled::NothingToDo);
    let mut raced: Option<(Timer, EntryLease)> = None;
    for tried in 0..TRIES_MAX {
        let (timer, lease) = loop {
            let timer = app.due.timer(owner, name).await?;
            if raced.take().is_some_and(|(fired, lease)| is_doubled(&fired, &lease, timer.as_ref()))
            {
                metrics::due_doubled();
            }
            match timer {
                Some(timer) if timer.due_at == message.entry.at => {
                    let revision = timer.revision.clone();
                    match EntryLease::take(app, &message.entry, revision, now).await {
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
                    StoreError::GaveUp { .. } => lease.note_sent(app).await,
                    _ => lease.give_back(app).await,
                }
                return Err(error);
            }
        };
        handled = Handled::Done;
        // mutation: timer-replaced
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
    // mutation: timer-next
    let next = timer.every.map(|every| every.next(timer.due_at, now));
    let missed = next.map_or(0, |(_, missed)| missed);
    let owner = (timer.owner, timer.name.clone());
    // mutation: timer-fired-id
    let fired = TimerFired::new(owner, &timer.revision, timer.due_at, missed, payload);
    if !is_sent {
        // mutation: timer-fired-first
        app.outbox.send(&fired).await?;
        if app.settings.webhooks_on {
            // mutation: webhook-sent
            app.outbox.send_on(WEBHOOKS, &fired, Duration::ZERO).await?;
        }
    }
    let put = match next {
        None => app.due.end_timer(&app.users, timer).await?,
        Some((next, _)) => {
            let entry = DueEntry { at: next, item: timer.item() };
            let sent = hand_on(&app.outbox, &entry, now).await?;
            let put = app.due.repeat_timer(&sent, timer, next).await?;
            let is_indexed = put != TimerPut::Done
                || app.pause.is_on(now)
                || indexed(&app.valkey, &entry, sent.is_sent(), now).await;
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
