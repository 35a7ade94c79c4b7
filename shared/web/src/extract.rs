//! Extractors for bodies, keys, query parameters and path segments. Their errors name what is wrong.

use std::fmt::Display;
use std::str::FromStr;

use axum::body::to_bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use fanfold_core::limits::{
    BODY_BYTES_MAX, IDEMPOTENCY_KEY_CHARS_MAX, PAGE_ITEMS_DEFAULT, PAGE_ITEMS_MAX,
};
use fanfold_core::{
    Cursor, CursorError, ListId, PostId, ScheduledId, Time, TimerName, UserId, UserRef,
};
use fanfold_kinds::home::Span;
use fanfold_kinds::likes::{LikedPlace, LikerPlace};
use fanfold_kinds::present::UserPlace;
use serde::de::{self, DeserializeOwned};
use serde::{Deserialize, Deserializer};
use utoipa::IntoParams;

use crate::json::from_slice;
use crate::{Kind, Problem};

/// A JSON body. Refuses another content type (415), a body above [`BODY_BYTES_MAX`] (413), and a body of another shape
/// (400).
pub struct JsonBody<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for JsonBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        json(request, BODY_BYTES_MAX).await.map(Self)
    }
}

/// Reads a JSON body of at most `max` bytes.
pub(crate) async fn json<T: DeserializeOwned>(request: Request, max: usize) -> Result<T, Problem> {
    let content_type = request.headers().get(CONTENT_TYPE).and_then(|v| v.to_str().ok());
    if !content_type.is_some_and(is_json) {
        let found = content_type.unwrap_or("missing");
        let detail = format!("Content-Type is {found}; send application/json");
        return Err(Problem::new(Kind::UnsupportedMediaType, detail));
    }
    let body = to_bytes(request.into_body(), max)
        .await
        .map_err(|_| Problem::new(Kind::BodyTooLarge, format!("send at most {max} bytes")))?;
    from_slice(&body).map_err(|error| Problem::new(Kind::InvalidBody, error.to_string()))
}

fn is_json(content_type: &str) -> bool {
    let media_type = content_type.split(';').next().unwrap_or_default().trim();
    media_type.eq_ignore_ascii_case("application/json")
}

/// The `Idempotency-Key` of a request, if there is one. Refuses several keys, and a key of another form (400).
pub struct IdempotencyKey(pub Option<String>);

impl<S: Send + Sync> FromRequestParts<S> for IdempotencyKey {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let mut sent = parts.headers.get_all("idempotency-key").iter();
        let Some(key) = sent.next() else { return Ok(Self(None)) };
        let key = key.to_str().ok().filter(|key| {
            let visible = key.bytes().all(|byte| matches!(byte, b' '..=b'~'));
            visible && (1..=IDEMPOTENCY_KEY_CHARS_MAX).contains(&key.len()) && sent.next().is_none()
        });
        let key = key.ok_or_else(|| {
            let detail = format!(
                "send one Idempotency-Key of 1 to {IDEMPOTENCY_KEY_CHARS_MAX} printable ASCII characters"
            );
            Problem::new(Kind::InvalidParameter, detail)
        })?;
        Ok(Self(Some(key.to_owned())))
    }
}

/// The query string. Refuses unknown and repeated parameters (400).
pub struct Query<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let query = axum::extract::Query::from_request_parts(parts, state).await;
        let axum::extract::Query(value) =
            query.map_err(|error| Problem::new(Kind::InvalidParameter, error.body_text()))?;
        Ok(Self(value))
    }
}

/// The query parameters of a list of users.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ListQuery {
    /// The maximum number of items on a page.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 100, default = 20)]
    limit: Option<String>,
    /// The `next_cursor` of the previous page. A cursor is opaque: one that was not issued for this list is answered
    /// with 404.
    #[param(pattern = "^[A-Za-z0-9_-]{32}$", min_length = 32, max_length = 32)]
    pub cursor: Option<String>,
}

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

/// The query parameters of the list of scheduled posts.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ScheduledQuery {
    /// The maximum number of items on a page.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 100, default = 20)]
    limit: Option<String>,
    /// The `next_cursor` of the previous page. A cursor is opaque: one that was not issued for this list is answered
    /// with 404.
    #[param(pattern = "^[A-Za-z0-9_-]{51}$", min_length = 51, max_length = 51)]
    cursor: Option<String>,
}

/// The query parameters of the list of timers.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TimersQuery {
    /// The maximum number of items on a page.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 100, default = 20)]
    limit: Option<String>,
    /// The `next_cursor` of the previous page. A cursor is opaque: one that was not issued for this list is answered
    /// with 404.
    #[param(pattern = "^[A-Za-z0-9_-]{190}$", min_length = 190, max_length = 190)]
    cursor: Option<String>,
}

/// The query parameters of the list of liked posts.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LikesQuery {
    /// The maximum number of items on a page.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 100, default = 20)]
    limit: Option<String>,
    /// The `next_cursor` of the previous page. A cursor is opaque: one that was not issued for this list is answered
    /// with 404.
    #[param(pattern = "^[A-Za-z0-9_-]{51}$", min_length = 51, max_length = 51)]
    cursor: Option<String>,
}

/// The query parameters of the list of users who like a post.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LikersQuery {
    /// The maximum number of items on a page.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 100, default = 20)]
    limit: Option<String>,
    /// The `next_cursor` of the previous page. A cursor is opaque: one that was not issued for this list is answered
    /// with 404.
    #[param(pattern = "^[A-Za-z0-9_-]{40}$", min_length = 40, max_length = 40)]
    cursor: Option<String>,
}

impl LikesQuery {
    /// The number of items on a page. Refuses a number outside 1 to [`PAGE_ITEMS_MAX`] (400).
    pub fn limit(&self) -> Result<usize, Problem> {
        limit(self.limit.as_deref())
    }

    /// The place after which the page begins. None: at the beginning. Refuses a cursor of another list (404) or of
    /// another form (400).
    pub fn after(&self, owner: UserId) -> Result<Option<LikedPlace>, Problem> {
        place(self.cursor.as_deref(), ListId::Likes(owner), |cursor| match cursor {
            Cursor::Liked { at, post } => Some((at, post)),
            _ => None,
        })
    }
}

impl LikersQuery {
    /// The number of items on a page. Refuses a number outside 1 to [`PAGE_ITEMS_MAX`] (400).
    pub fn limit(&self) -> Result<usize, Problem> {
        limit(self.limit.as_deref())
    }

    /// The place after which the page begins. None: at the beginning. Refuses a cursor of another list (404) or of
    /// another form (400).
    pub fn after(&self, post: PostId) -> Result<Option<LikerPlace>, Problem> {
        place(self.cursor.as_deref(), ListId::Likers(post), |cursor| match cursor {
            Cursor::Liker { at, user } => Some((at, user)),
            _ => None,
        })
    }
}

impl ScheduledQuery {
    /// The number of items on a page. Refuses a number outside 1 to [`PAGE_ITEMS_MAX`] (400).
    pub fn limit(&self) -> Result<usize, Problem> {
        limit(self.limit.as_deref())
    }

    /// The place after which the page begins. None: at the beginning. Refuses a cursor of another list (404) or of
    /// another form (400).
    pub fn after(&self, owner: UserId) -> Result<Option<(Time, ScheduledId)>, Problem> {
        place(self.cursor.as_deref(), ListId::Scheduled(owner), |cursor| match cursor {
            Cursor::Scheduled { at, id } => Some((at, id)),
            _ => None,
        })
    }
}

impl TimersQuery {
    /// The number of items on a page. Refuses a number outside 1 to [`PAGE_ITEMS_MAX`] (400).
    pub fn limit(&self) -> Result<usize, Problem> {
        limit(self.limit.as_deref())
    }

    /// The name after which the page begins. None: at the beginning. Refuses a cursor of another list (404) or of another
    /// form (400).
    pub fn after(&self, owner: UserId) -> Result<Option<TimerName>, Problem> {
        place(self.cursor.as_deref(), ListId::Timers(owner), |cursor| match cursor {
            Cursor::Timer { name } => Some(name),
            _ => None,
        })
    }
}

impl ListQuery {
    /// A query for `limit` items, from `cursor` on.
    pub fn page(limit: usize, cursor: Option<String>) -> Self {
        Self { limit: Some(limit.to_string()), cursor }
    }

    /// The number of items on a page. Refuses a number outside 1 to [`PAGE_ITEMS_MAX`] (400).
    pub fn limit(&self) -> Result<usize, Problem> {
        limit(self.limit.as_deref())
    }

    /// The place after which the page begins. None: at the beginning. Refuses a cursor of another list (404) or of
    /// another form (400).
    pub fn after(&self, list: ListId) -> Result<Option<UserPlace>, Problem> {
        place(self.cursor.as_deref(), list, |cursor| match cursor {
            Cursor::User { partition, user } => Some((partition, user)),
            _ => None,
        })
    }
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
            Some(_) => Err(Problem::new(Kind::InvalidParameter, "source must be pull")),
        }
    }

    /// The part of the feed that the page is cut from. Refuses a cursor of another feed (404) or of another form (400).
    pub fn span(&self, list: ListId) -> Result<Span, Problem> {
        let place = |text: &str| match Cursor::decode(text, list)? {
            Cursor::Feed { before, after } => Ok(Span { before, after }),
            _ => Err(CursorError::Foreign),
        };
        let mut span = self.cursor.as_deref().map(place).transpose()?.unwrap_or(Span::ALL);
        if let Some(newest) = self.newer_than.as_deref().map(place).transpose()? {
            span.after = span.after.max(newest.before);
        }
        Ok(span)
    }
}

/// The place in a list that a cursor names. None without a cursor. Refuses a cursor of another list (404) or of another form
/// (400).
pub(crate) fn place<P>(
    cursor: Option<&str>,
    list: ListId,
    of: impl FnOnce(Cursor) -> Option<P>,
) -> Result<Option<P>, Problem> {
    let Some(text) = cursor else { return Ok(None) };
    of(Cursor::decode(text, list)?).map(Some).ok_or_else(|| CursorError::Foreign.into())
}

pub(crate) fn limit(text: Option<&str>) -> Result<usize, Problem> {
    let limit = number("limit", text, PAGE_ITEMS_DEFAULT as u64, 1, PAGE_ITEMS_MAX as u64)?;
    Ok(limit as usize)
}

/// The whole number in a parameter. Refuses one outside `min` to `max`, and other texts (400).
pub(crate) fn number(
    name: &str,
    text: Option<&str>,
    default: u64,
    min: u64,
    max: u64,
) -> Result<u64, Problem> {
    let Some(text) = text else { return Ok(default) };
    let is_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|number| is_digits && (min..=max).contains(number));
    number.ok_or_else(|| {
        let detail = format!("{name} must be a whole number from {min} to {max}");
        Problem::new(Kind::InvalidParameter, detail)
    })
}

/// The user in a path. Refuses another form (400).
#[derive(Debug, Clone, PartialEq, Eq, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct UserPath {
    /// A user id, or @ and a handle.
    #[param(value_type = String, pattern = "^([0-9a-f]{16}|@[a-z0-9_]{1,30})$", min_length = 2, max_length = 31)]
    pub user: UserRef,
}

impl<S: Send + Sync> FromRequestParts<S> for UserPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        Ok(Self { user: segment(parts, state).await? })
    }
}

/// The post in a path. Refuses another form (400).
#[derive(Debug, Clone, Copy, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct PostPath {
    /// A post id.
    #[param(value_type = String, pattern = "^[0-7][0-9A-HJKMNP-TV-Z]{25}$", min_length = 26, max_length = 26)]
    pub id: PostId,
}

impl<S: Send + Sync> FromRequestParts<S> for PostPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        Ok(Self { id: segment(parts, state).await? })
    }
}

/// The scheduled post in a path. Refuses another form (400).
#[derive(Debug, Clone, Copy, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct ScheduledPath {
    /// The id of a scheduled post.
    #[param(value_type = String, pattern = "^[0-7][0-9A-HJKMNP-TV-Z]{25}$", min_length = 26, max_length = 26)]
    pub id: ScheduledId,
}

impl<S: Send + Sync> FromRequestParts<S> for ScheduledPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        Ok(Self { id: segment(parts, state).await? })
    }
}

/// The timer in a path. Refuses another form (400).
#[derive(Debug, Clone, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct TimerPath {
    /// The name of a timer.
    #[param(value_type = String, pattern = "^(?!\\.{1,2}$)[A-Za-z0-9._-]{1,128}$", min_length = 1, max_length = 128)]
    pub name: TimerName,
}

impl<S: Send + Sync> FromRequestParts<S> for TimerPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        Ok(Self { name: segment(parts, state).await? })
    }
}

/// The one parameter of a path.
pub(crate) async fn segment<S, T>(parts: &mut Parts, state: &S) -> Result<T, Problem>
where
    S: Send + Sync,
    T: FromStr<Err: Display>,
{
    parsed(&segments::<S, String>(parts, state).await?)
}

/// The parameters of a path, as texts.
pub(crate) async fn segments<S, T>(parts: &mut Parts, state: &S) -> Result<T, Problem>
where
    S: Send + Sync,
    T: DeserializeOwned + Send,
{
    let path = Path::<T>::from_request_parts(parts, state).await;
    path.map(|Path(path)| path).map_err(|error| Problem::new(Kind::InvalidId, error.body_text()))
}

/// What a parameter of a path names.
pub(crate) fn parsed<T: FromStr<Err: Display>>(text: &str) -> Result<T, Problem> {
    text.parse().map_err(|error: T::Err| Problem::new(Kind::InvalidId, error.to_string()))
}

/// A point in time in a body: RFC 3339 with a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment(pub Time);

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let form = "a time must be RFC 3339 with a zone, such as 2030-01-02T15:04:05Z";
        Time::parse_rfc3339(&text).map(Self).ok_or_else(|| de::Error::custom(form))
    }
}

/// For `deserialize_with`: a field that may be missing, but not null, because null would not be the same.
pub fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_json_is_json() {
        assert!(is_json("application/json") && is_json("Application/JSON; charset=utf-8"));
        assert!(!is_json("text/plain") && !is_json("application/jsonp") && !is_json(""));
    }

    #[test]
    fn limits_are_whole_numbers_in_their_range() {
        assert_eq!((limit(None).unwrap(), limit(Some("100")).unwrap()), (20, 100));
        for bad in ["0", "101", "-1", "+5", "ten", "", "1e1", "٥"] {
            assert_eq!(limit(Some(bad)).unwrap_err().kind, Kind::InvalidParameter, "{bad}");
        }
    }
}
