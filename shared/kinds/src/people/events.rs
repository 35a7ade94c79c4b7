//! Handles the events of profiles.

use fanfold_core::limits::COMMIT_GRACE;
use fanfold_core::{HandleHash, Time};
use fanfold_engines::valkey::CardId;
use fanfold_runtime::StoreError;
use fanfold_runtime::retry::look_again;

use super::cards::of_profile;
use super::messages::ProfileChanged;
use crate::App;

/// Marks the cards of a changed profile, and the one of its handle, as stale. The event goes out before the commit, so
/// the profile is read until it has as many changes as the event says. After [`COMMIT_GRACE`], the commit has failed, or the user was dropped since.
pub async fn profile_changed(
    app: &App,
    event: &ProfileChanged,
    now: Time,
) -> Result<(), StoreError> {
    let mut looked = 0;
    loop {
        let profile = app.users.profile(event.user).await?;
        let present = profile.as_ref().map(|profile| profile.revision);
        let is_committed = match (present, event.revision) {
            (Some(present), Some(announced)) => present >= announced,
            (present, announced) => present == announced,
        };
        // mutation: profile-committed
        if is_committed || now > event.changed_at + COMMIT_GRACE {
            let handle = profile.map(|profile| CardId::handle(HandleHash::of(&profile.handle)));
            let cards: Vec<CardId> = of_profile(event.user).into_iter().chain(handle).collect();
            return app.valkey.cards_changed(&cards).await;
        }
        look_again("the profile", &mut looked).await?;
    }
}
