//! The followed tags of a user who is erased or exported. The rows of the user's posts under tags go with the messages about their
//! deletion, and once more before the tombstones go.

use fanfold_engines::card::Card as _;
use fanfold_runtime::StoreError;
use futures::future::BoxFuture;
use serde_json::json;

use super::names::NamedTag;
use super::sync;
use crate::owned::erasing::{Erasing, Progress};
use crate::owned::{Auditing, ExportRead, Exporting, Lines, Owned, Step, nothing};
use crate::posts::items::PostState;

/// Tags.
pub(crate) struct Tags;

impl Owned for Tags {
    nothing!(is_left forget cards);

    fn empty<'a>(&'a self, erasing: &'a mut Erasing<'_>) -> Step<'a> {
        Box::pin(forget(erasing))
    }

    /// Again: a request that had begun before the user was denied may have written meanwhile.
    fn erase<'a>(&'a self, erasing: &'a mut Erasing<'_>) -> Step<'a> {
        Box::pin(forget(erasing))
    }

    fn export<'a>(&'a self, Exporting { app, user, .. }: Exporting<'a>) -> ExportRead<'a> {
        Box::pin(async move {
            let tags = app.tags.followed(user).await?.tags.into_iter();
            let line = |NamedTag { tag, name }| {
                json!({"type": "followed_tag", "tag": tag, "name": name}).into()
            };
            Ok(Lines { lines: tags.map(line).collect(), next_after: None })
        })
    }

    /// Compares the rows of a post under tags with its text. A writer that died for good, or a lost message, left them wrong.
    fn audit<'a>(&'a self, auditing: Auditing<'a>) -> BoxFuture<'a, Result<(), StoreError>> {
        let Auditing { app, ids, now, audited, .. } = auditing;
        Box::pin(async move {
            let Some(post) = ids.iter().find_map(|id| PostState::of(*id)) else { return Ok(()) };
            if !sync::is_right(app, post, now).await? {
                // mutation: audit-tags
                sync::sync(app, [post].into(), now).await?;
                audited.tags_corrected += 1;
            }
            Ok(())
        })
    }
}

async fn forget(erasing: &mut Erasing<'_>) -> Result<Progress, StoreError> {
    erasing.app.tags.forget_followed(erasing.user).await?;
    Ok(Progress::Done)
}
