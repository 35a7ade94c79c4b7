//! The handler of the event of marks.

use fanfold_core::Time;
use fanfold_core::limits::COMMIT_GRACE;
use fanfold_runtime::StoreError;
use fanfold_runtime::retry::look_again;

use super::messages::MarkChanged;
use crate::{App, likes};

/// Marks the card of a user whose marks have changed, and hands the change to those who count it. The event goes out before
/// the commit, so the mark is read until it is that of the event, or gone. After [`COMMIT_GRACE`], the commit has failed, or the
/// mark has changed again.
pub async fn changed(app: &App, event: &MarkChanged, now: Time) -> Result<(), StoreError> {
    let kind = event.kind;
    let mut looked = 0;
    loop {
        let found = kind.of(app).mark(event.user, event.post).await?.map(|found| found.token);
        // another mark than that of the event may be removed before the commit of the event
        // mutation: mark-committed
        if found == event.token || now > event.changed_at + COMMIT_GRACE {
            break;
        }
        look_again("the mark", &mut looked).await?;
    }
    app.valkey.cards_changed(&[kind.card(event.user)]).await?;
    match kind.spec().is_public {
        true => likes::events::request_count(app, event.post).await,
        false => Ok(()),
    }
}
