//! The scheduled posts and timers of a user who is erased or exported.

use fanfold_core::{ScheduledId, Time, TimerName, UserId};
use fanfold_runtime::StoreError;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::items::ForgottenItems;
use crate::App;
use crate::owned::erasing::{Erasing, Progress};
use crate::owned::{EXPORT_PAGE, Lines, place};
use crate::owned::{Owned, Step, nothing};

/// Scheduled posts.
pub(crate) struct Scheduled;

/// Timers.
pub(crate) struct Timers;

impl Owned for Scheduled {
    nothing!(is_left forget erase cards audit);

    fn empty<'a>(&'a self, erasing: &'a mut Erasing<'_>) -> Step<'a> {
        Box::pin(async move {
            let (app, user) = (erasing.app, erasing.user);
            loop {
                let forgotten = app.due.forget_scheduled(user, &app.posts).await?;
                if let Some(progress) = removed(erasing, "scheduled", forgotten).await? {
                    return Ok(progress);
                }
            }
        })
    }

    fn export<'a>(
        &'a self,
        app: &'a App,
        user: UserId,
        after: Option<String>,
        _: Time,
    ) -> BoxFuture<'a, Result<Lines, StoreError>> {
        Box::pin(async move {
            let after: Option<String> = after;
            let after = after.as_deref().and_then(|after| after.split_once(' '));
            let after = after
                .and_then(|(at, id)| Some((Time::from_ms(at.parse().ok()?), id.parse().ok()?)));
            let (items, next) = app.due.soonest(user, after, EXPORT_PAGE).await?;
            let lines = items.iter().map(|item| {
                json!({
                    "type": "scheduled_post", "id": item.id, "text": item.text,
                    "publish_at": item.publish_at.rfc3339(),
                })
            });
            let next_after = next.map(|(at, id): (Time, ScheduledId)| format!("{} {id}", at.ms()));
            Ok(Lines { lines: lines.collect(), next_after })
        })
    }
}

impl Owned for Timers {
    nothing!(is_left forget erase cards audit);

    fn empty<'a>(&'a self, erasing: &'a mut Erasing<'_>) -> Step<'a> {
        Box::pin(async move {
            let (app, user) = (erasing.app, erasing.user);
            loop {
                let forgotten = app.due.forget_timers(user).await?;
                if let Some(progress) = removed(erasing, "timers", forgotten).await? {
                    return Ok(progress);
                }
            }
        })
    }

    fn export<'a>(
        &'a self,
        app: &'a App,
        user: UserId,
        after: Option<String>,
        _: Time,
    ) -> BoxFuture<'a, Result<Lines, StoreError>> {
        Box::pin(async move {
            let after: Option<TimerName> = place(after);
            let (timers, more) = app.due.timers(user, after.as_ref(), EXPORT_PAGE).await?;
            let lines = timers.iter().map(|timer| {
                let payload: Value = serde_json::from_str(&timer.payload).unwrap_or_default();
                json!({
                    "type": "timer", "name": timer.name, "due_at": timer.due_at.rfc3339(),
                    "every": timer.every, "payload": payload,
                })
            });
            let last = timers.last().filter(|_| more);
            Ok(Lines {
                lines: lines.collect(),
                next_after: last.map(|timer| timer.name.to_string()),
            })
        })
    }
}

/// Removes the entries of removed items. Returns the progress, unless more items may be left.
async fn removed(
    erasing: &mut Erasing<'_>,
    what: &'static str,
    ForgottenItems { found, items, entries, keys }: ForgottenItems,
) -> Result<Option<Progress>, StoreError> {
    erasing.removed("keys", keys);
    erasing.removed(what, items);
    // mutation: dropped-due
    erasing.app.valkey.due_done(&entries).await?;
    if found == 0 {
        return Ok(Some(Progress::Done));
    }
    Ok(erasing.time_is_up().then_some(Progress::NoTime))
}
