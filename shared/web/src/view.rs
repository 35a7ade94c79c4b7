//! The shapes of answers. The comments on fields are part of the API description.

use fanfold_app::posts::Receipt;
use fanfold_app::present::{Page, ShownPost, Span, UserPage};
use fanfold_core::time::millis;
use fanfold_core::{Cursor, FeedId, ListId, PostId, Time};
use fanfold_store::cards::{SeenUser, UserCard};
use fanfold_store::feeds::Source;
use serde::Serialize;
use time::{Duration, OffsetDateTime};
use utoipa::ToSchema;

/// The author of a post.
#[derive(Debug, Serialize, ToSchema)]
pub struct AuthorView {
    #[schema(pattern = "^[0-9a-f]{16}$")]
    pub id: String,
    #[schema(pattern = "^[a-z0-9_]{1,30}$")]
    pub handle: String,
    pub name: String,
}

/// A post with its author.
#[derive(Debug, Serialize, ToSchema)]
pub struct PostView {
    /// The id of the post. Ids sort by the time of publication.
    #[schema(pattern = "^[0-7][0-9A-HJKMNP-TV-Z]{25}$")]
    pub id: String,
    pub author: AuthorView,
    pub text: String,
    /// The time of publication in UTC, with milliseconds.
    #[schema(format = DateTime)]
    pub created_at: String,
}

/// The delivery status of a post.
#[derive(Debug, Serialize, ToSchema)]
pub struct DeliveryView {
    #[schema(pattern = "^[0-7][0-9A-HJKMNP-TV-Z]{25}$")]
    pub post: String,
    pub state: DeliveryState,
    /// The completed part of the fan-out, from 0 to 1.
    #[schema(minimum = 0, maximum = 1)]
    pub progress: f64,
    /// The number of the author's followers when the fan-out began. Null before that.
    #[schema(required)]
    pub followers: Option<u64>,
    /// The number of messages that were delivered. 0 for a small audience, which needs none.
    pub chunks: u64,
    /// The number of feeds that the post was pushed to.
    pub delivered: u64,
    /// The number of followers who have not read lately. They find the post when they read again.
    pub not_live: u64,
    /// The number of followers who unfollowed before the delivery.
    pub unfollowed: u64,
    /// The number of followers whose relation was read again, because the push was late.
    pub late: u64,
    /// The time at which all followers had the post. Null before that.
    #[schema(required, format = DateTime)]
    pub completed_at: Option<String>,
    /// Milliseconds from the publication to `completed_at`. Null before that.
    #[schema(required)]
    pub lag_ms: Option<u64>,
}

/// The state of a fan-out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryState {
    /// The fan-out has not begun.
    Pending,
    /// The fan-out has begun.
    UnderWay,
    /// All followers have the post.
    Complete,
    /// The author has very many followers: their feeds read the post from the author feed.
    Pulled,
}

/// A profile.
#[derive(Debug, Serialize, ToSchema)]
pub struct UserView {
    #[schema(pattern = "^[0-9a-f]{16}$")]
    pub id: String,
    #[schema(pattern = "^[a-z0-9_]{1,30}$")]
    pub handle: String,
    pub name: String,
    /// The number of posts.
    pub posts: u64,
    /// The number of followers. It changes within a few seconds of a follow or unfollow.
    pub followers: u64,
    /// The number of users that this user follows.
    pub following: u64,
    /// Whether the caller follows this user.
    pub you_follow: bool,
}

/// A page of a list of users.
#[derive(Debug, Serialize, ToSchema)]
pub struct UserList {
    pub items: Vec<UserView>,
    /// The cursor of the next page. Null at the end of the list.
    #[schema(required)]
    pub next_cursor: Option<String>,
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

impl DeliveryView {
    /// The delivery status that a receipt gives.
    pub fn new(post: PostId, receipt: &Receipt) -> Self {
        let Receipt { followers, chunks, reached, progress, completed_at, pulled } = *receipt;
        let state = match (pulled, followers, completed_at) {
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
            completed_at: completed_at.map(rfc3339),
            lag_ms: completed_at.map(|at| millis(at.since(post.time()))),
        }
    }
}

impl From<&UserCard> for AuthorView {
    fn from(profile: &UserCard) -> Self {
        Self {
            id: profile.id.to_string(),
            handle: profile.handle.to_string(),
            name: profile.name.clone(),
        }
    }
}

impl From<SeenUser> for UserView {
    fn from(SeenUser { card: profile, is_followed }: SeenUser) -> Self {
        Self {
            id: profile.id.to_string(),
            handle: profile.handle.to_string(),
            name: profile.name,
            posts: profile.posts,
            followers: profile.followers,
            following: profile.following,
            you_follow: is_followed,
        }
    }
}

impl From<ShownPost> for PostView {
    fn from(ShownPost { post, author }: ShownPost) -> Self {
        Self {
            id: post.id.to_string(),
            author: AuthorView::from(&author),
            text: post.text,
            created_at: rfc3339(post.id.time()),
        }
    }
}

impl FeedView {
    /// A page of a feed, with its cursors.
    pub fn new(feed: FeedId, span: Span, page: Page) -> Self {
        let list = ListId::Feed(feed);
        let cursor = |before, after| Cursor::Feed { before, after }.encode(list);
        let newest = page.posts.first().map_or(span.after, |shown| shown.post.id);
        let next_cursor = page.next_before.map(|before| cursor(before, span.after));
        let newest_cursor = cursor(newest, PostId::MIN);
        let items = page.posts.into_iter().map(PostView::from).collect();
        Self { items, next_cursor, newest_cursor, source: page.source.into() }
    }
}

impl UserList {
    /// A page of a list of users, with its cursor.
    pub fn new(list: ListId, page: UserPage) -> Self {
        let cursor = |(partition, user)| Cursor::User { partition, user }.encode(list);
        let next_cursor = page.next_after.map(cursor);
        Self { items: page.users.into_iter().map(UserView::from).collect(), next_cursor }
    }
}

/// A time as RFC 3339, with three decimal digits. Ids can have times after the year 9999, which RFC 3339 cannot
/// express; they become the last millisecond of that year.
fn rfc3339(time: Time) -> String {
    let since_1970 = Duration::milliseconds(i64::try_from(time.ms()).unwrap_or(i64::MAX));
    let time = OffsetDateTime::UNIX_EPOCH.saturating_add(since_1970);
    let (year, month, day) = (time.year(), u8::from(time.month()), time.day());
    let (hour, minute, second, ms) = time.time().as_hms_milli();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}

#[cfg(test)]
mod tests {
    use fanfold_core::Time;

    #[test]
    fn times_are_utc_to_the_millisecond() {
        assert_eq!(super::rfc3339(Time::from_ms(1_763_723_423_042)), "2025-11-21T11:10:23.042Z");
        assert_eq!(super::rfc3339(Time::EPOCH), "1970-01-01T00:00:00.000Z");
        assert_eq!(super::rfc3339(Time::from_ms(951_827_696_789)), "2000-02-29T12:34:56.789Z");
    }

    #[test]
    fn every_time_has_a_text() {
        for ms in [253_402_300_799_999, 253_402_300_800_000, (1 << 48) - 1, u64::MAX] {
            assert_eq!(super::rfc3339(Time::from_ms(ms)), "9999-12-31T23:59:59.999Z");
        }
    }
}
