//! The delivery of a post: the route and its view.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use fanfold_core::time::millis;
use fanfold_core::{PostId, Time};
use fanfold_kinds::App;
use fanfold_kinds::posts::{self, Receipt};
use fanfold_web::problem::NotFound;
use fanfold_web::routes;
use fanfold_web::{Caller, Problem};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;

use crate::views::posts::PostPath;

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(delivery))
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

/// Read the delivery status of the caller's own post
#[utoipa::path(
    get, path = "/v1/posts/{id}/delivery", tag = "posts",
    params(PostPath),
    responses(
        (status = 200, description = "How far the delivery is.", body = DeliveryView),
        (status = 403, description = "The post belongs to another user."),
        NotFound,
    ),
)]
async fn delivery(
    State(app): State<Arc<App>>,
    caller: Caller,
    PostPath { id }: PostPath,
) -> Result<Json<DeliveryView>, Problem> {
    let receipt = posts::delivery(&app, &caller.identity, id).await?;
    Ok(Json(DeliveryView::new(id, &receipt)))
}
