//! Tags: the routes that read, and their views.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use fanfold_core::FeedId;
use fanfold_engines::reading::ReadContext;
use fanfold_kinds::App;
use fanfold_kinds::home::Of;
use fanfold_kinds::tags::cases::{self, TagsTimeline};
use fanfold_runtime::clock;
use fanfold_web::problem::{NotFound, TooMany};
use fanfold_web::routes;
use fanfold_web::{Problem, ProblemKind, Query, Viewing};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;

use super::feed::{FeedQuery, FeedView};
use super::{page, read};
use crate::views::tags::{TagPath, TagView};

/// Characters of a text that tags begin with.
const BEGINNING_CHARS_MAX: usize = 101;

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(tag))
        .routes(routes!(tag_posts))
        .routes(routes!(tags))
        .routes(routes!(timeline))
}

/// How a tag is used.
#[derive(Debug, Serialize, ToSchema)]
struct TagUseView {
    /// The form in which tags are compared. It is the same for all spellings.
    tag: String,
    /// The spelling that its newest posts have most often.
    name: String,
    /// The number of posts of the last seven days. Of a busy tag, the newest 1,000 are counted.
    #[schema(maximum = 1_000)]
    posts: u64,
    /// The number of authors of these posts.
    #[schema(maximum = 1_000)]
    authors: u64,
    /// Whether the caller follows the tag.
    following: bool,
}

/// Read how a tag is used
///
/// A tag that nobody uses has 0 posts. The tag *timeline* is read as `/v1/tags/%23timeline`.
#[utoipa::path(
    get, path = "/v1/tags/{tag}", tag = "tags", params(TagPath),
    responses((status = 200, description = "The tag.", body = TagUseView), TooMany),
)]
async fn tag(
    State(app): State<Arc<App>>,
    Viewing(viewer): Viewing,
    TagPath(named): TagPath,
) -> Result<Json<TagUseView>, Problem> {
    let (found, following) = cases::tag(&app, &viewer, &named.tag, clock::now()).await?;
    Ok(Json(TagUseView {
        following,
        tag: found.named.tag.into(),
        name: found.named.name,
        posts: found.posts,
        authors: found.authors,
    }))
}

/// Read the posts with a tag
///
/// Down to the first one. A new post is there a moment after its publication; an edit or a deletion shows within a second.
#[utoipa::path(
    get, path = "/v1/tags/{tag}/posts", tag = "tags", params(TagPath, FeedQuery),
    responses(
        (status = 200, description = "A page of the feed.", body = FeedView),
        NotFound, TooMany,
    ),
)]
async fn tag_posts(
    State(app): State<Arc<App>>,
    Viewing(viewer): Viewing,
    TagPath(named): TagPath,
    Query(query): Query<FeedQuery>,
) -> Result<Json<FeedView>, Problem> {
    Ok(Json(read(&app, &viewer, FeedId::of_tag(&named.tag), &query, clock::now()).await?))
}

/// The query parameters of a list of tags.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct TagsQuery {
    /// The beginning of tags, in any spelling.
    #[param(min_length = 1, max_length = 101, pattern = "^[\\s\\S]{1,101}$")]
    q: Option<String>,
}

/// A list of tags.
#[derive(Debug, Serialize, ToSchema)]
struct TagList {
    /// In the order of their characters.
    #[schema(max_items = 50)]
    items: Vec<TagView>,
}

/// List the tags that the caller follows, or that begin with a text
///
/// With `q`: at most 10 tags that have posts, to complete what somebody writes. Without it: the followed tags, at most 50.
#[utoipa::path(
    get, path = "/v1/tags", tag = "tags", params(TagsQuery),
    responses((status = 200, description = "The tags.", body = TagList), TooMany),
)]
async fn tags(
    State(app): State<Arc<App>>,
    Viewing(viewer): Viewing,
    Query(TagsQuery { q }): Query<TagsQuery>,
) -> Result<Json<TagList>, Problem> {
    let tags = match q {
        None => app.tags.followed(viewer.user).await?.tags,
        Some(text) if (1..=BEGINNING_CHARS_MAX).contains(&text.chars().count()) => {
            cases::beginning_with(&app, viewer.user, &text, clock::now()).await?
        }
        Some(_) => {
            let detail = format!("q: send 1 to {BEGINNING_CHARS_MAX} characters");
            return Err(Problem::new(ProblemKind::InvalidParameter, detail));
        }
    };
    Ok(Json(TagList { items: tags.into_iter().map(TagView::from).collect() }))
}

/// Read the posts of the tags that the caller follows
///
/// A post with several of them is there once.
#[utoipa::path(
    get, path = "/v1/tags/timeline", operation_id = "tags_timeline", tag = "tags", params(FeedQuery),
    responses(
        (status = 200, description = "A page of the posts.", body = FeedView),
        NotFound, TooMany,
    ),
)]
async fn timeline(
    State(app): State<Arc<App>>,
    Viewing(viewer): Viewing,
    Query(query): Query<FeedQuery>,
) -> Result<Json<FeedView>, Problem> {
    let followed = app.tags.followed(viewer.user).await?.tags;
    let (list, of) = (TagsTimeline(viewer.user), Of::Tags(&followed));
    let reading = ReadContext::of(viewer.user, clock::now());
    Ok(Json(page(&app, &viewer, (&list, of), &query, &reading).await?))
}
