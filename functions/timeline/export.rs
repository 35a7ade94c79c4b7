//! The route of the export of the caller.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use fanfold_core::kinds::ItemKind;
use fanfold_kinds::App;
use fanfold_kinds::export::{EXPORT_PLACE_CHARS_MAX, ExportPlace, Exported, of_caller};
use fanfold_kinds::owned::Line;
use fanfold_runtime::clock;
use fanfold_web::problem::{NotFound, TooMany};
use fanfold_web::routes;
use fanfold_web::{Caller, Problem, ProblemKind, Query};
use serde::{Deserialize, Serialize};
use utoipa::openapi::{Array, ArrayBuilder, ObjectBuilder, Type};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(export))
}

/// The query parameters of an export.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ExportQuery {
    /// The `next_cursor` of the previous page. A cursor is opaque: one that no export returned is answered with 404.
    #[param(pattern = "^[A-Za-z0-9_-]{1,1024}$", min_length = 1, max_length = 1024)]
    cursor: Option<String>,
}

impl ExportQuery {
    fn place(&self) -> Result<ExportPlace, Problem> {
        let Some(cursor) = &self.cursor else { return Ok(ExportPlace::FIRST) };
        let is_form = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        if !(1..=EXPORT_PLACE_CHARS_MAX).contains(&cursor.len()) || !cursor.bytes().all(is_form) {
            let detail = format!(
                "cursor: send what next_cursor was, 1 to {EXPORT_PLACE_CHARS_MAX} characters"
            );
            return Err(Problem::new(ProblemKind::InvalidParameter, detail));
        }
        cursor.parse().map_err(|_| {
            Problem::new(ProblemKind::InvalidCursor, "cursor: no export returned this cursor")
        })
    }
}

/// A page of an export.
#[derive(Debug, Serialize, ToSchema)]
struct ExportView {
    #[schema(schema_with = items)]
    items: Vec<Line>,
    /// The cursor of the next page. Null on the last page. A page may have few items, or none, and not be the last.
    #[schema(required)]
    next_cursor: Option<String>,
}

/// The schema of the items of an export, with the types of all kinds.
fn items() -> Array {
    let types = ItemKind::ALL.iter().filter_map(|kind| kind.export().line_type());
    let name = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(types));
    let item = ObjectBuilder::new().property("type", name).required("type");
    let description = "What is stored, one object for each thing. `type` says what it is.";
    ArrayBuilder::new().items(item).description(Some(description)).build()
}

/// Export everything that is stored about the caller
///
/// In no particular order of time. Each page counts as 100 queries of pages that are pulled.
#[utoipa::path(
    get, path = "/v1/me/export", tag = "users", params(ExportQuery),
    responses(
        (status = 200, description = "A page of the export.", body = ExportView),
        NotFound, TooMany,
    ),
)]
async fn export(
    State(app): State<Arc<App>>,
    caller: Caller,
    Query(query): Query<ExportQuery>,
) -> Result<Json<ExportView>, Problem> {
    let Exported { lines, next } =
        of_caller(&app, caller.identity.user(), query.place()?, clock::now()).await?;
    Ok(Json(ExportView { items: lines, next_cursor: next.map(|place| place.to_string()) }))
}
