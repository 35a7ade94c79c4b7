//! Put, list, read and delete a timer.

use fanfold_core::id::Identity;
use fanfold_core::kinds::LimitKind;
use fanfold_core::limits::{SCHEDULE_AHEAD_MAX, TIMER_PAYLOAD_BYTES_MAX, TRIES_MAX};
use fanfold_core::{Every, List, Time, TimerName, UserId};
use fanfold_engines::due::OVERTAKEN_AFTER;
use fanfold_engines::list::Page;
use fanfold_runtime::StoreError;
use fanfold_runtime::clock::{self, Stopwatch};
use fanfold_runtime::retry::pause;
use serde_json::Value;

use super::items::{Timer, TimerPut};
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

/// The timers of this user.
#[derive(Debug, Clone, Copy)]
pub struct TimersOf(pub UserId);

impl List for TimersOf {
    type Place = TimerName;

    fn code(&self) -> u8 {
        b't'
    }

    fn owner(&self) -> u64 {
        self.0.0
    }
}

/// Makes a timer, or replaces the one of this name. Also returns whether it is new.
///
/// Fails with [`Error::TimeRange`] if the time is too far, with [`Error::EveryTooShort`], with [`Error::PayloadTooBig`], with [`Error::TimersLimit`] if the
/// caller has too many timers, and with [`Error::ProfileMissing`], [`Error::IdentityClash`] or [`Error::TooManyRequests`].
pub async fn put(
    app: &App,
    caller: &Identity,
    name: &TimerName,
    new: NewTimer,
    now: Time,
) -> Result<(Timer, bool), Error> {
    let watch = Stopwatch::start();
    let timer = asked_for(app, caller.user(), name, new, now)?;
    let reads = async {
        futures::try_join!(app.users.profile(caller.user()), app.timers.timer(caller.user(), name))
    };
    let reads =
        within_limit(&app.valkey, app.limits.of(LimitKind::Timer), caller.user(), now, reads);
    let (profile, mut old) = reads.await?;
    must_belong_to(&profile.ok_or(Error::ProfileMissing)?, caller)?;
    let entry = timer.entry();
    let mut sent = None;
    for tried in 0..TRIES_MAX {
        // a repeated request, or one of several at the same time
        if let Some(old) = old.as_ref().filter(|old| old.is_as_asked(&timer)) {
            // its writer may have died before it did this
            app.due().indexed(&old.entry(), false, now).await;
            return Ok((old.clone(), false));
        }
        let sent = match &sent {
            Some(sent) => sent,
            None => sent.insert(app.due().hand_on(&entry, now + watch.elapsed()).await?),
        };
        match app.timers.put_timer(sent, &app.users, caller, old.as_ref(), &timer).await {
            Ok(TimerPut::Done) => {
                tracing::info!(owner = %timer.owner, due_at = %timer.due_at, "timer put");
                app.due().indexed(&entry, sent.is_sent(), now).await;
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
        old = app.timers.timer(caller.user(), name).await?;
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

/// The timer that a request asks for, with the time at which it is due first.
fn asked_for(
    app: &App,
    owner: UserId,
    name: &TimerName,
    new: NewTimer,
    now: Time,
) -> Result<Timer, Error> {
    let payload = new.payload.to_string();
    if payload.len() > TIMER_PAYLOAD_BYTES_MAX {
        return Err(Error::PayloadTooBig { found: payload.len(), max: TIMER_PAYLOAD_BYTES_MAX });
    }
    if new.due_at > now + SCHEDULE_AHEAD_MAX {
        return Err(Error::TimeRange { field: "due_at", allowed: "at most 366 days ahead" });
    }
    if new.every.is_some_and(|every| every.length() < app.settings.timer_every_min) {
        return Err(Error::EveryTooShort { min: app.settings.timer_every_min });
    }
    let due_at = match new.every {
        // the times stay those that were asked for
        Some(every) if new.due_at < now => every.next(new.due_at, now).0,
        _ => new.due_at.max(now),
    };
    Ok(Timer {
        owner,
        name: name.clone(),
        due_at,
        asked: new.due_at,
        every: new.every,
        payload,
        revision: format!("{:016x}", clock::random()),
    })
}

/// Reads a timer of the caller.
pub async fn read(app: &App, caller: &Identity, name: &TimerName) -> Result<Timer, Error> {
    let timer = app.timers.timer(caller.user(), name).await?;
    timer.ok_or_else(|| Error::NoSuchTimer(name.clone()))
}

/// A page of the caller's timers, by name.
pub async fn list(
    app: &App,
    caller: UserId,
    after: Option<&TimerName>,
    limit: usize,
) -> Result<Page<Timer, TimerName>, Error> {
    Ok(app.timers.timers(caller, after, limit).await?)
}

/// Deletes a timer of the caller. Fails with [`Error::NoSuchTimer`] if there is none, for example because it fired.
pub async fn delete(
    app: &App,
    caller: &Identity,
    name: &TimerName,
    now: Time,
) -> Result<(), Error> {
    let reads = async {
        futures::try_join!(app.users.profile(caller.user()), app.timers.timer(caller.user(), name))
    };
    let reads =
        within_limit(&app.valkey, app.limits.of(LimitKind::Timer), caller.user(), now, reads);
    let (profile, old) = reads.await?;
    let none = || Error::NoSuchTimer(name.clone());
    let mut old = old.ok_or_else(none)?;
    must_belong_to(&profile.ok_or_else(none)?, caller)?;
    for tried in 0..TRIES_MAX {
        match app.timers.end_timer(&app.users, &old).await {
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
