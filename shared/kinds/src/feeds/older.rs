//! Pages below the floor of a live feed. Their queries are charged to the reader. Those of a home feed are merged from all authors,
//! which takes a query for each, so a pull merges the posts of several pages.
//!
//! The posts of several pages are kept in Valkey, with the number of changes of relations that the reader had made before
//! the authors were read. A later page shows them only while the number is the same. Posts that are so old that no writer of
//! such a post lives any more stay complete: deleted ones are passed over later, like those of every feed. A scheduled post that
//! is published late can lack until [`OLDER_KEPT`] is over.

use fanfold_core::kinds::LimitKind;
use fanfold_core::limits::{OLDER_KEPT, OLDER_SETTLES, PULL_QUERIES_MIN};
use fanfold_core::{FeedId, PostId, Slice, TagHash, UserId};
use fanfold_engines::feed::{SliceError, Source};
use fanfold_engines::reading::ReadContext;
use fanfold_engines::valkey::Older;
use fanfold_runtime::StoreError;
use fanfold_runtime::log::Chain;
use futures::future::join;

use super::home::pull;
use crate::App;

/// Posts that a pull below the floor of a home feed merges, at least: three large pages, and the post that shows that there is
/// a fourth one. Valkey keeps them for the pages that follow.
const OLDER_POSTS: usize = 301;

/// The next posts of a feed that everybody reads. Its queries are charged to the reader. Fails with [`SliceError::Limited`] if the
/// reader has pulled too much.
pub(super) async fn of_everybody(
    app: &App,
    feed: FeedId,
    before: PostId,
    count: usize,
    reading: &ReadContext,
) -> Result<Slice, SliceError> {
    if let Some(reader) = reading.reader {
        check(app, reader, reading).await?;
    }
    let (slice, queries) = app.tags.newest(TagHash(feed.owner.0), before, count).await?;
    // other feeds of the request may be read at the same time
    // mutation: tags-charged
    charge(app, reading, queries).await?;
    Ok(slice)
}

/// The newest posts of a feed that everybody reads, at most `count`: at least `asked`, if the feed has so many. A live feed may have fewer
/// above its floor.
pub(crate) async fn newest(
    app: &App,
    feed: FeedId,
    asked: usize,
    count: usize,
    reading: &ReadContext,
) -> Result<(Slice, Source), SliceError> {
    let (mut slice, source) = app.feeds().slice(feed, PostId::MAX, count, reading).await?;
    if slice.posts.len() < asked && !slice.is_end() {
        let (before, missing) = (slice.bound.next(), count - slice.posts.len());
        // Valkey has no more
        let older = of_everybody(app, feed, before, missing, reading).await?;
        slice.posts.extend(older.posts);
        slice.bound = older.bound;
    }
    Ok((slice, source))
}

/// Charges queries to the reader, if there is one.
pub(crate) async fn charge(
    app: &App,
    reading: &ReadContext,
    queries: u64,
) -> Result<(), StoreError> {
    let (Some(reader), 1..) = (reading.reader, queries) else { return Ok(()) };
    let limit = app.limits.of(LimitKind::Pull);
    reading.ask(app.valkey.charge(limit, reader, queries, reading.now)).await.map(drop)
}

/// Fails with [`SliceError::Limited`] if a reader has pulled too much.
async fn check(app: &App, reader: UserId, reading: &ReadContext) -> Result<(), SliceError> {
    let limit = app.limits.of(LimitKind::Pull);
    let waits = app.valkey.count_requests(limit, reader, 0, reading.now);
    match reading.ask(waits).await?.flatten() {
        // mutation: pull-limited
        Some(wait) => Err(SliceError::Limited { limit, wait }),
        None => Ok(()),
    }
}

/// The next posts of a user's live home feed that are older than `before`, which is below its floor.
pub(super) async fn below_floor(
    app: &App,
    user: UserId,
    before: PostId,
    count: usize,
    reading: &ReadContext,
) -> Result<Slice, SliceError> {
    let now = reading.now;
    // the profile is read before the relations, so a relation that is missing below has changed the number
    let (limit, profile) = (app.limits.of(LimitKind::Pull), app.users.profile(user));
    let (profile, kept) = join(profile, reading.ask(app.valkey.older(user))).await;
    let relation_changes = profile?.map_or(0, |profile| profile.relation_changes);
    let is_complete = |older: &Older| {
        older.relation_changes == relation_changes
            && before <= older.before
            && before.time() + OLDER_SETTLES <= older.read_at
            && now < older.read_at + OLDER_KEPT
    };
    if let Some(older) = kept?.flatten().filter(is_complete) {
        let slice = older.slice.below(before, count);
        // a part of a page would lead to a pull below it, which the next page could not use
        if slice.posts.len() == count || slice.is_end() {
            return Ok(slice);
        }
    }
    check(app, user, reading).await?;
    // an author feed in Valkey may lack a post until its event is handled
    let pulling = ReadContext::without_valkey(reading.time());
    let slice = pull(app, user, before, OLDER_POSTS.max(count), &pulling).await?;
    let older = Older { relation_changes, read_at: pulling.now, before, slice };
    let queries = pulling.queries().max(PULL_QUERIES_MIN);
    if reading.ask(app.valkey.charge(limit, user, queries, now)).await?.is_some()
        && let Err(error) = app.valkey.keep_older(user, &older).await
    {
        // a full server refuses it: the next page is pulled again
        tracing::warn!(error = %Chain(&error), "older posts were not kept");
    }
    Ok(older.slice.below(before, count))
}
