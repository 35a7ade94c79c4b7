//! The shapes of answers. The comments on fields are part of the API description.

use fanfold_core::time::millis;
use fanfold_core::{Cursor, FeedId, ListId, PostId, Time, UserId};
use fanfold_engines::feed::Source;
use fanfold_kinds::home::{Page, Span};
use fanfold_kinds::likes::LikedPage;
use fanfold_kinds::people::cards::UserCard;
use fanfold_kinds::posts::Receipt;
use fanfold_kinds::present::{SeenUser, ShownPost, UserPage};
use fanfold_kinds::scheduled::ScheduledPage;
use fanfold_kinds::scheduled::items::{Scheduled, ScheduledState};
use fanfold_kinds::timers::TimerPage;
use fanfold_kinds::timers::items::Timer;
use serde::Serialize;
use serde_json::Value;
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
    /// The number of likes. It changes within a few seconds of a like.
    pub like_count: u64,
    /// Whether the caller likes the post.
    pub liked: bool,
}

/// A page of liked posts.
#[derive(Debug, Serialize, ToSchema)]
pub struct LikedList {
    /// The posts, newest like first.
    pub items: Vec<PostView>,
    /// The cursor of the next page. Null at the end of the list.
    #[schema(required)]
    pub next_cursor: Option<String>,
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

/// A scheduled post.
#[derive(Debug, Serialize, ToSchema)]
pub struct ScheduledView {
    #[schema(pattern = "^[0-7][0-9A-HJKMNP-TV-Z]{25}$")]
    pub id: String,
    pub state: ScheduledStateView,
    /// The text. Empty after the publication: read the post.
    pub text: String,
    /// The time of publication in UTC, with milliseconds.
    #[schema(format = DateTime)]
    pub publish_at: String,
    /// The id of the post. Null before the publication.
    #[schema(required, pattern = "^[0-7][0-9A-HJKMNP-TV-Z]{25}$")]
    pub post: Option<String>,
}

/// The state of a scheduled post.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = ScheduledState)]
#[serde(rename_all = "snake_case")]
pub enum ScheduledStateView {
    /// The post waits for its time.
    Waiting,
    /// The post was published.
    Published,
}

/// A page of scheduled posts.
#[derive(Debug, Serialize, ToSchema)]
pub struct ScheduledList {
    /// The scheduled posts, soonest first.
    pub items: Vec<ScheduledView>,
    /// The cursor of the next page. Null at the end of the list.
    #[schema(required)]
    pub next_cursor: Option<String>,
}

/// A timer.
#[derive(Debug, Serialize, ToSchema)]
pub struct TimerView {
    #[schema(pattern = "^(?!\\.{1,2}$)[A-Za-z0-9._-]{1,128}$")]
    pub name: String,
    /// The time from which the timer is due, in UTC, with milliseconds.
    #[schema(format = DateTime)]
    pub due_at: String,
    /// The time between two occurrences, as an ISO 8601 duration. Null: there is one.
    #[schema(required, pattern = "^P[0-9DTHMS]{2,20}$")]
    pub every: Option<String>,
    /// The payload of the message that is sent when the timer is due.
    #[schema(value_type = Value)]
    pub payload: Value,
}

/// A page of timers.
#[derive(Debug, Serialize, ToSchema)]
pub struct TimerList {
    /// The timers, by name.
    pub items: Vec<TimerView>,
    /// The cursor of the next page. Null at the end of the list.
    #[schema(required)]
    pub next_cursor: Option<String>,
}

impl From<Scheduled> for ScheduledView {
    fn from(item: Scheduled) -> Self {
        let (state, post) = match item.state {
            ScheduledState::Published => {
                (ScheduledStateView::Published, Some(item.post.to_string()))
            }
            ScheduledState::Waiting | ScheduledState::Cancelled => {
                (ScheduledStateView::Waiting, None)
            }
        };
        let publish_at = item.publish_at.rfc3339();
        Self { id: item.id.to_string(), state, text: item.text, publish_at, post }
    }
}

impl ScheduledList {
    /// A page of a user's scheduled posts, with its cursor.
    pub fn new(owner: UserId, page: ScheduledPage) -> Self {
        let list = ListId::Scheduled(owner);
        let next_cursor = page.next_after.map(|(at, id)| Cursor::Scheduled { at, id }.encode(list));
        Self { items: page.items.into_iter().map(ScheduledView::from).collect(), next_cursor }
    }
}

impl From<Timer> for TimerView {
    fn from(timer: Timer) -> Self {
        Self {
            name: timer.name.to_string(),
            due_at: timer.due_at.rfc3339(),
            every: timer.every.map(|every| every.to_string()),
            payload: serde_json::from_str(&timer.payload).unwrap_or_default(),
        }
    }
}

impl TimerList {
    /// A page of a user's timers, with its cursor.
    pub fn new(owner: UserId, page: TimerPage) -> Self {
        let list = ListId::Timers(owner);
        let next_cursor = page.next_after.map(|name| Cursor::Timer { name }.encode(list));
        Self { items: page.timers.into_iter().map(TimerView::from).collect(), next_cursor }
    }
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
            completed_at: completed_at.map(Time::rfc3339),
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
    fn from(ShownPost { post, author, liked }: ShownPost) -> Self {
        Self {
            id: post.id.to_string(),
            author: AuthorView::from(&author),
            text: post.text,
            created_at: post.id.time().rfc3339(),
            like_count: post.likes,
            liked,
        }
    }
}

impl LikedList {
    /// A page of the posts that a user likes, with its cursor.
    pub fn new(owner: UserId, page: LikedPage) -> Self {
        let list = ListId::Likes(owner);
        let next_cursor = page.next_after.map(|(at, post)| Cursor::Liked { at, post }.encode(list));
        Self { items: page.posts.into_iter().map(PostView::from).collect(), next_cursor }
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
    pub fn new<P: Into<Cursor>>(list: ListId, page: UserPage<P>) -> Self {
        let next_cursor = page.next_after.map(|place| place.into().encode(list));
        Self { items: page.users.into_iter().map(UserView::from).collect(), next_cursor }
    }
}
