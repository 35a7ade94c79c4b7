//! Counts the likes of posts, and removes the likes of deleted posts.

use std::time::Duration;

use fanfold_core::kinds::KeyKind;
use fanfold_core::registry::CHANGE_EVENTS;
use fanfold_core::{PostId, Time};
use fanfold_engines::mark::Mark;
use fanfold_engines::table::transact::{CommitResult, Transaction};
use fanfold_engines::valkey::{CardId, Counted};
use fanfold_runtime::StoreError;
use fanfold_runtime::clock::Deadline;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};

use crate::App;
use crate::likes::messages::CountLikes;
use crate::marks::MarkKind;
use crate::marks::writes::ROWS;
use crate::posts::items::CountPut;
use crate::posts::messages::PostDeleted;

/// Likes of a deleted post that are removed at the same time.
const LIKES_REMOVED_AT_ONCE: usize = 16;
/// The remaining time below which the removal of the likes of a post ends and leaves the rest to another message.
const LIKES_TIME_LEFT_MIN: Duration = Duration::from_secs(5);

/// Requests a count of the likes of a post.
pub(crate) async fn request_count(app: &App, post: PostId) -> Result<(), StoreError> {
    let send = async |delay| app.outbox.send_after(&CountLikes { post }, delay).await;
    app.counts.request(&app.valkey, &counted(post), send).await
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
    if put == CountPut::Gone {
        return post_deleted(app, post, now, deadline).await;
    }
    // also if nothing changed now: an earlier count may have died after it wrote the number
    app.valkey.cards_changed(&[CardId::post(post)]).await
}

/// Removes the likes of a post that is gone, as far as the deadline allows. Another message does the rest.
pub(crate) async fn post_deleted(
    app: &App,
    post: PostId,
    now: Time,
    deadline: Deadline,
) -> Result<(), StoreError> {
    let mut removed = 0;
    loop {
        let likes = app.likes.some_of(post).await?;
        if likes.is_empty() {
            // mutation: ranking-deleted
            app.posts.forget_likes(&app.boards, post).await?;
            app.boards.forget_trends(post, now).await?;
            app.likes.forget_counts(post).await?;
            tracing::info!(%post, removed, "removed the likes of a deleted post");
            return Ok(());
        }
        remove_all(app, &likes).await?;
        let cards: Vec<CardId> = likes.iter().map(|like| MarkKind::Like.card(like.user)).collect();
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

/// Removes likes of a post that is gone. Their rows in the list of who likes the post stay, because only they lead to these
/// likes: [`crate::likes::items::LikeStore::forget_likers`] removes them when the cards are marked. The counts are not changed, because their rows go
/// with the post.
pub async fn remove_all(app: &App, likes: &[Mark]) -> Result<(), StoreError> {
    let removals: Vec<_> = likes.iter().map(|like| remove_one(app, *like)).collect();
    stream::iter(removals).buffer_unordered(LIKES_REMOVED_AT_ONCE).try_collect().await
}

async fn remove_one(app: &App, like: Mark) -> Result<(), StoreError> {
    let marks = MarkKind::Like.of(app);
    let mut transaction = Transaction::new("removing a like of a deleted post");
    marks.remove(&mut transaction, ROWS, like);
    match transaction.commit().await? {
        CommitResult::Done => Ok(()),
        CommitResult::Refused(_) => {
            // fails if the like has a newer version
            marks.mark(like.user, like.post).await?;
            // the user has taken the like back, and may have given another: this row is not part of it
            marks.forget_row(like).await
        }
    }
}
