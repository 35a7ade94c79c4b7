//! Counts the replies to posts, and takes deleted replies out of their threads.

use fanfold_core::PostId;
use fanfold_core::kinds::KeyKind;
use fanfold_engines::valkey::{CardId, Counted};
use fanfold_runtime::StoreError;

use super::messages::CountReplies;
use crate::App;
use crate::posts::items::{CountPut, Tombstone};
use crate::posts::thread::Thread;

/// Requests a count of the replies to a post.
pub(crate) async fn request_count(app: &App, post: PostId) -> Result<(), StoreError> {
    let send = async |delay| app.outbox.send_after(&CountReplies { post }, delay).await;
    app.counts.request(&app.valkey, &counted(post), send).await
}

fn counted(post: PostId) -> Counted {
    Counted::new(KeyKind::ReplyCountLock, post.author(), post)
}

/// Counts the replies to a post, and writes the number into the post. A change from now on requests another count. If the post
/// is gone, the rows that count its replies are removed: some may have been given while it was deleted.
pub async fn count(app: &App, order: &CountReplies) -> Result<(), StoreError> {
    let post = order.post;
    app.valkey.begin_count(&counted(post)).await?;
    let replies = app.replies.counted(post).await?;
    let put = app.posts.put_replies(post, replies).await?;
    tracing::info!(%post, replies = replies.number, outcome = ?put, "counted replies");
    if put == CountPut::Gone {
        return app.replies.forget_counts(post).await;
    }
    // also if nothing changed now: an earlier count may have died after it wrote the number
    app.valkey.cards_changed(&[CardId::post(post)]).await
}

/// Takes a deleted post out of its thread, and forgets the count of its own replies.
pub(crate) async fn removed(
    app: &App,
    post: PostId,
    tombstone: &Tombstone,
) -> Result<(), StoreError> {
    if tombstone.had_replies {
        app.replies.forget_counts(post).await?;
    }
    if tombstone.thread.is_empty() {
        return Ok(());
    }
    leave(app, post, &tombstone.thread).await?;
    app.posts.forget_thread(post).await
}

/// Takes a deleted reply out of its thread, and requests a count, also if an earlier call died before it did so.
pub(crate) async fn leave(app: &App, reply: PostId, thread: &Thread) -> Result<(), StoreError> {
    let Some(answered) = thread.answered() else { return Ok(()) };
    app.replies.remove_reply(reply, thread).await?;
    // mutation: reply-removed-count
    request_count(app, answered).await
}
