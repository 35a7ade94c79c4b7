//! Bodies and parameters, with errors that say what is wrong.

use std::fmt;

use axum::body::to_bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use fanfold_core::limits::{BODY_BYTES_MAX, PAGE_ITEMS_DEFAULT, PAGE_ITEMS_MAX};
use fanfold_core::{PostId, UserId, text};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use utoipa::IntoParams;

use super::{Kind, Problem};

/// A JSON body. Other content types, other shapes, unknown fields and large bodies are refused.
pub struct JsonBody<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for JsonBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let content_type = request.headers().get(CONTENT_TYPE).and_then(|v| v.to_str().ok());
        if !content_type.is_some_and(is_json) {
            let found = content_type.unwrap_or("nothing");
            let detail = format!("Content-Type is {found}, and application/json is needed");
            return Err(Problem::new(Kind::UnsupportedMediaType, detail));
        }
        let body = to_bytes(request.into_body(), BODY_BYTES_MAX).await.map_err(|_| {
            Problem::new(Kind::BodyTooLarge, format!("{BODY_BYTES_MAX} bytes are allowed"))
        })?;
        match serde_json::from_slice(&body) {
            Ok(value) => Ok(Self(value)),
            Err(error) => Err(Problem::new(Kind::InvalidBody, error.to_string())),
        }
    }
}

fn is_json(content_type: &str) -> bool {
    let media_type = content_type.split(';').next().unwrap_or_default().trim();
    media_type.eq_ignore_ascii_case("application/json")
}

/// The query string. Unknown and repeated parameters are refused.
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

/// How a list is paged.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ListQuery {
    /// Items on a page, 1 to 100.
    #[param(minimum = 1, maximum = 100, default = 20)]
    limit: Option<String>,
    /// `next_cursor` of the page before.
    pub cursor: Option<String>,
}

/// How a feed is paged.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct FeedQuery {
    /// Items on a page, 1 to 100.
    #[param(minimum = 1, maximum = 100, default = 20)]
    limit: Option<String>,
    /// `next_cursor` of the page before: goes down from there.
    pub cursor: Option<String>,
    /// `newest_cursor` of an earlier page: gives what came since.
    pub newer_than: Option<String>,
}

impl ListQuery {
    pub fn limit(&self) -> Result<usize, Problem> {
        limit(self.limit.as_deref())
    }
}

impl FeedQuery {
    pub fn limit(&self) -> Result<usize, Problem> {
        limit(self.limit.as_deref())
    }
}

fn limit(text: Option<&str>) -> Result<usize, Problem> {
    let Some(text) = text else { return Ok(PAGE_ITEMS_DEFAULT) };
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(limit) if digits && (1..=PAGE_ITEMS_MAX).contains(&limit) => Ok(limit),
        _ => Err(Problem::new(
            Kind::InvalidParameter,
            format!("limit is a whole number from 1 to {PAGE_ITEMS_MAX}"),
        )),
    }
}

/// A user in a path: an id, or `@` and a handle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserRef {
    Id(UserId),
    Handle(String),
}

impl UserRef {
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let user = match text.strip_prefix('@') {
            Some(handle) => text::handle(handle).ok().map(|h| Self::Handle(h.to_owned())),
            None => text.parse().ok().map(Self::Id),
        };
        user.ok_or_else(|| {
            let detail = "a user is an id of 16 hexadecimal digits, or @ and a handle";
            Problem::new(Kind::InvalidId, detail)
        })
    }
}

impl fmt::Display for UserRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => write!(f, "{id}"),
            Self::Handle(handle) => write!(f, "@{handle}"),
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for UserRef {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        Self::parse(&segment(parts, state).await?)
    }
}

/// A post in a path.
#[derive(Debug, Clone, Copy)]
pub struct PostRef(pub PostId);

impl<S: Send + Sync> FromRequestParts<S> for PostRef {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let id = segment(parts, state).await?.parse();
        id.map(Self).map_err(|error: fanfold_core::IdError| {
            Problem::new(Kind::InvalidId, error.to_string())
        })
    }
}

async fn segment<S: Send + Sync>(parts: &mut Parts, state: &S) -> Result<String, Problem> {
    let path = Path::<String>::from_request_parts(parts, state).await;
    let Path(segment) = path.map_err(|error| Problem::new(Kind::InvalidId, error.body_text()))?;
    Ok(segment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_an_id_or_a_handle() {
        assert_eq!(UserRef::parse("@ada").unwrap(), UserRef::Handle("ada".to_owned()));
        assert_eq!(UserRef::parse("00000000000000ff").unwrap(), UserRef::Id(UserId(255)));
        for bad in ["", "@", "@Ada", "ada", "00000000000000FF", "@a b"] {
            assert_eq!(UserRef::parse(bad).unwrap_err().kind, Kind::InvalidId, "{bad}");
        }
    }

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
