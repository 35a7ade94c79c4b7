//! Handles the events of posts.

use fanfold_core::limits::COMMIT_GRACE;
use fanfold_core::{FeedId, Time};
use fanfold_engines::valkey::CardId;
use fanfold_runtime::StoreError;
use fanfold_runtime::retry::look_again;

use super::items::{PostState, Tombstone};
use super::messages::{PostDeleted, PostEdited};
use crate::App;
use crate::tags::messages::UpdateTagFeeds;

/// Marks the cards of a deleted post and of its author as stale, and removes the post from the author's own feeds.
pub async fn deleted(app: &App, event: &PostDeleted, now: Time) -> Result<(), StoreError> {
    let post = event.post;
    if tombstone(app, event, now).await?.is_none() {
        return Ok(());
    }
    // mutation: deletion-card
    app.valkey.cards_changed(&[CardId::post(post), CardId::user(post.author())]).await?;
    for feed in FeedId::own(post.author()) {
        app.valkey.remove(feed, &[post]).await?;
    }
    Ok(())
}

/// Marks the card of an edited post as stale, because its writer may have died before it did so, and orders to update the feeds of
/// its tags. The event goes out before the commit, so
/// the post is read until it has the version, or is gone. After [`COMMIT_GRACE`], the edit has failed.
pub async fn edited(app: &App, event: &PostEdited, now: Time) -> Result<(), StoreError> {
    let mut looked = 0;
    let ever = loop {
        match app.posts.state_and_tags(event.post).await? {
            (PostState::Published(post), _)
                if post.version < event.version && now <= event.edited_at + COMMIT_GRACE =>
            {
                // mutation: edit-committed
                look_again("the edit", &mut looked).await?;
            }
            (_, ever) => break ever,
        }
    };
    // mutation: edit-card
    app.valkey.cards_changed(&[CardId::post(event.post)]).await?;
    if !ever.is_empty() {
        // mutation: edit-tags
        app.outbox.send(&UpdateTagFeeds { post: event.post }).await?;
    }
    Ok(())
}

/// What is left of a deleted post. The event goes out before the commit, so the post is read until it is deleted. `None`: after
/// [`COMMIT_GRACE`] it is still there, so the deletion has failed.
pub(crate) async fn tombstone(
    app: &App,
    event: &PostDeleted,
    now: Time,
) -> Result<Option<Tombstone>, StoreError> {
    let mut looked = 0;
    loop {
        match app.posts.tombstone(event.post).await? {
            None if now > event.deleted_at + COMMIT_GRACE => return Ok(None),
            // mutation: deletion-committed
            None => look_again("the deletion", &mut looked).await?,
            left => return Ok(left),
        }
    }
}
