//! Home feeds: the posts of the followed authors and the user's own, merged.

use fanfold_core::{PostId, Slice, UserId};
use fanfold_engines::feed::Contents;
use fanfold_engines::reading::ReadContext;
use fanfold_engines::valkey::CachedSlice;
use fanfold_runtime::error::StoreError;
use fanfold_runtime::log::Chain;

use crate::App;
use crate::feeds::messages::RebuildFeed;

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
    let (authors, all) = futures::try_join!(authors(app, user), app.pulled.all())?;
    if passes_on && authors.len() > app.settings.inline_authors {
        pass_on(app, user, token).await;
        return Ok(Contents::Queued(authors));
    }
    let followed = authors.iter().copied();
    let pulled = followed.filter(|author| all.contains_key(author)).collect();
    let slice = app.feeds().merge(authors, PostId::MAX, app.valkey.keep(), reading).await?;
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
    app.feeds().merge(authors(app, user).await?, before, count, reading).await
}

/// The authors of the posts in a user's home feed: the followed ones, and the user.
async fn authors(app: &App, user: UserId) -> Result<Vec<UserId>, StoreError> {
    let mut authors = app.graph.following(user).await?;
    authors.push(user);
    Ok(authors)
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
