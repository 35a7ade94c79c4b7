//! The shapes of answers.

use std::num::NonZero;

use fanfold_core::{Cursor, ListKind, PostId};
use serde::Serialize;
use time::OffsetDateTime;
use time::format_description::well_known::Iso8601;
use time::format_description::well_known::iso8601::{Config, EncodedConfig, TimePrecision};
use utoipa::ToSchema;

use crate::dynamo::posts::Post;
use crate::dynamo::receipts::Receipt;
use crate::dynamo::users::{Profile, UserStore};
use crate::error::StoreError;
use crate::feeds::{Page, Source, Span};
use crate::valkey::{Feed, FeedKind};

#[derive(Debug, Serialize, ToSchema)]
pub struct AuthorView {
    #[schema(pattern = "^[0-9a-f]{16}$")]
    pub id: String,
    #[schema(pattern = "^[a-z0-9_]{1,30}$")]
    pub handle: String,
    pub name: String,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct PostView {
    /// Sorts by time of publication.
    #[schema(pattern = "^[0-7][0-9A-HJKMNP-TV-Z]{25}$")]
    pub id: String,
    pub author: AuthorView,
    pub text: String,
    /// Time of publication, to the millisecond, in UTC.
    #[schema(format = DateTime)]
    pub created_at: String,
}

/// How far the fan-out of a post got.
#[derive(Debug, Serialize, ToSchema)]
pub struct DeliveryView {
    #[schema(pattern = "^[0-7][0-9A-HJKMNP-TV-Z]{25}$")]
    pub post: String,
    pub state: DeliveryState,
    /// The part that is done, from 0 to 1.
    #[schema(minimum = 0, maximum = 1)]
    pub progress: f64,
    /// Followers that the author had when it began; null before that.
    #[schema(required)]
    pub followers: Option<u64>,
    /// Messages that were delivered; 0 for a small audience, which needs none.
    pub chunks: u64,
    /// Feeds that the post was pushed to.
    pub delivered: u64,
    /// Followers who have not read for long: they find the post when they come.
    pub not_live: u64,
    /// Followers who had unfollowed by then.
    pub unfollowed: u64,
    /// Followers who were asked for anew, because the push came late.
    pub late: u64,
    /// When all followers had it; null before that.
    #[schema(required, format = DateTime)]
    pub completed_at: Option<String>,
    /// From publication until then, in milliseconds.
    #[schema(required)]
    pub lag_ms: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryState {
    /// It has not begun.
    Pending,
    UnderWay,
    Complete,
    /// The author has so many followers that they find the post in the author feed.
    Pulled,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct UserView {
    #[schema(pattern = "^[0-9a-f]{16}$")]
    pub id: String,
    #[schema(pattern = "^[a-z0-9_]{1,30}$")]
    pub handle: String,
    pub name: String,
    pub posts: u64,
    pub followers: u64,
    pub following: u64,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct UserList {
    pub items: Vec<UserView>,
    /// Where the next page begins; null at the end.
    #[schema(required)]
    pub next_cursor: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct FeedView {
    /// Newest first.
    pub items: Vec<PostView>,
    /// Where the next page begins; null at the end.
    #[schema(required)]
    pub next_cursor: Option<String>,
    /// For `newer_than`, to ask later for what came since.
    pub newest_cursor: String,
    pub source: Source,
}

impl DeliveryView {
    pub fn new(post: PostId, receipt: &Receipt) -> Self {
        let Receipt { followers, chunks, reached, progress, completed_at_ms, pulled } = *receipt;
        let state = match (pulled, followers, completed_at_ms) {
            (true, _, _) => DeliveryState::Pulled,
            (_, _, Some(_)) => DeliveryState::Complete,
            (_, Some(_), _) => DeliveryState::UnderWay,
            (_, None, _) => DeliveryState::Pending,
        };
        Self {
            post: post.to_string(),
            state,
            progress,
            followers,
            chunks,
            delivered: reached.delivered,
            not_live: reached.not_live,
            unfollowed: reached.unfollowed,
            late: reached.late,
            completed_at: completed_at_ms.map(rfc3339),
            lag_ms: completed_at_ms.map(|at| at.saturating_sub(post.time_ms())),
        }
    }
}

impl From<&Profile> for AuthorView {
    fn from(profile: &Profile) -> Self {
        Self {
            id: profile.id.to_string(),
            handle: profile.handle.clone(),
            name: profile.name.clone(),
        }
    }
}

impl From<Profile> for UserView {
    fn from(profile: Profile) -> Self {
        Self {
            id: profile.id.to_string(),
            handle: profile.handle,
            name: profile.name,
            posts: profile.posts,
            followers: profile.followers,
            following: profile.following,
        }
    }
}

impl PostView {
    pub fn new(post: Post, author: &Profile) -> Self {
        Self {
            id: post.id.to_string(),
            author: author.into(),
            text: post.text,
            created_at: rfc3339(post.id.time_ms()),
        }
    }
}

impl FeedView {
    /// Adds the authors and the cursors to a page.
    pub async fn of(
        users: &UserStore,
        feed: Feed,
        span: Span,
        page: Page,
    ) -> Result<Self, StoreError> {
        let authors: Vec<_> = page.posts.iter().map(|post| post.id.author()).collect();
        let authors = users.profiles(&authors).await?;
        let kind = match feed.kind {
            FeedKind::Home => ListKind::Home,
            FeedKind::Author => ListKind::Author,
        };
        let cursor = |before, after| Cursor::Feed { before, after }.encode(kind, feed.user);
        let newest = page.posts.first().map_or(span.after, |post| post.id);
        let next_cursor = page.next_before.map(|before| cursor(before, span.after));
        let mut items = Vec::new();
        for post in page.posts {
            // a post is only ever stored together with a change of its author's profile
            if let Some(author) = authors.get(&post.id.author()) {
                items.push(PostView::new(post, author));
            }
        }
        let newest_cursor = cursor(newest, PostId::MIN);
        Ok(Self { items, next_cursor, newest_cursor, source: page.source })
    }
}

const PRECISION: EncodedConfig = Config::DEFAULT
    .set_year_is_six_digits(false)
    .set_time_precision(TimePrecision::Second { decimal_digits: NonZero::new(3) })
    .encode();
const MILLISECONDS: Iso8601<PRECISION> = Iso8601;

/// RFC 3339, always with three decimal digits.
fn rfc3339(ms: u64) -> String {
    let nanos = i128::from(ms) * 1_000_000;
    let time = OffsetDateTime::from_unix_timestamp_nanos(nanos);
    time.unwrap_or(OffsetDateTime::UNIX_EPOCH).format(&MILLISECONDS).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #[test]
    fn times_are_utc_to_the_millisecond() {
        assert_eq!(super::rfc3339(1_763_723_423_042), "2025-11-21T11:10:23.042Z");
        assert_eq!(super::rfc3339(0), "1970-01-01T00:00:00.000Z");
    }
}
