//! Handles the events of profiles.

use fanfold_core::Time;
use fanfold_core::limits::COMMIT_GRACE;
use fanfold_runtime::StoreError;
use fanfold_runtime::retry::look_again;

use super::cards::of_profile as cards;
use super::messages::ProfileChanged;
use crate::App;

/// Marks the cards of a changed profile as stale. The event goes out before the commit, so the profile is read until it
/// has as many changes as the event says. After [`COMMIT_GRACE`], the commit has failed, or the user was dropped since.
pub async fn profile_changed(
    app: &App,
    event: &ProfileChanged,
    now: Time,
) -> Result<(), StoreError> {
    let mut looked = 0;
    loop {
        let profile = app.users.profile(event.user).await?;
        let is_committed = match (profile.map(|profile| profile.revision), event.revision) {
            (Some(present), Some(announced)) => present >= announced,
            (present, announced) => present == announced,
        };
        // mutation: profile-committed
        if is_committed || now > event.changed_at + COMMIT_GRACE {
            return app.valkey.cards_changed(&cards(event.user)).await;
        }
        look_again("the profile", &mut looked).await?;
    }
}
