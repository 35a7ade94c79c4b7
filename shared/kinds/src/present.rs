//! The one place that turns ids into what a viewer sees: it reads the cards of posts and users, leaves out what is
//! hidden from the viewer, and fills pages up.
//!
//! Only a deletion removes an entry from a feed. What is hidden from one viewer stays for the others.

use fanfold_core::Partition;
use std::collections::{HashMap, HashSet};

use crate::cards::{PostCards, PostWithAuthor, RelationCards, SeenUser, UserCard, UserCards};
use crate::feeds::{Feeds, ReadContext, SliceError, Source};
use crate::posts::items::{Post, PostState};
use fanfold_core::limits::{LIST_QUERY_MIN, PAGE_ROUNDS_MAX};
use fanfold_core::{FeedId, PostId, UserId, UserRef};
use fanfold_runtime::{StoreError, metrics};

use crate::Error;
use crate::limit::refused;

/// The user who reads, and what is hidden from that user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Viewer {
    pub user: UserId,
    /// Authors whose posts and profiles are hidden from this viewer.
    pub hidden: HashSet<UserId>,
}

impl Viewer {
    /// A viewer from whom nothing is hidden.
    pub fn of(user: UserId) -> Self {
        Self { user, hidden: HashSet::new() }
    }

    /// Whether this viewer may see a user, with the posts of that user.
    pub(crate) fn sees(&self, user: UserId) -> bool {
        !self.hidden.contains(&user)
    }
}

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

/// A post with its author.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownPost {
    pub post: Post,
    pub author: UserCard,
    /// Whether the viewer likes the post.
    pub liked: bool,
}

/// A page of posts, newest first: as many as were requested, or all that are left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    pub posts: Vec<ShownPost>,
    /// The next page holds posts older than this. None: no posts are left.
    pub next_before: Option<PostId>,
    /// The source of the first entries.
    pub source: Source,
}

impl Page {
    /// The ids of the posts, in the order of the page.
    pub fn ids(&self) -> impl Iterator<Item = PostId> {
        self.posts.iter().map(|shown| shown.post.id)
    }
}

/// Reads what every viewer sees of a user. Fails with [`Error::NoSuchUser`] if there is no profile, or the user is hidden
/// from the viewer.
pub async fn user(
    cards: &UserCards,
    viewer: &Viewer,
    user: &UserRef,
    reading: &ReadContext,
) -> Result<UserCard, Error> {
    let found = cards.find(user, reading).await?;
    let found = found.filter(|found| viewer.sees(found.id));
    found.ok_or_else(|| Error::NoSuchUser(user.clone()))
}

/// Reads a user with the viewer's relation. Fails like [`user`].
pub async fn profile(
    cards: &RelationCards,
    viewer: &Viewer,
    user: &UserRef,
    reading: &ReadContext,
) -> Result<SeenUser, Error> {
    let found = cards.find(viewer.user, user, reading).await?;
    let found = found.filter(|found| viewer.sees(found.card.id));
    found.ok_or_else(|| Error::NoSuchUser(user.clone()))
}

/// Reads one post with its author. Returns `None` if the post or the author's profile does not exist, or the author is
/// hidden from the viewer.
pub async fn post(
    cards: &PostCards,
    viewer: &Viewer,
    id: PostId,
    reading: &ReadContext,
) -> Result<Option<ShownPost>, StoreError> {
    Ok(posts(cards, viewer, &[id], reading).await?.remove(&id))
}

/// Whether the viewer sees a post: it and the author's profile exist, and the author is not hidden.
pub async fn sees(
    cards: &PostCards,
    viewer: &Viewer,
    id: PostId,
    reading: &ReadContext,
) -> Result<bool, StoreError> {
    if !viewer.sees(id.author()) {
        return Ok(false);
    }
    let mut found = cards.posts(None, &[id], reading).await?;
    Ok(found.remove(&id).and_then(shown_post).is_some())
}

/// Reads posts with their authors. Leaves out those that do not exist, whose author has no profile, or whose author is
/// hidden from the viewer.
pub async fn posts(
    cards: &PostCards,
    viewer: &Viewer,
    ids: &[PostId],
    reading: &ReadContext,
) -> Result<HashMap<PostId, ShownPost>, StoreError> {
    let visible: Vec<PostId> = ids.iter().copied().filter(|id| viewer.sees(id.author())).collect();
    if visible.is_empty() {
        return Ok(HashMap::new());
    }
    let found = cards.posts(Some(viewer.user), &visible, reading).await?;
    Ok(found.into_iter().filter_map(|(id, found)| Some((id, shown_post(found)?))).collect())
}

/// The post, if it is published and its author has a profile.
fn shown_post(found: PostWithAuthor) -> Option<ShownPost> {
    match found {
        PostWithAuthor { state: PostState::Published(post), author: Some(author), liked } => {
            Some(ShownPost { post, author, liked })
        }
        _ => None,
    }
}

/// Reads a page of a feed: up to `limit` posts of `span`. A page with fewer posts is the last one, unless
/// [`PAGE_ROUNDS_MAX`] rounds were not enough to fill it; it then has a `next_before`.
///
/// Entries whose post was deleted are passed over, replaced from below and removed from the feed. Posts of authors
/// without a profile, and what is hidden from the viewer, are passed over and replaced, and stay in the feed.
pub async fn feed_page(
    feeds: &Feeds,
    cards: &PostCards,
    viewer: &Viewer,
    feed: FeedId,
    span: Span,
    limit: usize,
    reading: &ReadContext,
) -> Result<Page, Error> {
    let (mut found, mut source, mut before) = (Vec::new(), None, span.before);
    let mut end = false;
    // mutation: page-full
    for _ in 0..PAGE_ROUNDS_MAX {
        // one more than asked for shows whether there is a next page
        let wanted = limit + 1 - found.len();
        let slice = feeds.slice(feed, before, wanted, reading).await;
        let (mut slice, from) = slice.map_err(|error| match error {
            SliceError::Store(error) => error.into(),
            SliceError::Limited { limit, wait } => refused(limit, viewer.user, wait),
        })?;
        source.get_or_insert(from);
        slice.posts.retain(|post| *post > span.after);
        found.extend(shown(feeds, cards, viewer, feed, &slice.posts, reading).await?);
        end = slice.bound <= span.after;
        if end || found.len() > limit {
            break;
        }
        before = slice.bound.next();
    }
    let source = source.unwrap_or(Source::Pull);
    metrics::page(source == Source::Cache);
    tracing::debug!(%feed, ?source, posts = found.len(), "read a page");
    let more = found.len() > limit;
    found.truncate(limit);
    let next_before = match found.last() {
        Some(last) if more => Some(last.post.id),
        _ if end => None,
        _ => Some(before),
    };
    Ok(Page { posts: found, next_before, source })
}

/// Reads the posts and authors of `ids`, without those that are deleted or hidden. Removes deleted posts from the feed.
async fn shown(
    feeds: &Feeds,
    cards: &PostCards,
    viewer: &Viewer,
    feed: FeedId,
    ids: &[PostId],
    context: &ReadContext,
) -> Result<Vec<ShownPost>, StoreError> {
    let visible: Vec<PostId> = ids.iter().copied().filter(|id| viewer.sees(id.author())).collect();
    if visible.is_empty() {
        return Ok(Vec::new());
    }
    let mut found = cards.posts(Some(viewer.user), &visible, context).await?;
    let is_published = |found: &PostWithAuthor| matches!(found.state, PostState::Published(_));
    let deleted = visible.iter().copied().filter(|id| !found.get(id).is_some_and(is_published));
    let deleted: Vec<PostId> = deleted.collect();
    // if Valkey does not answer, the entries stay for the next reader to pass over
    // mutation: page-removes
    context.ask(feeds.valkey.remove(feed, &deleted)).await?;
    Ok(visible.iter().filter_map(|id| found.remove(id).and_then(shown_post)).collect())
}

/// A place in a list of users: after this user, in this partition of followers.
pub type UserPlace = (Partition, UserId);

/// A page of users. `P` is a place in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserPage<P> {
    pub users: Vec<SeenUser>,
    /// The next page begins after this place. None: no users are left.
    pub next_after: Option<P>,
}

/// A page of users that is being filled. Users without a profile and users hidden from the viewer are passed over.
pub(crate) struct UserPageBuilder<'a, P> {
    cards: &'a RelationCards,
    viewer: &'a Viewer,
    limit: usize,
    reading: &'a ReadContext,
    /// Each with the place at which the user was found.
    found: Vec<(P, SeenUser)>,
}

impl<'a, P: Copy> UserPageBuilder<'a, P> {
    pub fn new(
        cards: &'a RelationCards,
        viewer: &'a Viewer,
        limit: usize,
        reading: &'a ReadContext,
    ) -> Self {
        Self { cards, viewer, limit, reading, found: Vec::new() }
    }

    /// Whether more users were found than the page has. The extra user shows that there is a next page.
    pub fn is_full(&self) -> bool {
        self.found.len() > self.limit
    }

    /// The number of rows to read. It can be greater than the number of missing users, because some users may have no
    /// profile, and some relations may have ended.
    pub fn wanted(&self) -> i32 {
        (self.limit + 1).saturating_sub(self.found.len()).max(LIST_QUERY_MIN) as i32
    }

    /// Adds users, each with the place at which the user was found.
    pub async fn add(&mut self, users: &[(P, UserId)]) -> Result<(), StoreError> {
        let visible: Vec<(P, UserId)> =
            users.iter().copied().filter(|(_, user)| self.viewer.sees(*user)).collect();
        let ids: Vec<UserId> = visible.iter().map(|(_, user)| *user).collect();
        let mut cards = self.cards.users(self.viewer.user, &ids, self.reading).await?;
        let known = visible.iter().filter_map(|(place, user)| Some((*place, cards.remove(user)?)));
        self.found.extend(known);
        Ok(())
    }

    /// Ends the page. `place` is where the search stopped, if it neither reached the end of the list nor filled the
    /// page.
    pub fn end(mut self, place: Option<P>) -> UserPage<P> {
        let more = self.is_full();
        self.found.truncate(self.limit);
        let last = self.found.last().map(|(place, _)| *place).filter(|_| more);
        let next_after = last.or(place.filter(|_| !more));
        UserPage { users: self.found.into_iter().map(|(_, seen)| seen).collect(), next_after }
    }
}
