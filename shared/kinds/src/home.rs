//! Timelines: pages of feeds.
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
//! **First pages of feeds that everybody reads.** An environment of a function keeps the first page of a tag feed or of the public
//! feed for a second, with its cards and some more posts in place of those that are gone or hidden. A page after it can therefore be
//! a second newer, and the first page of another environment a second older.
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

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use fanfold_core::feed::OwnedBy;
use fanfold_core::kinds::LimitKind;
use fanfold_core::limits::{COMMIT_GRACE, PAGE_ITEMS_DEFAULT, PAGE_ROUNDS_MAX, PULL_QUERIES_MIN};
use fanfold_core::{FeedId, FeedKind, PostId, Slice, TagHash, Time, UserRef};
use fanfold_engines::feed::{SliceError, Source};
use fanfold_engines::list::Filling;
use fanfold_engines::reading::ReadContext;
use fanfold_runtime::log::Chain;
use fanfold_runtime::{StoreError, metrics};
use futures::future::ready;

use crate::feeds::newest;
use crate::limit::{all_within_limit, refused};
use crate::posts::items::{Post, PostState};
use crate::present::{self, Cards, PostWithAuthor, ShownPost, Viewer, all_posts};
use crate::tags::cases::followed_slice;
use crate::tags::names::NamedTag;
use crate::tags::tagging::hashes;
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

/// Where the posts of a page come from.
#[derive(Debug, Clone, Copy)]
pub enum Of<'a> {
    Feed(FeedId),
    /// The feeds of these tags, merged.
    Tags(&'a [NamedTag]),
}

impl From<FeedId> for Of<'_> {
    fn from(feed: FeedId) -> Self {
        Self::Feed(feed)
    }
}

impl Of<'_> {
    async fn slice(
        self,
        app: &App,
        before: PostId,
        count: usize,
        reading: &ReadContext,
    ) -> Result<(Slice, Source), SliceError> {
        match self {
            Self::Feed(feed) => app.feeds().slice(feed, before, count, reading).await,
            Self::Tags(tags) => followed_slice(app, tags, before, count, reading).await,
        }
    }

    /// Whether a post is still there. An edit may have taken a tag out of its text.
    fn has(self, post: &Post) -> bool {
        match self {
            // mutation: shown-with-tag
            Self::Feed(feed) => feed.tag_of().is_none_or(|tag| has_tag(post, tag)),
            Self::Tags(tags) => tags.iter().any(|named| has_tag(post, named.tag.hash())),
        }
    }

    /// The posts that are newer belong to it.
    pub(crate) fn since(self, app: &App, now: Time) -> PostId {
        match self {
            // mutation: public-since
            Self::Feed(feed) if feed.kind == FeedKind::Public => app.settings.public.since(now),
            Self::Feed(_) | Self::Tags(_) => PostId::MIN,
        }
    }
}

/// Whether a post has a tag. No reply is in the public feed.
fn has_tag(post: &Post, tag: TagHash) -> bool {
    match tag {
        TagHash::PUBLIC => post.thread.is_empty(),
        tag => hashes(&post.entities).any(|found| found == tag),
    }
}

/// The first posts of a feed that everybody reads, with their cards. An environment of a function keeps them for a second, so that
/// very many readers do not all ask one shard of Valkey. What depends on the viewer is not here.
struct FirstPage {
    slice: Slice,
    /// The number of posts that were asked for.
    count: usize,
    cards: Cards,
}

/// Posts of a first page beyond those that were asked for, in place of those that are gone or hidden, if the page was also read
/// within [`SURPLUS_WITHIN`]: one reader pays for them, and many need them.
const SURPLUS: usize = 20;
const SURPLUS_WITHIN: Duration = Duration::from_secs(10);

impl FirstPage {
    /// Whether everybody reads the same feed, so that its first page is kept.
    fn is_of(of: Of<'_>) -> bool {
        // mutation: first-page-kept
        matches!(of, Of::Feed(feed) if feed.kind.owned_by() == OwnedBy::Everybody)
    }

    /// The kept page with so many posts.
    fn kept(app: &App, of: Of<'_>, count: usize, reading: &ReadContext) -> Option<Arc<Self>> {
        let Of::Feed(feed) = of else { return None };
        let page = app.first_pages.get(&feed, reading.now)?.downcast::<Self>().ok()?;
        (page.count >= count || page.slice.is_end()).then_some(page)
    }

    /// Whether a post may be shown.
    fn shows(&self, of: Of<'_>, post: PostId) -> bool {
        match self.cards.get(&post) {
            Some((PostState::Published(post), Some(_))) => of.has(post),
            _ => false,
        }
    }

    /// The posts to read beyond those that were asked for.
    fn surplus(app: &App, of: Of<'_>, reading: &ReadContext) -> usize {
        match of {
            Of::Feed(feed) if app.first_pages.contains(&feed, reading.now - SURPLUS_WITHIN) => {
                SURPLUS
            }
            Of::Feed(_) | Of::Tags(_) => 0,
        }
    }

    /// Keeps a page that begins at the newest post.
    fn keep(app: &App, of: Of<'_>, page: Self, reading: &ReadContext) {
        if let Of::Feed(feed) = of {
            app.first_pages.note(feed, Arc::new(page), reading.now);
        }
    }
}

/// Reads a page of a feed, as `viewer` sees it: up to `limit` posts of `span`, newest first. A page with fewer posts is the last one, unless
/// [`PAGE_ROUNDS_MAX`] rounds were not enough to fill it; it then has a `next_before`.
///
/// Entries whose post was deleted are passed over, replaced from below and removed from the feed. Posts of authors
/// without a profile, and what is hidden from the viewer, are passed over and replaced, and stay in the feed. Fails with
/// [`Error::TooManyRequests`] if it is below the floor of its feed, and the viewer has pulled too much.
pub async fn page<'a>(
    app: &App,
    viewer: &Viewer,
    of: impl Into<Of<'a>>,
    span: Span,
    limit: usize,
    reading: &ReadContext,
) -> Result<FeedPage, Error> {
    let of = of.into();
    let after = span.after.max(of.since(app, reading.now));
    let (mut filling, mut source, mut before) = (Filling::new(limit), None, span.before);
    let mut end = false;
    // mutation: page-full
    for _ in 0..PAGE_ROUNDS_MAX {
        let is_first = before == PostId::MAX && FirstPage::is_of(of) && reading.uses_valkey();
        let missing = filling.missing();
        let kept = is_first.then(|| FirstPage::kept(app, of, missing, reading)).flatten();
        let fills = is_first && kept.is_none();
        let asked = if is_first { missing.max(PAGE_ITEMS_DEFAULT + 1) } else { missing };
        let count = asked + if is_first { FirstPage::surplus(app, of, reading) } else { 0 };
        let read = match (&kept, of) {
            (Some(kept), _) => Ok((kept.slice.clone(), Source::Cache)),
            // mutation: first-page-whole
            (None, Of::Feed(feed)) if fills => newest(app, feed, asked, count, reading).await,
            (None, of) => of.slice(app, before, count, reading).await,
        };
        let (slice, from) = read.map_err(|error| not_read(viewer, error))?;
        source.get_or_insert(from);
        let is_seen = |post: &PostId| *post > after && viewer.sees(post.author());
        let seen = slice.posts.iter().copied().filter(is_seen);
        // the marks of posts that are not shown are not read
        let seen: Vec<PostId> = match &kept {
            Some(kept) => seen.filter(|post| kept.shows(of, *post)).take(missing).collect(),
            None => seen.collect(),
        };
        // what is kept is for every reader
        // mutation: first-page-for-all
        let wanted = if fills { &slice.posts } else { &seen };
        let known = kept.as_ref().map_or(&*NO_CARDS, |kept| &kept.cards);
        let found = found(app, viewer, of, wanted, known, reading).await?;
        if fills {
            let cards = found.iter().map(|(id, found)| (*id, found.cards())).collect();
            let slice = slice.clone();
            FirstPage::keep(app, of, FirstPage { slice, count: asked, cards }, reading);
        }
        filling.add(shown(of, &seen, found));
        end = slice.bound <= after;
        if end || filling.is_full() {
            break;
        }
        before = slice.bound.next();
    }
    let source = source.unwrap_or(Source::Pull);
    metrics::page(source == Source::Cache);
    let page = filling.end((!end).then_some(before));
    tracing::debug!(?of, ?source, posts = page.items.len(), "read a page");
    Ok(FeedPage { posts: page.items, next_before: page.next, source })
}

/// The error of a page whose posts could not be read.
fn not_read(viewer: &Viewer, error: SliceError) -> Error {
    match error {
        SliceError::Store(error) => error.into(),
        SliceError::Limited { limit, wait } => refused(limit, viewer.user, wait),
    }
}

static NO_CARDS: LazyLock<Cards> = LazyLock::new(Cards::new);

/// Reads posts with their authors. Removes deleted posts from the feed.
async fn found(
    app: &App,
    viewer: &Viewer,
    of: Of<'_>,
    ids: &[PostId],
    known: &Cards,
    context: &ReadContext,
) -> Result<HashMap<PostId, PostWithAuthor>, StoreError> {
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let found = all_posts(app, Some(viewer.user), ids, known, context).await?;
    let is_gone = |id: &PostId| match found.get(id).map(|found| &found.state) {
        Some(PostState::Published(_)) => false,
        Some(PostState::Deleted) => true,
        // its author's heads may be there a moment before the post
        Some(PostState::Missing) | None => id.time() + COMMIT_GRACE < context.now,
    };
    let deleted: Vec<PostId> = ids.iter().copied().filter(is_gone).collect();
    // what is kept was looked at before
    if let Of::Feed(feed) = of
        && known.is_empty()
    {
        // if Valkey does not answer, the entries stay for the next reader to pass over
        // mutation: page-removes
        context.ask(app.valkey.remove(feed, &deleted)).await?;
    }
    Ok(found)
}

/// What is shown of posts, in this order.
fn shown(
    of: Of<'_>,
    ids: &[PostId],
    mut found: HashMap<PostId, PostWithAuthor>,
) -> Vec<(PostId, ShownPost)> {
    let shown = ids.iter().filter_map(|id| found.remove(id)?.shown());
    shown.filter(|shown| of.has(&shown.post)).map(|shown| (shown.post.id, shown)).collect()
}

/// Computes a page from DynamoDB on purpose, without Valkey, to compare it with [`page`]. Fails with [`Error::TooManyRequests`] if the
/// viewer has pulled too much.
pub async fn pulled_page<'a>(
    app: &App,
    viewer: &Viewer,
    of: impl Into<Of<'a>>,
    span: Span,
    limit: usize,
    now: Time,
) -> Result<FeedPage, Error> {
    let (valkey, checked) = (&app.valkey, ready(Ok::<_, Error>(())));
    all_within_limit(valkey, app.limits.of(LimitKind::Pull), viewer.user, 0, now, checked).await?;
    let reading = ReadContext::without_valkey(now);
    let page = page(app, viewer, of, span, limit, &reading).await;
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
