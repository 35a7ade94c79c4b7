//! Handles the events of posts.

use fanfold_core::limits::COMMIT_GRACE;
use fanfold_core::{FeedId, Time};
use fanfold_engines::valkey::CardId;
use fanfold_runtime::StoreError;
use fanfold_runtime::retry::look_again;

use super::items::PostState;
use super::messages::PostDeleted;
use crate::App;

/// Marks the cards of a deleted post and of its author as stale, and removes the post from the author's own feeds. The
/// event goes out before the commit, so the post is read until it is deleted. After [`COMMIT_GRACE`], the commit has
/// failed.
pub async fn deleted(app: &App, event: &PostDeleted, now: Time) -> Result<(), StoreError> {
    let (post, mut looked) = (event.post, 0);
    loop {
        match app.posts.state(post).await? {
            PostState::Published(_) if now > event.deleted_at + COMMIT_GRACE => return Ok(()),
            // mutation: deletion-committed
            PostState::Published(_) => look_again("the deletion", &mut looked).await?,
            PostState::Deleted | PostState::Missing => break,
        }
    }
    // mutation: deletion-card
    app.valkey.cards_changed(&[CardId::post(post), CardId::user(post.author())]).await?;
    for feed in FeedId::own(post.author()) {
        app.valkey.remove(feed, &[post]).await?;
    }
    Ok(())
}
