//! Timelines: pages of home and author feeds.
//!
//! **Read.** `timeline` runs one script, which returns whether the feed is live, its floor, and the next entries.
//! Below the floor the page is pulled: about 300 posts of all followed authors are merged from DynamoDB, kept for the
//! pages that follow, and their reads are charged to the reader (`PullQueriesPerMinute`). Other pulls merge the
//! posts of one page. They come from the heads of the authors, and below those from the author feed if it is live and
//! reaches that far down, and otherwise from one query per author. Each slice of a feed states how far down it is
//! complete, and a merge is complete down to the highest of these points, so pages have no gaps. `present` reads the cards of the posts and their authors, and
//! replaces posts that it does not show with older ones. A cluster gets one call of a script for each bucket, at the
//! same time. A single node gets simple commands for all buckets together, and the script for buckets that lack a
//! card. One extra item shows whether there is a next page. Cards that are missing are made from DynamoDB, in one
//! batch read for each table at the same time, and filled. A page of a live feed whose cards are all there takes two
//! round trips to Valkey and no call to DynamoDB. One of these cards has what the viewer likes: the 200 newest liked
//! posts. Older posts of a page are looked up in DynamoDB, in one batch read; a viewer with fewer than 200 likes has
//! them all on the card. Single posts, profiles, author feeds and lists of users use the same cards. If many readers
//! miss the same card, one of them reads the item, and the others wait up to 635 ms for the card.
//!
//! # Bounds
//!
//! - The cards of an author and of the author's posts are in one bucket, so one shard of Valkey answers all pages that
//!   show them. A node does so about 180,000 times a second. On Serverless, all of these reads share the 30,000 ECPU a
//!   second of one hash slot; each costs about 10, so 3,000 pages a second can show posts of one author. Above that,
//!   and while Valkey does not answer, pages read the items, of which DynamoDB allows 3,000 reads a second. A
//!   deployment with authors whom more people read at once needs `ValkeyKind=cluster`, which is the default.
//! - On a cache that does not show its generation to scripts, a fail-over can lose the mark of a card unnoticed. Such
//!   a card is old until it expires, after an hour at most, or until the audit finds it.
//! - Pages of posts do not say whether the viewer follows an author. Each reader would need a card for each author
//!   shown: 20 cards of 320 bytes for a page, more than twice the memory of the feed, while the cards of posts and
//!   users serve all readers. An app asks for the profile, which says it. A home feed may show posts of an author for
//!   a moment after an unfollow.

use fanfold_core::kinds::LimitKind;
use fanfold_core::limits::{COMMIT_GRACE, PAGE_ROUNDS_MAX, PULL_QUERIES_MIN};
use fanfold_core::{FeedId, PostId, Time, UserRef};
use fanfold_engines::feed::{SliceError, Source};
use fanfold_engines::list::Filling;
use fanfold_engines::reading::ReadContext;
use fanfold_runtime::log::Chain;
use fanfold_runtime::{StoreError, metrics};
use futures::future::ready;

use crate::limit::{all_within_limit, refused};
use crate::posts::items::PostState;
use crate::present::{self, PostWithAuthor, ShownPost, Viewer, all_posts};
use crate::{App, Error};

/// The part of a feed that a page is cut from. Both ends are exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The page has posts older than this.
    pub before: PostId,
    /// The page has posts newer than this.
    pub after: PostId,
}

impl Span {
    /// The whole feed.
    pub const ALL: Span = Span { before: PostId::MAX, after: PostId::MIN };
}

/// A page of posts, newest first: as many as were requested, or all that are left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedPage {
    pub posts: Vec<ShownPost>,
    /// The next page holds posts older than this. None: no posts are left.
    pub next_before: Option<PostId>,
    /// The source of the first entries.
    pub source: Source,
}

impl FeedPage {
    /// The ids of the posts, in the order of the page.
    pub fn ids(&self) -> impl Iterator<Item = PostId> {
        self.posts.iter().map(|shown| shown.post.id)
    }
}

/// Reads a page of a feed, as `viewer` sees it: up to `limit` posts of `span`, newest first. A page with fewer posts is the last one, unless
/// [`PAGE_ROUNDS_MAX`] rounds were not enough to fill it; it then has a `next_before`.
///
/// Entries whose post was deleted are passed over, replaced from below and removed from the feed. Posts of authors
/// without a profile, and what is hidden from the viewer, are passed over and replaced, and stay in the feed. Fails with
/// [`Error::TooManyRequests`] if it is below the floor of the home feed, and the viewer has pulled too much.
pub async fn page(
    app: &App,
    viewer: &Viewer,
    feed: FeedId,
    span: Span,
    limit: usize,
    reading: &ReadContext,
) -> Result<FeedPage, Error> {
    let (mut filling, mut source, mut before) = (Filling::new(limit), None, span.before);
    let mut end = false;
    // mutation: page-full
    for _ in 0..PAGE_ROUNDS_MAX {
        let slice = app.feeds().slice(feed, before, filling.missing(), reading).await;
        let (mut slice, from) = slice.map_err(|error| match error {
            SliceError::Store(error) => error.into(),
            SliceError::Limited { limit, wait } => refused(limit, viewer.user, wait),
        })?;
        source.get_or_insert(from);
        slice.posts.retain(|post| *post > span.after);
        let found = shown(app, viewer, feed, &slice.posts, reading).await?;
        filling.add(found.into_iter().map(|shown| (shown.post.id, shown)));
        end = slice.bound <= span.after;
        if end || filling.is_full() {
            break;
        }
        before = slice.bound.next();
    }
    let source = source.unwrap_or(Source::Pull);
    metrics::page(source == Source::Cache);
    let page = filling.end((!end).then_some(before));
    tracing::debug!(%feed, ?source, posts = page.items.len(), "read a page");
    Ok(FeedPage { posts: page.items, next_before: page.next, source })
}

/// Reads the posts and authors of `ids`, without those that are deleted or hidden. Removes deleted posts from the feed.
async fn shown(
    app: &App,
    viewer: &Viewer,
    feed: FeedId,
    ids: &[PostId],
    context: &ReadContext,
) -> Result<Vec<ShownPost>, StoreError> {
    let visible: Vec<PostId> = ids.iter().copied().filter(|id| viewer.sees(id.author())).collect();
    if visible.is_empty() {
        return Ok(Vec::new());
    }
    let mut found = all_posts(app, Some(viewer.user), &visible, context).await?;
    let is_gone = |id: &PostId| match found.get(id).map(|found| &found.state) {
        Some(PostState::Published(_)) => false,
        Some(PostState::Deleted) => true,
        // its author's heads may be there a moment before the post
        Some(PostState::Missing) | None => id.time() + COMMIT_GRACE < context.now,
    };
    let deleted: Vec<PostId> = visible.iter().copied().filter(is_gone).collect();
    // if Valkey does not answer, the entries stay for the next reader to pass over
    // mutation: page-removes
    context.ask(app.valkey.remove(feed, &deleted)).await?;
    Ok(visible.iter().filter_map(|id| found.remove(id).and_then(PostWithAuthor::shown)).collect())
}

/// Computes a page from DynamoDB on purpose, without Valkey, to compare it with [`page`]. Fails with [`Error::TooManyRequests`] if the
/// viewer has pulled too much.
pub async fn pulled_page(
    app: &App,
    viewer: &Viewer,
    feed: FeedId,
    span: Span,
    limit: usize,
    now: Time,
) -> Result<FeedPage, Error> {
    let (valkey, checked) = (&app.valkey, ready(Ok::<_, Error>(())));
    all_within_limit(valkey, app.limits.of(LimitKind::Pull), viewer.user, 0, now, checked).await?;
    let reading = ReadContext::without_valkey(now);
    let page = page(app, viewer, feed, span, limit, &reading).await;
    let queries = reading.queries().max(PULL_QUERIES_MIN);
    if let Err(error) =
        valkey.charge(app.limits.of(LimitKind::Pull), viewer.user, queries, now).await
    {
        tracing::warn!(error = %Chain(&error), "the queries of a page were not counted");
    }
    page
}

/// Finds the author feed of a user. Fails with [`Error::NoSuchUser`] if there is no profile, or the user is hidden from
/// the viewer.
pub async fn author_feed(
    app: &App,
    viewer: &Viewer,
    user: &UserRef,
    reading: &ReadContext,
) -> Result<FeedId, Error> {
    let author = present::user(app, viewer, user, reading).await?;
    Ok(FeedId::author(author.id))
}
