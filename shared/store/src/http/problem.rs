//! Errors over HTTP: RFC 9457 problem details, each kind with a `type` of its own that stays.

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use fanfold_core::CursorError;
use fanfold_core::text::TextError;
use serde::{Deserialize, Serialize};
use utoipa::{IntoResponses, ToSchema};

use crate::error::StoreError;
use crate::log::Chain;

macro_rules! kinds {
    ($($kind:ident $status:ident $slug:literal $title:literal;)*) => {
        /// What went wrong.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Kind { $($kind),* }

        impl Kind {
            pub const ALL: &[Kind] = &[$(Kind::$kind),*];

            pub fn status(self) -> StatusCode {
                match self { $(Kind::$kind => StatusCode::$status),* }
            }

            /// The `type`: a stable URI reference.
            pub fn uri(self) -> &'static str {
                match self { $(Kind::$kind => concat!("/problems/", $slug)),* }
            }

            pub fn title(self) -> &'static str {
                match self { $(Kind::$kind => $title),* }
            }
        }
    };
}

kinds! {
    InvalidBody BAD_REQUEST "invalid-body" "The body is not what this route takes";
    InvalidParameter BAD_REQUEST "invalid-parameter" "A parameter is not what this route takes";
    InvalidCursor BAD_REQUEST "invalid-cursor" "The cursor cannot be used here";
    InvalidId BAD_REQUEST "invalid-id" "This is not an id";
    Unauthenticated UNAUTHORIZED "unauthenticated" "No caller is named";
    NotYours FORBIDDEN "not-yours" "This belongs to somebody else";
    NoSuchRoute NOT_FOUND "no-such-route" "There is no such route";
    NoSuchUser NOT_FOUND "no-such-user" "There is no such user";
    NoSuchPost NOT_FOUND "no-such-post" "There is no such post";
    MethodNotAllowed METHOD_NOT_ALLOWED "method-not-allowed" "This route does not take this method";
    HandleTaken CONFLICT "handle-taken" "This handle is taken";
    IdentityClash CONFLICT "identity-clash" "Another user has the same id";
    ProfileMissing CONFLICT "profile-missing" "Make a profile first";
    PostDeleted GONE "post-deleted" "The post that this key made was deleted";
    BodyTooLarge PAYLOAD_TOO_LARGE "body-too-large" "The body is too large";
    UnsupportedMediaType UNSUPPORTED_MEDIA_TYPE "unsupported-media-type" "The body is not JSON";
    InvalidText UNPROCESSABLE_ENTITY "invalid-text" "The text cannot be taken";
    FollowSelf UNPROCESSABLE_ENTITY "follow-self" "Nobody follows themselves";
    FollowingLimit UNPROCESSABLE_ENTITY "following-limit" "You follow as many users as is possible";
    KeyReused UNPROCESSABLE_ENTITY "idempotency-key-reused" "This key was used for another request";
    Unavailable SERVICE_UNAVAILABLE "unavailable" "Try again";
}

/// An answer that is an error.
#[derive(Debug)]
pub struct Problem {
    pub kind: Kind,
    pub detail: String,
    headers: Vec<(HeaderName, HeaderValue)>,
}

/// Problem details (RFC 9457).
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct ProblemBody {
    /// What went wrong: a stable URI reference.
    #[serde(rename = "type")]
    #[schema(example = "/problems/invalid-cursor")]
    pub kind: String,
    pub title: String,
    pub status: u16,
    /// What went wrong this time.
    pub detail: String,
}

/// What the gateway itself answers, before any function is asked.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct GatewayMessage {
    pub message: String,
}

/// What a route with ids or parameters may answer.
#[derive(IntoResponses)]
#[allow(dead_code, reason = "read by the derive alone")]
pub enum BadRequest {
    /// An id, a parameter, a cursor or the body is not what this route takes.
    #[response(status = 400, content_type = "application/problem+json")]
    Invalid(ProblemBody),
}

/// What a route with a body may answer.
#[derive(IntoResponses)]
#[allow(dead_code, reason = "read by the derive alone")]
pub enum BadBody {
    /// The body, or a parameter, is not what this route takes.
    #[response(status = 400, content_type = "application/problem+json")]
    Invalid(ProblemBody),
    /// The body is too large.
    #[response(status = 413, content_type = "application/problem+json")]
    TooLarge(ProblemBody),
    /// The body is not JSON.
    #[response(status = 415, content_type = "application/problem+json")]
    NotJson(ProblemBody),
}

/// What a route about one user or post may answer.
#[derive(IntoResponses)]
#[allow(dead_code, reason = "read by the derive alone")]
pub enum NotFound {
    /// There is no such user or post.
    #[response(status = 404, content_type = "application/problem+json")]
    Missing(ProblemBody),
}

/// What every route with a caller may answer.
#[derive(IntoResponses)]
#[allow(dead_code, reason = "read by the derive alone")]
pub enum Common {
    /// The token is missing, forged or has expired.
    #[response(status = 401)]
    Unauthenticated(GatewayMessage),
    /// A store cannot be reached. Nothing was lost; try again.
    #[response(status = 503, content_type = "application/problem+json")]
    Unavailable(ProblemBody),
}

impl Problem {
    pub fn new(kind: Kind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into(), headers: Vec::new() }
    }

    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    pub fn no_such_user(user: impl std::fmt::Display) -> Self {
        Self::new(Kind::NoSuchUser, format!("{user} has no profile here"))
    }

    pub fn no_such_post(post: impl std::fmt::Display) -> Self {
        Self::new(Kind::NoSuchPost, format!("{post} does not exist, or was deleted"))
    }

    pub fn profile_missing() -> Self {
        Self::new(Kind::ProfileMissing, "PUT /v1/me makes one")
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = self.kind.status();
        let body = ProblemBody {
            kind: self.kind.uri().to_owned(),
            title: self.kind.title().to_owned(),
            status: status.as_u16(),
            detail: self.detail,
        };
        let mut response = (status, axum::Json(body)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.extend(self.headers);
        response
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        tracing::error!(error = %Chain(&error), "a store did not answer");
        Self::new(Kind::Unavailable, "a store did not answer in time; nothing was lost")
            .with_header(header::RETRY_AFTER, HeaderValue::from_static("1"))
    }
}

impl From<TextError> for Problem {
    fn from(error: TextError) -> Self {
        Self::new(Kind::InvalidText, error.to_string())
    }
}

impl From<CursorError> for Problem {
    fn from(error: CursorError) -> Self {
        Self::new(Kind::InvalidCursor, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_type_of_its_own_and_is_an_error() {
        let mut uris: Vec<_> = Kind::ALL.iter().map(|kind| kind.uri()).collect();
        uris.sort_unstable();
        uris.dedup();
        assert_eq!(uris.len(), Kind::ALL.len());
        assert!(Kind::ALL.iter().all(|kind| kind.status().as_u16() >= 400));
    }
}
