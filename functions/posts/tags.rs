//! Following tags.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use fanfold_kinds::App;
use fanfold_kinds::tags::cases;
use fanfold_runtime::clock;
use fanfold_web::problem::{NoProfile, TooMany};
use fanfold_web::routes;
use fanfold_web::{Caller, Problem};
use utoipa_axum::router::OpenApiRouter;

use crate::views::tags::TagPath;

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(follow, unfollow))
}

/// Follow a tag
///
/// It keeps the spelling of the first request.
#[utoipa::path(
    put, path = "/v1/tags/{tag}/follow", operation_id = "follow_tag", tag = "tags", params(TagPath),
    responses(
        (status = 204, description = "The caller follows the tag, now or since an earlier request."),
        NoProfile,
        (status = 422, description = "The caller follows 50 tags already."),
        TooMany,
    ),
)]
async fn follow(
    State(app): State<Arc<App>>,
    caller: Caller,
    TagPath(named): TagPath,
) -> Result<StatusCode, Problem> {
    cases::follow(&app, &caller.identity, &named, true, clock::now()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Unfollow a tag
#[utoipa::path(
    delete, path = "/v1/tags/{tag}/follow", operation_id = "unfollow_tag", tag = "tags", params(TagPath),
    responses(
        (status = 204, description = "The caller no longer follows the tag, or never did."),
        NoProfile, TooMany,
    ),
)]
async fn unfollow(
    State(app): State<Arc<App>>,
    caller: Caller,
    TagPath(named): TagPath,
) -> Result<StatusCode, Problem> {
    cases::follow(&app, &caller.identity, &named, false, clock::now()).await?;
    Ok(StatusCode::NO_CONTENT)
}
