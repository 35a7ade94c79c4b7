//! Errors over HTTP: RFC 9457 problem details. Each kind has a stable `type`.

use std::time::Duration;

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use fanfold_core::CursorError;
use fanfold_core::limits::BOARD_RETRY_AFTER;
use fanfold_kinds::Error;
use fanfold_runtime::StoreError;
use fanfold_runtime::log::Chain;
use serde::{Deserialize, Serialize};
use utoipa::{IntoResponses, ToSchema};

macro_rules! kinds {
    ($($kind:ident $status:ident $slug:literal $title:literal;)*) => {
        /// The kind of a problem, with its status, `type` and title.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum ProblemKind { $($kind),* }

        impl ProblemKind {
            /// Every kind.
            pub const ALL: &[ProblemKind] = &[$(ProblemKind::$kind),*];

            /// The HTTP status.
            pub fn status(self) -> StatusCode {
                match self { $(ProblemKind::$kind => StatusCode::$status),* }
            }

            /// The `type`: a stable URI reference, such as `/problems/invalid-id`.
            pub fn uri(self) -> &'static str {
                match self { $(ProblemKind::$kind => concat!("/problems/", $slug)),* }
            }

            /// The title, which is the same for all problems of the kind.
            pub fn title(self) -> &'static str {
                match self { $(ProblemKind::$kind => $title),* }
            }
        }
    };
}

kinds! {
    InvalidBody BAD_REQUEST "invalid-body" "Invalid body";
    InvalidParameter BAD_REQUEST "invalid-parameter" "Invalid parameter";
    InvalidCursor NOT_FOUND "invalid-cursor" "Invalid cursor";
    InvalidId BAD_REQUEST "invalid-id" "Invalid id";
    Unauthenticated UNAUTHORIZED "unauthenticated" "Authentication required";
    NotYours FORBIDDEN "not-yours" "Not allowed for this user";
    NoSuchRoute NOT_FOUND "no-such-route" "Route not found";
    NoSuchUser NOT_FOUND "no-such-user" "User not found";
    NoSuchPost NOT_FOUND "no-such-post" "Post not found";
    NoSuchScheduled NOT_FOUND "no-such-scheduled-post" "Scheduled post not found";
    NoSuchTimer NOT_FOUND "no-such-timer" "Timer not found";
    NoSuchBoard NOT_FOUND "no-such-board" "Leaderboard or period not found";
    NoSuchMember NOT_FOUND "no-such-member" "Member not found";
    MethodNotAllowed METHOD_NOT_ALLOWED "method-not-allowed" "Method not allowed";
    HandleTaken CONFLICT "handle-taken" "Handle taken";
    IdentityClash CONFLICT "identity-clash" "Another user has the same id";
    ProfileMissing CONFLICT "profile-missing" "Profile required";
    BoardFixed CONFLICT "board-fixed" "Leaderboard cannot be changed in this way";
    AlreadyPublished CONFLICT "already-published" "Already published";
    ScheduledFailed CONFLICT "scheduled-failed" "Not published";
    OtherVersion PRECONDITION_FAILED "other-version" "The post has changed";
    VersionsLimit UNPROCESSABLE_ENTITY "versions-limit" "Too many versions";
    TagsLimit UNPROCESSABLE_ENTITY "tags-limit" "Too many tags";
    PostDeleted GONE "post-deleted" "Post deleted";
    BodyTooLarge PAYLOAD_TOO_LARGE "body-too-large" "Body too large";
    UnsupportedMediaType UNSUPPORTED_MEDIA_TYPE "unsupported-media-type" "Unsupported media type";
    InvalidText UNPROCESSABLE_ENTITY "invalid-text" "Text not allowed";
    InvalidContent UNPROCESSABLE_ENTITY "invalid-content" "Data, attachment or link not allowed";
    FollowSelf UNPROCESSABLE_ENTITY "follow-self" "Users cannot follow themselves";
    FollowingLimit UNPROCESSABLE_ENTITY "following-limit" "Too many followed users";
    NoPublicFeed NOT_FOUND "no-public-feed" "No public feed";
    FollowedTagsLimit UNPROCESSABLE_ENTITY "followed-tags-limit" "Too many followed tags";
    InvalidTime UNPROCESSABLE_ENTITY "invalid-time" "Time not allowed";
    InvalidPayload UNPROCESSABLE_ENTITY "invalid-payload" "Payload not allowed";
    ScheduledLimit UNPROCESSABLE_ENTITY "scheduled-limit" "Too many scheduled posts";
    TimersLimit UNPROCESSABLE_ENTITY "timers-limit" "Too many timers";
    BoardsLimit UNPROCESSABLE_ENTITY "boards-limit" "Too many leaderboards";
    InvalidBoard UNPROCESSABLE_ENTITY "invalid-board" "Setting of a leaderboard not allowed";
    InvalidScores UNPROCESSABLE_ENTITY "invalid-scores" "Members or scores not allowed";
    ScoreOverflow UNPROCESSABLE_ENTITY "score-overflow" "Score out of range";
    KeyReused UNPROCESSABLE_ENTITY "idempotency-key-reused" "Idempotency-Key used for another request";
    TooManyRequests TOO_MANY_REQUESTS "too-many-writes" "Too many writes";
    Damaged INTERNAL_SERVER_ERROR "damaged" "Stored item unreadable";
    ContentRefused INTERNAL_SERVER_ERROR "content-refused" "Content cannot be stored";
    Unavailable SERVICE_UNAVAILABLE "unavailable" "Temporarily unavailable";
}

/// An answer that reports an error. The detail says what is wrong and what to do.
#[derive(Debug)]
pub struct Problem {
    pub kind: ProblemKind,
    pub detail: String,
    headers: Vec<(HeaderName, HeaderValue)>,
}

/// Problem details (RFC 9457).
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct ProblemBody {
    /// The kind of the problem: a stable URI reference.
    #[serde(rename = "type")]
    #[schema(example = "/problems/invalid-cursor")]
    pub kind: String,
    /// A short text for this kind of problem.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// The error of this request, and what to do about it.
    pub detail: String,
}

/// An answer of the gateway itself, without a function.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct GatewayMessage {
    pub message: String,
}

/// Answers of a route that writes.
#[derive(IntoResponses)]
#[allow(dead_code, reason = "read by the derive alone")]
pub enum TooMany {
    /// The caller writes more often than one user may, or all callers together send more requests than the gateway
    /// accepts. Nothing was done; try again later.
    #[response(status = 429, content_type = "application/problem+json")]
    Limited(ProblemBody),
}

/// Answers of a route for callers with a profile.
#[derive(IntoResponses)]
#[allow(dead_code, reason = "read by the derive alone")]
pub enum NoProfile {
    /// The caller has no profile.
    #[response(status = 409, content_type = "application/problem+json")]
    Missing(ProblemBody),
}

/// Answers of a route about one user, post or board.
#[derive(IntoResponses)]
#[allow(dead_code, reason = "read by the derive alone")]
pub enum NotFound {
    /// The user, post, board, member or cursor does not exist.
    #[response(status = 404, content_type = "application/problem+json")]
    Missing(ProblemBody),
}

impl Problem {
    /// A problem with this detail.
    pub fn new(kind: ProblemKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into(), headers: Vec::new() }
    }

    /// Adds a header to the answer.
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// A 503 that asks the caller to try again after this time, in whole seconds.
    pub fn unavailable(detail: &str, after: Duration) -> Self {
        let after = HeaderValue::from(after.as_secs());
        Self::new(ProblemKind::Unavailable, detail).with_header(header::RETRY_AFTER, after)
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
        if let StoreError::Refused { .. } | StoreError::Request { .. } = &error {
            tracing::error!(error = %Chain(&error), "a store refuses the content or the size");
            let detail = "the store refuses the content or the size of this request; nothing was lost, but a retry does not \
                help";
            return Self::new(ProblemKind::ContentRefused, detail);
        }
        if error.is_lasting() {
            tracing::error!(error = %Chain(&error), "a stored item cannot be read");
            let detail = "an item that this request needs cannot be read; a retry does not help";
            return Self::new(ProblemKind::Damaged, detail);
        }
        tracing::error!(error = %Chain(&error), "a store did not answer");
        Self::unavailable(
            "a store did not answer in time; nothing was lost, try again",
            Duration::from_secs(1),
        )
    }
}

/// The one place that turns errors of use cases into problems.
impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let kind = match error {
            Error::Store(error) => return error.into(),
            Error::BeingDropped { .. } | Error::BoardBuilding | Error::RankingBuilding => {
                ProblemKind::Unavailable
            }
            Error::KeyReused => ProblemKind::KeyReused,
            Error::PostDeleted(_) | Error::ScheduledCancelled(_) => ProblemKind::PostDeleted,
            Error::TooManyRequests { .. } => ProblemKind::TooManyRequests,
            Error::ProfileMissing => ProblemKind::ProfileMissing,
            Error::Text(_) => ProblemKind::InvalidText,
            Error::Content(_) => ProblemKind::InvalidContent,
            Error::IdentityClash => ProblemKind::IdentityClash,
            Error::HandleTaken(_) => ProblemKind::HandleTaken,
            Error::NoSuchUser(_) => ProblemKind::NoSuchUser,
            Error::NoSuchPost(_) => ProblemKind::NoSuchPost,
            Error::OtherVersion { .. } => ProblemKind::OtherVersion,
            Error::VersionsLimit { .. } => ProblemKind::VersionsLimit,
            Error::TagsLimit { .. } => ProblemKind::TagsLimit,
            Error::NotYours { .. } => ProblemKind::NotYours,
            Error::FollowSelf => ProblemKind::FollowSelf,
            Error::FollowingLimit { .. } => ProblemKind::FollowingLimit,
            Error::FollowedTagsLimit { .. } => ProblemKind::FollowedTagsLimit,
            Error::NoPublicFeed => ProblemKind::NoPublicFeed,
            Error::TimeRange { .. } | Error::EveryTooShort { .. } => ProblemKind::InvalidTime,
            Error::NoSuchScheduled(_) => ProblemKind::NoSuchScheduled,
            Error::AlreadyPublished { .. } => ProblemKind::AlreadyPublished,
            Error::ScheduledFailed(_) => ProblemKind::ScheduledFailed,
            Error::ScheduledLimit { .. } => ProblemKind::ScheduledLimit,
            Error::NoSuchTimer(_) => ProblemKind::NoSuchTimer,
            Error::TimersLimit { .. } => ProblemKind::TimersLimit,
            Error::PayloadTooBig { .. } => ProblemKind::InvalidPayload,
            Error::NoSuchBoard { .. } | Error::NoSuchRound(_) => ProblemKind::NoSuchBoard,
            Error::NoSuchMember(_) => ProblemKind::NoSuchMember,
            Error::BoardsLimit { .. } => ProblemKind::BoardsLimit,
            Error::BoardSettings(_) => ProblemKind::InvalidBoard,
            Error::BoardFixed | Error::BoardMerged => ProblemKind::BoardFixed,
            Error::NotAWriter => ProblemKind::NotYours,
            Error::Members { .. } | Error::Scores(_) => ProblemKind::InvalidScores,
            Error::ScoreOverflow(_) => ProblemKind::ScoreOverflow,
        };
        let problem = Self::new(kind, detail(&error));
        match retry_after(&error) {
            Some(after) => problem.with_header(header::RETRY_AFTER, after.as_secs().into()),
            None => problem,
        }
    }
}

/// The error in words of HTTP.
fn detail(error: &Error) -> String {
    match error {
        Error::KeyReused => {
            "the first request with this Idempotency-Key had another body; use a new key".to_owned()
        }
        Error::PostDeleted(post) => {
            format!("the post that this Idempotency-Key made, {post}, was deleted; use a new key")
        }
        Error::ScheduledCancelled(id) => format!(
            "the scheduled post that this Idempotency-Key made, {id}, was cancelled; use a new key"
        ),
        Error::ProfileMissing => "the caller has no profile; create it with PUT /v1/me".to_owned(),
        _ => error.to_string(),
    }
}

/// How long the caller waits before another try. `None`: waiting alone does not help.
fn retry_after(error: &Error) -> Option<Duration> {
    match error {
        Error::BeingDropped { retry_after } | Error::TooManyRequests { retry_after, .. } => {
            Some(*retry_after)
        }
        Error::BoardBuilding | Error::RankingBuilding => Some(BOARD_RETRY_AFTER),
        _ => None,
    }
}

impl From<CursorError> for Problem {
    fn from(error: CursorError) -> Self {
        let kind = match error {
            CursorError::Form { .. } => ProblemKind::InvalidParameter,
            CursorError::Malformed | CursorError::Foreign => ProblemKind::InvalidCursor,
        };
        Self::new(kind, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_type_of_its_own_and_is_an_error() {
        let mut uris: Vec<_> = ProblemKind::ALL.iter().map(|kind| kind.uri()).collect();
        uris.sort_unstable();
        uris.dedup();
        assert_eq!(uris.len(), ProblemKind::ALL.len());
        assert!(ProblemKind::ALL.iter().all(|kind| kind.status().as_u16() >= 400));
    }

    #[test]
    fn a_refusal_of_content_is_not_to_be_tried_again() {
        let doing = "sending";
        let refused = StoreError::Refused { doing, service: "SQS", reason: String::new() };
        for (error, kind, is_tried) in [
            (refused, ProblemKind::ContentRefused, false),
            (StoreError::Sqs { doing, source: "no answer".into() }, ProblemKind::Unavailable, true),
        ] {
            let answer = Problem::from(error).into_response();
            assert_eq!(answer.status(), kind.status());
            assert_eq!(answer.headers().contains_key(header::RETRY_AFTER), is_tried);
        }
    }
}
