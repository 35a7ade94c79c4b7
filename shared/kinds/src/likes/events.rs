//! Handles the events of likes: marks cards, counts the likes of posts, and removes the likes of deleted posts.

use std::time::Duration;

use fanfold_core::kinds::KeyKind;
use fanfold_core::limits::COMMIT_GRACE;
use fanfold_core::registry::CHANGE_EVENTS;
use fanfold_core::{PostId, Time};
use fanfold_engines::valkey::{CardId, Counted};
use fanfold_runtime::StoreError;
use fanfold_runtime::clock::Deadline;
use fanfold_runtime::retry::look_again;

use crate::App;
use crate::likes::messages::{CountLikes, LikeChanged};
use crate::posts::items::{LikesPut, PostState};
use crate::posts::messages::PostDeleted;

/// The remaining time below which the removal of the likes of a post ends and leaves the rest to another message.
const LIKES_TIME_LEFT_MIN: Duration = Duration::from_secs(5);

/// Marks the card of a user whose likes have changed, and requests a count of the post's likes. The event goes out before
/// the commit, so the like is read until it is that of the event, or gone. After [`COMMIT_GRACE`], the commit has failed, or
/// the like has changed again.
pub async fn like_changed(app: &App, event: &LikeChanged, now: Time) -> Result<(), StoreError> {
    let mut looked = 0;
    loop {
        let given = app.likes.like(event.user, event.post).await?.map(|given| given.token);
        // another like than that of the event may be taken back before the commit of the event
        // mutation: like-committed
        if given == event.token || now > event.changed_at + COMMIT_GRACE {
            break;
        }
        look_again("the like", &mut looked).await?;
    }
    // mutation: like-card
    app.valkey.cards_changed(&[CardId::likes(event.user)]).await?;
    let order = CountLikes { post: event.post };
    let send = async |delay| app.outbox.send_after(&order, delay).await;
    app.counts.request(&app.valkey, &counted(event.post), send).await
}

fn counted(post: PostId) -> Counted {
    Counted::new(KeyKind::LikeCountLock, post.author(), post)
}

/// Counts the likes of a post and writes the number into the post and into the rows of the rankings. A change from now on requests another count. If the
/// post is gone, its likes are removed: some were given while it was deleted.
pub async fn count(
    app: &App,
    order: &CountLikes,
    now: Time,
    deadline: Deadline,
) -> Result<(), StoreError> {
    let post = order.post;
    // mutation: like-count-begins
    app.valkey.begin_count(&counted(post)).await?;
    let likes = app.likes.counted(post).await?;
    let put = app.posts.put_likes(&app.boards, post, likes, now).await?;
    tracing::info!(%post, likes = likes.number, outcome = ?put, "counted likes");
    // mutation: late-like
    if put == LikesPut::Gone {
        return remove(app, post, now, deadline).await;
    }
    // also if nothing changed now: an earlier count may have died after it wrote the number
    // mutation: like-count-card
    app.valkey.cards_changed(&[CardId::post(post)]).await
}

/// Removes the likes of a deleted post. The event goes out before the deletion is committed, so the post is read until it
/// is gone. After [`COMMIT_GRACE`], the deletion has failed.
pub async fn post_deleted(
    app: &App,
    event: &PostDeleted,
    now: Time,
    deadline: Deadline,
) -> Result<(), StoreError> {
    let mut looked = 0;
    while matches!(app.posts.state(event.post).await?, PostState::Published(_)) {
        // mutation: like-deletion-committed
        if now > event.deleted_at + COMMIT_GRACE {
            return Ok(());
        }
        look_again("the deletion of the post", &mut looked).await?;
    }
    remove(app, event.post, now, deadline).await
}

/// Removes the likes of a post that is gone, as far as the deadline allows. Another message does the rest.
async fn remove(app: &App, post: PostId, now: Time, deadline: Deadline) -> Result<(), StoreError> {
    let mut removed = 0;
    loop {
        let likes = app.likes.some_of(post).await?;
        if likes.is_empty() {
            // mutation: ranking-deleted
            app.posts.forget_likes(&app.boards, post).await?;
            app.boards.forget_trends(post, now).await?;
            // mutation: like-counts-forgotten
            app.likes.forget_counts(post).await?;
            tracing::info!(%post, removed, "removed the likes of a deleted post");
            return Ok(());
        }
        app.likes.remove_all(&likes).await?;
        let cards: Vec<CardId> = likes.iter().map(|like| CardId::likes(like.user)).collect();
        // mutation: removed-like-cards
        app.valkey.cards_changed(&cards).await?;
        // last: a message that is tried again finds the likes by these rows
        app.likes.forget_likers(&likes).await?;
        removed += likes.len();
        if deadline.is_within(LIKES_TIME_LEFT_MIN) {
            tracing::info!(%post, removed, "removed some likes of a deleted post");
            // mutation: likes-left
            let rest = PostDeleted { post, deleted_at: now };
            return app.outbox.send_on(CHANGE_EVENTS, &rest, Duration::ZERO).await;
        }
    }
}
