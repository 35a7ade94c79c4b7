//! The profile of a user who is erased or exported. The order to erase replaces the profile before, and removes the note after all
//! other steps.

use fanfold_engines::card::Wanted;
use fanfold_engines::valkey::CardId;
use serde_json::json;

use super::cards::UserCard;
use crate::App;
use crate::owned::Lines;
use crate::owned::erasing::{Erasing, Progress};
use crate::owned::{ExportRead, Exporting, Owned, Step, nothing};

/// People.
pub(crate) struct People;

impl Owned for People {
    nothing!(empty is_left erase audit);

    fn forget<'a>(&'a self, erasing: &'a mut Erasing<'_>) -> Step<'a> {
        Box::pin(async move {
            erasing.forget_card_later(CardId::user(erasing.user));
            Ok(Progress::Done)
        })
    }

    fn export<'a>(&'a self, exporting: Exporting<'a>) -> ExportRead<'a> {
        let Exporting { app, user, .. } = exporting;
        Box::pin(async move {
            let profile = app.users.profile(user).await?;
            let line = profile.map(|profile| {
                json!({
                    "type": "profile", "id": profile.id, "handle": profile.handle, "name": profile.name,
                    "identity": profile.identity(), "posts": profile.posts, "followers": profile.followers,
                    "following": profile.following, "scheduled_posts": profile.scheduled,
                    "timers": profile.timers, "boards": profile.boards,
                })
            });
            Ok(Lines { lines: line.into_iter().collect(), next_after: None })
        })
    }

    fn cards(&self, wanted: Wanted<App>, ids: &[CardId]) -> Wanted<App> {
        // cards of handles are not compared: they may be old
        wanted.among::<Option<UserCard>>(ids)
    }
}
