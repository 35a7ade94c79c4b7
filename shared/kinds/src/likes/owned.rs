//! The likes of a user who is erased or exported.

use fanfold_engines::card::{Card as _, Wanted};
use fanfold_engines::valkey::CardId;
use fanfold_runtime::StoreError;
use futures::future::BoxFuture;

use crate::App;
use crate::marks::MarkKind;
use crate::owned::erasing::Erasing;
use crate::owned::{Auditing, ExportRead, Exporting, Owned, Step, nothing};
use crate::posts::items::{CountPut, PostState};

/// Likes.
pub(crate) struct Likes;

impl Owned for Likes {
    nothing!(is_left erase);

    /// Removes the likes that the user gave.
    fn empty<'a>(&'a self, erasing: &'a mut Erasing<'_>) -> Step<'a> {
        Box::pin(MarkKind::Like.empty(erasing, "likes"))
    }

    fn forget<'a>(&'a self, erasing: &'a mut Erasing<'_>) -> Step<'a> {
        Box::pin(async { Ok(MarkKind::Like.forget(erasing)) })
    }

    fn export<'a>(&'a self, exporting: Exporting<'a>) -> ExportRead<'a> {
        let Exporting { app, user, after, .. } = exporting;
        Box::pin(MarkKind::Like.export(app, user, after, "liked_at"))
    }

    fn cards(&self, wanted: Wanted<App>, ids: &[CardId]) -> Wanted<App> {
        MarkKind::Like.cards(wanted, ids)
    }

    /// Counts the likes of a post again. The last count may have been lost with Valkey's note that it was requested.
    fn audit<'a>(&'a self, auditing: Auditing<'a>) -> BoxFuture<'a, Result<(), StoreError>> {
        let Auditing { app, ids, now, audited, .. } = auditing;
        Box::pin(async move {
            let Some(post) = ids.iter().find_map(|id| PostState::of(*id)) else { return Ok(()) };
            let counted = app.likes.counted(post).await?;
            if app.posts.put_likes(&app.boards, post, counted, now).await? == CountPut::Written {
                app.valkey.cards_changed(&[CardId::post(post)]).await?;
                audited.likes_counted += 1;
            }
            Ok(())
        })
    }
}
