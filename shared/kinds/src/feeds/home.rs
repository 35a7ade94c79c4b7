//! Home feeds: the posts of the followed authors and the user's own, merged.

use fanfold_core::{PostId, Slice, UserId};
use fanfold_engines::feed::Contents;
use fanfold_engines::reading::ReadContext;
use fanfold_engines::valkey::CachedSlice;
use fanfold_runtime::error::StoreError;
use fanfold_runtime::log::Chain;

use super::kept::{self, FeedCopy};
use crate::App;
use crate::feeds::messages::RebuildFeed;
use crate::follows::items::Followed;

/// What a rebuild of a home feed reads. A feed of too many authors is passed on, with the lease `token`.
pub(super) async fn contents(
    app: &App,
    user: UserId,
    token: String,
    passes_on: bool,
    reading: &ReadContext,
) -> Result<Contents, StoreError> {
    // The authors are read after the feed became live: authors who are followed later are
    // backfilled. The pulled authors are read before any posts: if an author is pulled after
    // this, a push brings the pointer first.
    // mutation: live-before-read
    let (followed, all, copy) = futures::try_join!(
        app.graph.following(user, app.settings.kept.is_on()),
        app.pulled.all(),
        kept::of(app, user, reading)
    )?;
    let authors = authors(user, &followed);
    if passes_on && authors.len() > app.settings.inline_authors {
        pass_on(app, user, token).await;
        return Ok(Contents::Queued(authors));
    }
    let pulled = authors.iter().copied().filter(|author| all.contains_key(author)).collect();
    let copy = copy.map(|copy| FeedCopy::new(user, copy, &followed));
    let feeds = app.feeds();
    let merge = feeds.merge(authors, PostId::MAX, app.valkey.keep(), copy.as_ref(), reading);
    let slice = merge.await?;
    Ok(Contents::Read(CachedSlice { slice, pulled }))
}

/// Computes the next posts of a home feed that are older than `before`, without storing the feed.
pub(super) async fn pull(
    app: &App,
    user: UserId,
    before: PostId,
    count: usize,
    reading: &ReadContext,
) -> Result<Slice, StoreError> {
    let authors = authors(user, &app.graph.following(user, false).await?);
    app.feeds().merge(authors, before, count, None, reading).await
}

/// The authors of the posts in a user's home feed: the followed ones, and the user.
fn authors(user: UserId, followed: &[Followed]) -> Vec<UserId> {
    followed.iter().map(|followed| followed.author).chain([user]).collect()
}

/// Queues the rebuild of a home feed with its lease.
async fn pass_on(app: &App, user: UserId, lease: String) {
    let sent = app.outbox.send(&RebuildFeed { user, lease }).await;
    // if sending fails, the page is answered all the same, and a reader after the end of the lease
    // queues another rebuild
    if let Err(error) = sent {
        tracing::warn!(error = %Chain(&error), "a rebuild was not queued");
    }
}
