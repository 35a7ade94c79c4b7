//! Bookmarks: a kind of marks that only its user sees. They are not counted. A post does not know its bookmarks, so the deletion
//! of a post leaves them; the bookmark of a post that is gone is removed when its user reads the list.

use fanfold_engines::card::Wanted;
use fanfold_engines::valkey::CardId;

use crate::App;
use crate::marks::MarkKind;
use crate::owned::erasing::Erasing;
use crate::owned::{ExportRead, Exporting, Owned, Step, nothing};

/// Bookmarks.
pub(crate) struct Bookmarks;

impl Owned for Bookmarks {
    nothing!(is_left erase audit);

    fn empty<'a>(&'a self, erasing: &'a mut Erasing<'_>) -> Step<'a> {
        Box::pin(MarkKind::Bookmark.empty(erasing, "bookmarks"))
    }

    fn forget<'a>(&'a self, erasing: &'a mut Erasing<'_>) -> Step<'a> {
        Box::pin(async { Ok(MarkKind::Bookmark.forget(erasing)) })
    }

    fn export<'a>(&'a self, exporting: Exporting<'a>) -> ExportRead<'a> {
        let Exporting { app, user, after, .. } = exporting;
        Box::pin(MarkKind::Bookmark.export(app, user, after, "bookmarked_at"))
    }

    fn cards(&self, wanted: Wanted<App>, ids: &[CardId]) -> Wanted<App> {
        MarkKind::Bookmark.cards(wanted, ids)
    }
}
