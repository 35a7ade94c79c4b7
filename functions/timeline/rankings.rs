//! The routes of rankings.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use fanfold_engines::reading::ReadContext;
use fanfold_kinds::App;
use fanfold_kinds::rankings::page;
use fanfold_runtime::clock;
use fanfold_web::problem::{BadRequest, Common, NotFound};
use fanfold_web::rankings::{RankingPath, RankingQuery, RankingView};
use fanfold_web::{Problem, Query, Viewing};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(ranking))
}

/// Read a ranking of posts or authors
#[utoipa::path(
    get, path = "/v1/rankings/{name}", tag = "rankings", security(("jwt" = [])),
    params(RankingPath, RankingQuery),
    responses(
        (status = 200, description = "A page of the ranking.", body = RankingView),
        BadRequest,
        NotFound,
        Common,
    ),
)]
async fn ranking(
    State(app): State<Arc<App>>,
    Viewing(viewer): Viewing,
    RankingPath { name }: RankingPath,
    Query(query): Query<RankingQuery>,
) -> Result<Json<RankingView>, Problem> {
    let (limit, after) = (query.limit()?, query.after(name)?);
    let reading = ReadContext::new(clock::now());
    Ok(Json(page(&app, &viewer, name, after, limit, &reading).await?.into()))
}
