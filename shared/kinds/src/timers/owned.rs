//! The timers of a user who is erased or exported.

use fanfold_core::TimerName;
use serde_json::{Value, json};

use crate::owned::erasing::Erasing;
use crate::owned::{EXPORT_PAGE, ExportRead, Exporting, Line, Lines, Owned, Step, nothing, place};

/// Timers.
pub(crate) struct Timers;

impl Owned for Timers {
    nothing!(is_left forget erase cards audit);

    fn empty<'a>(&'a self, erasing: &'a mut Erasing<'_>) -> Step<'a> {
        Box::pin(async move {
            let (app, user) = (erasing.app, erasing.user);
            loop {
                let forgotten = app.timers.forget_timers(user).await?;
                if let Some(progress) = erasing.removed_due("timers", forgotten).await? {
                    return Ok(progress);
                }
            }
        })
    }

    fn export<'a>(&'a self, exporting: Exporting<'a>) -> ExportRead<'a> {
        let Exporting { app, user, after, .. } = exporting;
        Box::pin(async move {
            let after: Option<TimerName> = place(after);
            let page = app.timers.timers(user, after.as_ref(), EXPORT_PAGE).await?;
            let lines = page.items.iter().map(|timer| {
                let payload: Value = serde_json::from_str(&timer.payload).unwrap_or_default();
                json!({
                    "type": "timer", "name": timer.name, "due_at": timer.due_at.rfc3339(),
                    "every": timer.every, "payload": payload,
                })
            });
            let next_after = page.next.map(|name| name.to_string());
            Ok(Lines { lines: lines.map(Line::from).collect(), next_after })
        })
    }
}
