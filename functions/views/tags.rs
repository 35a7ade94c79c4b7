//! Tags.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use fanfold_kinds::tags::names::NamedTag;
use fanfold_web::extract::segment;
use fanfold_web::{Problem, ProblemKind};
use serde::Serialize;
use utoipa::{IntoParams, ToSchema};

/// The tag in a path. Refuses another form (400).
#[derive(Debug, Clone, IntoParams)]
#[into_params(parameter_in = Path, names("tag"))]
pub struct TagPath(
    /// A tag in any spelling, with or without its sign (`%23`).
    #[param(value_type = String, pattern = "^[^\\s/?%\\\\]{1,101}$", min_length = 1, max_length = 101)]
    pub NamedTag,
);

impl<S: Send + Sync> FromRequestParts<S> for TagPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let text: String = segment(parts, state).await?;
        NamedTag::written(&text)
            .map(Self)
            .map_err(|error| Problem::new(ProblemKind::InvalidParameter, format!("tag: {error}")))
    }
}

/// A tag.
#[derive(Debug, Serialize, ToSchema)]
pub struct TagView {
    /// The form in which tags are compared. It is the same for all spellings.
    pub tag: String,
    /// A spelling, to be shown.
    pub name: String,
}

impl From<NamedTag> for TagView {
    fn from(NamedTag { tag, name }: NamedTag) -> Self {
        Self { tag: tag.into(), name }
    }
}
