//! The marks of a user who is erased or exported.

use fanfold_core::limits::{CONCURRENCY, DROP_PAGE};
use fanfold_core::{PostId, Time, UserId};
use fanfold_engines::card::Wanted;
use fanfold_engines::mark::Mark;
use fanfold_engines::table::{time_and_id, timed};
use fanfold_engines::valkey::CardId;
use fanfold_runtime::StoreError;
use serde_json::json;

use super::card::MarksCard;
use super::items::remove_announced;
use super::kind::MarkKind;
use crate::App;
use crate::owned::erasing::{Erasing, Progress, ended};
use crate::owned::{EXPORT_PAGE, Lines};

impl MarkKind {
    /// Removes the marks that the user put. `what` names them in the progress.
    pub(crate) async fn empty(
        self,
        erasing: &mut Erasing<'_>,
        what: &'static str,
    ) -> Result<Progress, StoreError> {
        let user = erasing.user;
        loop {
            let marks = self.of(erasing.app).of_user(user, None, DROP_PAGE as usize).await?;
            let some = !marks.is_empty();
            let (app, time) = (erasing.app, erasing.time());
            let ends = marks
                .into_iter()
                .map(|(at, post)| remove_announced(app, self, Mark { user, post, at }, time));
            let removed = ended(ends.collect(), CONCURRENCY).await?;
            erasing.removed(what, removed);
            if !some {
                return Ok(Progress::Done);
            }
            if erasing.time_is_up() {
                return Ok(Progress::NoTime);
            }
        }
    }

    /// Forgets the card of what the user marked.
    pub(crate) fn forget(self, erasing: &mut Erasing<'_>) -> Progress {
        erasing.forget_card_later(self.card(erasing.user));
        Progress::Done
    }

    /// The marks of a user, with the time in this field.
    pub(crate) async fn export(
        self,
        app: &App,
        user: UserId,
        after: Option<String>,
        field: &'static str,
    ) -> Result<Lines, StoreError> {
        let after = after.and_then(|after| time_and_id(&after));
        let marked = self.of(app).of_user(user, after, EXPORT_PAGE).await?;
        let last = marked.last().filter(|_| marked.len() == EXPORT_PAGE);
        let next_after = last.map(|(at, post)| timed(*at, *post));
        let Some(kind) = self.spec().by_time.export().line_type() else {
            return Ok(Lines::default());
        };
        let line = |(at, post): &(Time, PostId)| {
            json!({"type": kind, "post": post, field: at.rfc3339()}).into()
        };
        Ok(Lines { lines: marked.iter().map(line).collect(), next_after })
    }

    /// Adds those of these cards that are of this kind.
    pub(crate) fn cards(self, wanted: Wanted<App>, ids: &[CardId]) -> Wanted<App> {
        wanted.among::<MarksCard>(ids)
    }
}
