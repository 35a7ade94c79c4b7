//! The scheduled posts of a user who is erased or exported.

use fanfold_engines::table::{time_and_id, timed};
use serde_json::json;

use crate::owned::erasing::Erasing;
use crate::owned::{EXPORT_PAGE, ExportRead, Exporting, Line, Lines, Owned, Step, nothing};

/// Scheduled posts.
pub(crate) struct Scheduled;

impl Owned for Scheduled {
    nothing!(is_left forget erase cards audit);

    fn empty<'a>(&'a self, erasing: &'a mut Erasing<'_>) -> Step<'a> {
        Box::pin(async move {
            let (app, user) = (erasing.app, erasing.user);
            loop {
                let forgotten = app.scheduled.forget_scheduled(user, &app.posts).await?;
                if let Some(progress) = erasing.removed_due("scheduled", forgotten).await? {
                    return Ok(progress);
                }
            }
        })
    }

    fn export<'a>(&'a self, exporting: Exporting<'a>) -> ExportRead<'a> {
        let Exporting { app, user, after, .. } = exporting;
        Box::pin(async move {
            let after = after.and_then(|after| time_and_id(&after));
            let page = app.scheduled.soonest(user, after, EXPORT_PAGE).await?;
            let failed = match page.next {
                None => app.scheduled.failed(user).await?,
                Some(_) => Vec::new(),
            };
            let lines = page.items.iter().chain(&failed).map(|item| {
                let line = json!({
                    "type": "scheduled_post", "id": item.id, "text": item.text, "state": item.state,
                    "in_reply_to": item.in_reply_to, "publish_at": item.publish_at.rfc3339(),
                    "attachments": item.extras.attachments(),
                });
                Line::with_data(&line, item.extras.data())
            });
            let next_after = page.next.map(|(at, id)| timed(at, id));
            Ok(Lines { lines: lines.collect(), next_after })
        })
    }
}
