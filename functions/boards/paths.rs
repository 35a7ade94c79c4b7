//! The paths of boards and their members.

use std::borrow::Cow;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use fanfold_core::limits::BOARD_NAME_CHARS_MAX;
use fanfold_core::text::pattern::path_name;
use fanfold_core::{BoardName, MemberName};
use fanfold_web::extract::{parsed, segment, segments};
use fanfold_web::{Problem, ProblemKind, shared_answers};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{IntoParams, PartialSchema, ToSchema};

/// The name of a board.
pub(super) struct BoardNameText;

/// The name of a member.
pub(super) struct MemberText;

macro_rules! name_schema {
    ($text:ident, $name:literal) => {
        impl PartialSchema for $text {
            fn schema() -> RefOr<Schema> {
                let description = "1 to 128 characters, at least one of which is visible, without `/`, `?`, `#`, `%`, `\\` and \
                    U+FFFD, which a path cannot carry, without control and private characters, without those that the name \
                    of a user cannot have, and without white space around them. `.` and `..` are not names.";
                shared_answers::text(description, path_name(), BOARD_NAME_CHARS_MAX)
            }
        }

        impl ToSchema for $text {
            fn name() -> Cow<'static, str> {
                $name.into()
            }
        }
    };
}

name_schema!(BoardNameText, "BoardName");
name_schema!(MemberText, "MemberName");

/// The board in a path. Refuses another form (400).
#[derive(Debug, Clone, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct BoardPath {
    /// The name of a board.
    #[param(value_type = BoardNameText)]
    pub board: BoardName,
}

/// The board and the member in a path. Refuses another form (400).
#[derive(Debug, Clone, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct MemberPath {
    /// The name of a board.
    #[param(value_type = BoardNameText)]
    pub board: BoardName,
    /// The name of a member.
    #[param(value_type = MemberText)]
    pub member: MemberName,
}

/// The board and the percentile in a path. Refuses another form (400).
#[derive(Debug, Clone, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct PercentilePath {
    /// The name of a board.
    #[param(value_type = BoardNameText)]
    pub board: BoardName,
    /// A percentile from 0 to 100, with at most two decimal digits.
    #[param(value_type = String, pattern = "^(100|[1-9]?[0-9](\\.[0-9]{1,2})?)$", min_length = 1, max_length = 5)]
    pub percentile: Percentile,
}

/// A percentile in hundredths of a percent, from 0 to 10,000.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Percentile(pub u64);

impl Percentile {
    fn parse(text: &str) -> Option<Self> {
        let (whole, part) = text.split_once('.').unwrap_or((text, "00"));
        let digits =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let is_form = digits(whole) && digits(part) && whole.len() <= 3 && part.len() <= 2;
        let is_plain = whole.len() == 1 || !whole.starts_with('0');
        let hundredths: u64 = format!("{part:0<2}").parse().ok().filter(|_| is_form && is_plain)?;
        let percentile = whole.parse::<u64>().ok()? * 100 + hundredths;
        (percentile <= 10_000 && text != "100.0" && text != "100.00").then_some(Self(percentile))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for BoardPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        Ok(Self { board: segment(parts, state).await? })
    }
}

impl<S: Send + Sync> FromRequestParts<S> for MemberPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let (board, member) = segments::<S, (String, String)>(parts, state).await?;
        Ok(Self { board: parsed(&board)?, member: parsed(&member)? })
    }
}

impl<S: Send + Sync> FromRequestParts<S> for PercentilePath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let (board, percentile) = segments::<S, (String, String)>(parts, state).await?;
        let form = "a percentile is a number from 0 to 100, with at most two decimal digits";
        let percentile = Percentile::parse(&percentile)
            .ok_or_else(|| Problem::new(ProblemKind::InvalidId, form))?;
        Ok(Self { board: parsed(&board)?, percentile })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_has_one_spelling() {
        for (text, percentile) in
            [("0", 0), ("7", 700), ("99.9", 9_990), ("0.05", 5), ("50.25", 5_025), ("100", 10_000)]
        {
            assert_eq!(Percentile::parse(text), Some(Percentile(percentile)), "{text}");
        }
        for bad in ["", "101", "100.1", "100.0", "-1", "+1", "1.", ".5", "1.234", "01", "1e1", "٥"]
        {
            assert_eq!(Percentile::parse(bad), None, "{bad}");
        }
    }
}
