//! The query and the page of a feed.

use fanfold_core::{List, PostId};
use fanfold_engines::feed::Source;
use fanfold_kinds::home::{FeedPage, Span};
use fanfold_web::extract::limit;
use fanfold_web::{Problem, ProblemKind};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::views::posts::PostView;

/// A list whose pages have the posts older than the first id of a place and newer than the second.
pub trait FeedList: List<Place = (PostId, PostId)> {}

impl<L: List<Place = (PostId, PostId)>> FeedList for L {}

/// The query parameters of a feed.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct FeedQuery {
    /// The maximum number of items on a page.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 100, default = 20)]
    limit: Option<String>,
    /// The `next_cursor` of the previous page: returns the posts that follow it. A cursor is opaque: one that was not
    /// issued for this feed is answered with 404.
    #[param(pattern = "^[A-Za-z0-9_-]{62}$", min_length = 62, max_length = 62)]
    pub cursor: Option<String>,
    /// The `newest_cursor` of an earlier page: returns the posts that are newer. Together with `cursor`, returns the
    /// posts between both.
    #[param(pattern = "^[A-Za-z0-9_-]{62}$", min_length = 62, max_length = 62)]
    pub newer_than: Option<String>,
    /// `pull` computes the page from DynamoDB and author feeds on purpose, as if the feed were not cached, to compare it with a
    /// page from the cache. The number of such pages is limited for each user.
    #[param(value_type = Option<String>, pattern = "^pull$", min_length = 4, max_length = 4)]
    source: Option<String>,
}

impl FeedQuery {
    /// A query for `limit` items, from `cursor` on.
    pub fn page(limit: usize, cursor: Option<String>) -> Self {
        Self { limit: Some(limit.to_string()), cursor, ..Self::default() }
    }

    /// The number of items on a page. Refuses a number outside 1 to [`PAGE_ITEMS_MAX`] (400).
    pub fn limit(&self) -> Result<usize, Problem> {
        limit(self.limit.as_deref())
    }

    /// Whether the page is to be pulled. Refuses another source (400).
    pub fn is_pull(&self) -> Result<bool, Problem> {
        match self.source.as_deref() {
            None => Ok(false),
            Some("pull") => Ok(true),
            Some(_) => Err(Problem::new(ProblemKind::InvalidParameter, "source must be pull")),
        }
    }

    /// The part of the feed that the page is cut from. Refuses a cursor of another feed (404) or of another form (400).
    pub fn span(&self, feed: &impl FeedList) -> Result<Span, Problem> {
        let place = |text: &str| feed.place(text).map(|(before, after)| Span { before, after });
        let mut span = self.cursor.as_deref().map(place).transpose()?.unwrap_or(Span::ALL);
        if let Some(newest) = self.newer_than.as_deref().map(place).transpose()? {
            span.after = span.after.max(newest.before);
        }
        Ok(span)
    }
}

/// A page of a feed.
#[derive(Debug, Serialize, ToSchema)]
pub struct FeedView {
    /// The posts, newest first.
    pub items: Vec<PostView>,
    /// The cursor of the next page. Null at the end of the list.
    #[schema(required)]
    pub next_cursor: Option<String>,
    /// The cursor for `newer_than`: returns later posts.
    pub newest_cursor: String,
    pub source: SourceView,
}

/// The source of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Source)]
#[serde(rename_all = "snake_case")]
pub enum SourceView {
    /// The page comes from a live feed.
    Cache,
    /// The feed was rebuilt for this request.
    Rebuild,
    /// The page was merged from author feeds: it is below the cached part, or the feed is being rebuilt, or the cache
    /// does not answer.
    Pull,
}

impl From<Source> for SourceView {
    fn from(source: Source) -> Self {
        match source {
            Source::Cache => Self::Cache,
            Source::Rebuild => Self::Rebuild,
            Source::Pull => Self::Pull,
        }
    }
}

impl FeedView {
    /// A page of a feed, with its cursors.
    pub fn new(feed: &impl FeedList, span: Span, page: FeedPage) -> Self {
        let cursor = |before, after| feed.cursor(&(before, after));
        let newest = page.posts.first().map_or(span.after, |shown| shown.post.id);
        let next_cursor = page.next_before.map(|before| cursor(before, span.after));
        let newest_cursor = cursor(newest, PostId::MIN);
        let items = page.posts.into_iter().map(PostView::from).collect();
        Self { items, next_cursor, newest_cursor, source: page.source.into() }
    }
}
