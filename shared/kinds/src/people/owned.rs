//! The profile of a user who is erased or exported. The order to erase replaces the profile before, and removes the note after all
//! other steps.

use fanfold_engines::card::{Card as _, Wanted};
use fanfold_engines::valkey::CardId;
use serde_json::json;

use super::about::About;
use super::cards::UserCard;
use crate::App;
use crate::owned::erasing::{Erasing, Progress};
use crate::owned::{ExportRead, Exporting, Line, Lines, Owned, Step, nothing};

/// People.
pub(crate) struct People;

impl Owned for People {
    nothing!(is_left erase audit);

    fn empty<'a>(&'a self, erasing: &'a mut Erasing<'_>) -> Step<'a> {
        Box::pin(async move {
            // nobody adds it any more: there is no profile
            erasing.app.users.forget_about(erasing.user).await?;
            // mutation: erased-about
            erasing.forget_cards(vec![About::id(&erasing.user)]).await?;
            Ok(Progress::Done)
        })
    }

    fn forget<'a>(&'a self, erasing: &'a mut Erasing<'_>) -> Step<'a> {
        Box::pin(async move {
            erasing.forget_card_later(CardId::user(erasing.user));
            Ok(Progress::Done)
        })
    }

    fn export<'a>(&'a self, exporting: Exporting<'a>) -> ExportRead<'a> {
        let Exporting { app, user, .. } = exporting;
        Box::pin(async move {
            let (profile, about) =
                futures::try_join!(app.users.profile(user), app.users.about(user))?;
            let about = (!about.is_empty()).then(|| {
                let line = json!({"type": "about", "bio": about.bio, "links": about.links});
                Line::with_data(&line, about.data.as_ref())
            });
            let line = profile.map(|profile| {
                json!({
                    "type": "profile", "id": profile.id, "handle": profile.handle, "name": profile.name,
                    "identity": profile.identity(), "posts": profile.posts, "followers": profile.followers,
                    "following": profile.following, "scheduled_posts": profile.scheduled,
                    "timers": profile.timers, "boards": profile.boards,
                })
            });
            Ok(Lines {
                lines: line.map(Line::from).into_iter().chain(about).collect(),
                next_after: None,
            })
        })
    }

    fn cards(&self, wanted: Wanted<App>, ids: &[CardId]) -> Wanted<App> {
        // cards of handles are not compared: they may be old
        wanted.among::<Option<UserCard>>(ids).among::<About>(ids)
    }
}
