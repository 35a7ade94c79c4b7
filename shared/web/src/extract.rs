//! Extractors for bodies, keys, query parameters and path segments. Their errors name what is wrong.

use std::fmt::Display;
use std::marker::PhantomData;
use std::str::FromStr;

use axum::body::to_bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::header::{CONTENT_TYPE, IF_MATCH};
use axum::http::request::Parts;
use fanfold_core::limits::{
    BODY_BYTES_MAX, IDEMPOTENCY_KEY_CHARS_MAX, PAGE_ITEMS_DEFAULT, PAGE_ITEMS_MAX,
};
use fanfold_core::{List, Time};
use serde::de::{self, DeserializeOwned};
use serde::{Deserialize, Deserializer};
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::{KnownFormat, ObjectBuilder, Required, SchemaFormat, Type};

use crate::json::from_slice;
use crate::{Problem, ProblemKind};

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
pub async fn json<T: DeserializeOwned>(request: Request, max: usize) -> Result<T, Problem> {
    let content_type = request.headers().get(CONTENT_TYPE).and_then(|v| v.to_str().ok());
    if !content_type.is_some_and(is_json) {
        let found = content_type.unwrap_or("missing");
        let detail = format!("Content-Type is {found}; send application/json");
        return Err(Problem::new(ProblemKind::UnsupportedMediaType, detail));
    }
    let body = to_bytes(request.into_body(), max).await.map_err(|_| {
        Problem::new(ProblemKind::BodyTooLarge, format!("send at most {max} bytes"))
    })?;
    from_slice(&body).map_err(|error| Problem::new(ProblemKind::InvalidBody, error.to_string()))
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
            Problem::new(ProblemKind::InvalidParameter, detail)
        })?;
        Ok(Self(Some(key.to_owned())))
    }
}

/// The versions that the `If-Match` of a request names. `None`: any version, because there is no such header, or it is `*`. Refuses
/// a header of another form (400).
pub struct IfMatch(pub Option<Vec<u64>>);

impl<S: Send + Sync> FromRequestParts<S> for IfMatch {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let mut versions = Vec::new();
        let malformed = || {
            let detail = "If-Match must be * or ETags, such as \"3\"";
            Problem::new(ProblemKind::InvalidParameter, detail)
        };
        let mut is_sent = false;
        for header in parts.headers.get_all(IF_MATCH) {
            is_sent = true;
            let mut rest = header.to_str().map_err(|_| malformed())?.trim();
            if rest == "*" {
                return Ok(Self(None));
            }
            loop {
                // a weak tag matches nothing
                let (is_weak, tag) =
                    rest.strip_prefix("W/").map_or((false, rest), |tag| (true, tag));
                let tag = tag.strip_prefix('"').and_then(|tag| tag.split_once('"'));
                let (tag, after) = tag.ok_or_else(malformed)?;
                let version = tag.parse().ok().filter(|version: &u64| version.to_string() == tag);
                versions.extend(version.filter(|_| !is_weak));
                rest = match after.trim_start() {
                    "" => break,
                    after => after.strip_prefix(',').ok_or_else(malformed)?.trim_start(),
                };
            }
        }
        Ok(Self(is_sent.then_some(versions)))
    }
}

/// The query string. Refuses unknown and repeated parameters (400).
pub struct Query<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let query = axum::extract::Query::from_request_parts(parts, state).await;
        let axum::extract::Query(value) = query
            .map_err(|error| Problem::new(ProblemKind::InvalidParameter, error.body_text()))?;
        Ok(Self(value))
    }
}

/// The query parameters of a page of a list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, bound = "")]
pub struct ListQuery<L> {
    limit: Option<String>,
    pub cursor: Option<String>,
    #[serde(skip)]
    list: PhantomData<fn() -> L>,
}

impl<L: List> ListQuery<L> {
    /// A query for `limit` items, from `cursor` on.
    pub fn page(limit: usize, cursor: Option<String>) -> Self {
        Self { limit: Some(limit.to_string()), cursor, list: PhantomData }
    }

    /// The number of items on a page. Refuses a number outside 1 to [`PAGE_ITEMS_MAX`] (400).
    pub fn limit(&self) -> Result<usize, Problem> {
        limit(self.limit.as_deref())
    }

    /// The place after which the page begins. None: at the beginning. Refuses a cursor of another list (404) or of
    /// another form (400).
    pub fn after(&self, list: &L) -> Result<Option<L::Place>, Problem> {
        Ok(self.cursor.as_deref().map(|cursor| list.place(cursor)).transpose()?)
    }
}

impl<L: List> IntoParams for ListQuery<L> {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let parameter = |name: &str, description: String, schema: ObjectBuilder| {
            let parameter = ParameterBuilder::new().name(name).parameter_in(ParameterIn::Query);
            let parameter = parameter.description(Some(description)).required(Required::False);
            parameter.schema(Some(schema)).build()
        };
        let number = ObjectBuilder::new()
            .schema_type(Type::Integer)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int32)))
            .minimum(Some(1))
            .maximum(Some(PAGE_ITEMS_MAX))
            .default(Some(PAGE_ITEMS_DEFAULT.into()));
        let chars = L::CURSOR_CHARS;
        let cursor = ObjectBuilder::new()
            .schema_type(Type::String)
            .pattern(Some(format!("^[A-Za-z0-9_-]{{{chars}}}$")))
            .min_length(Some(chars))
            .max_length(Some(chars));
        let about = format!("The `next_cursor` of the previous page. {}", L::ABOUT);
        vec![
            parameter("limit", "The maximum number of items on a page.".to_owned(), number),
            parameter("cursor", about, cursor),
        ]
    }
}

/// The number of items on a page.
pub fn limit(text: Option<&str>) -> Result<usize, Problem> {
    let limit = number("limit", text, PAGE_ITEMS_DEFAULT as u64, 1, PAGE_ITEMS_MAX as u64)?;
    Ok(limit as usize)
}

/// The whole number in a parameter. Refuses one outside `min` to `max`, and other texts (400).
pub fn number(
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
        Problem::new(ProblemKind::InvalidParameter, detail)
    })
}

/// The one parameter of a path.
pub async fn segment<S, T>(parts: &mut Parts, state: &S) -> Result<T, Problem>
where
    S: Send + Sync,
    T: FromStr<Err: Display>,
{
    parsed(&segments::<S, String>(parts, state).await?)
}

/// The parameters of a path, as texts.
pub async fn segments<S, T>(parts: &mut Parts, state: &S) -> Result<T, Problem>
where
    S: Send + Sync,
    T: DeserializeOwned + Send,
{
    let path = Path::<T>::from_request_parts(parts, state).await;
    path.map(|Path(path)| path)
        .map_err(|error| Problem::new(ProblemKind::InvalidId, error.body_text()))
}

/// What a parameter of a path names.
pub fn parsed<T: FromStr<Err: Display>>(text: &str) -> Result<T, Problem> {
    text.parse().map_err(|error: T::Err| Problem::new(ProblemKind::InvalidId, error.to_string()))
}

/// A point in time in a body: RFC 3339 with a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeText(pub Time);

impl<'de> Deserialize<'de> for TimeText {
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
            assert_eq!(limit(Some(bad)).unwrap_err().kind, ProblemKind::InvalidParameter, "{bad}");
        }
    }
}
