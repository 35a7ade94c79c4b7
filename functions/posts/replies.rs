//! The context of a post: the route and its views.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use fanfold_core::{List as _, PostId};
use fanfold_engines::reading::ReadContext;
use fanfold_engines::table::ByTime;
use fanfold_kinds::App;
use fanfold_kinds::replies::{self, Above, Context, RepliesTo};
use fanfold_runtime::clock;
use fanfold_web::extract::limit;
use fanfold_web::problem::NotFound;
use fanfold_web::routes;
use fanfold_web::{Problem, ProblemKind, Query, Viewing};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;

use crate::views::posts::{PostPath, PostView};

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(context))
}

/// The query parameters of a context.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ContextQuery {
    /// Which replies come first: `newest` or `oldest`.
    #[param(value_type = Option<String>, pattern = "^(newest|oldest)$", min_length = 6, max_length = 6, default = "newest")]
    order: Option<String>,
    /// The maximum number of replies on a page.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 100, default = 20)]
    limit: Option<String>,
    /// The `next_cursor` of the previous page, which had the same order. A cursor is opaque: one that was not issued for this list is
    /// answered with 404.
    #[param(pattern = "^[A-Za-z0-9_-]{51}$", min_length = 51, max_length = 51)]
    cursor: Option<String>,
}

impl ContextQuery {
    /// The list of replies to this post. Refuses another order (400).
    fn list(&self, post: PostId) -> Result<RepliesTo, Problem> {
        let order = match self.order.as_deref() {
            None | Some("newest") => ByTime::NewestFirst,
            Some("oldest") => ByTime::OldestFirst,
            Some(_) => {
                let detail = "order must be newest or oldest";
                return Err(Problem::new(ProblemKind::InvalidParameter, detail));
            }
        };
        Ok(RepliesTo(post, order))
    }
}

/// The thread around a post.
#[derive(Debug, Serialize, ToSchema)]
struct ContextView {
    /// The posts above, from the first post of the thread down to the answered one: at most 40. In a deeper thread, they are the
    /// first post and the nearest ones.
    ancestors: Vec<AncestorView>,
    /// The replies below, at every depth, in the order of their ids. `in_reply_to` makes a tree of them.
    items: Vec<PostView>,
    /// The cursor of the next page of replies. Null at the end of the list.
    #[schema(required)]
    next_cursor: Option<String>,
}

/// A place above a post in its thread.
#[derive(Debug, Serialize, ToSchema)]
struct AncestorView {
    /// The id of the post.
    #[schema(pattern = "^[0-7][0-9A-HJKMNP-TV-Z]{25}$")]
    id: String,
    /// Null: the post is gone.
    #[schema(required)]
    post: Option<PostView>,
}

impl From<Above> for AncestorView {
    fn from(Above { id, post }: Above) -> Self {
        Self { id: id.to_string(), post: post.map(PostView::from) }
    }
}

/// Read the thread around a post
///
/// A post that is gone is a placeholder among the ancestors, and is left out of the replies; what answers it stays.
#[utoipa::path(
    get, path = "/v1/posts/{id}/context", tag = "posts",
    params(PostPath, ContextQuery),
    responses(
        (status = 200, description = "The ancestors, and a page of the replies.", body = ContextView),
        NotFound,
    ),
)]
async fn context(
    State(app): State<Arc<App>>,
    Viewing(viewer): Viewing,
    PostPath { id }: PostPath,
    Query(query): Query<ContextQuery>,
) -> Result<Json<ContextView>, Problem> {
    let (list, limit) = (query.list(id)?, limit(query.limit.as_deref())?);
    let after = query.cursor.as_deref().map(|cursor| list.place(cursor)).transpose()?;
    let reading = ReadContext::new(clock::now());
    let Context { above, replies } =
        replies::context(&app, &viewer, list, after, limit, &reading).await?;
    Ok(Json(ContextView {
        ancestors: above.into_iter().map(AncestorView::from).collect(),
        next_cursor: replies.next.map(|place| list.cursor(&place)),
        items: replies.items.into_iter().map(PostView::from).collect(),
    }))
}
