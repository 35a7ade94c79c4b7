//! Rankings: the route and its views.

use std::sync::Arc;

use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use fanfold_core::{List, Ranking};
use fanfold_engines::reading::ReadContext;
use fanfold_kinds::App;
use fanfold_kinds::rankings::{PlacesOf, RankingEntry, RankingPage, Shown, page};
use fanfold_runtime::clock;
use fanfold_web::extract::segment;
use fanfold_web::problem::NotFound;
use fanfold_web::routes;
use fanfold_web::{ListQuery, Problem, Query, Viewing};
use serde::Serialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;

use crate::views::people::UserView;
use crate::views::posts::PostView;
use crate::views::tags::TagView;

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(ranking))
}

/// The ranking in a path. Refuses another name (400).
#[derive(Debug, Clone, Copy, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct RankingPath {
    /// The name of a ranking. `posts-day`: posts by the likes of the last 24 hours, the earlier first on a tie. `posts-week`: the
    /// same for the last seven days. `authors`: authors by the likes that their posts have, then by their followers. `tags-day`: tags by the authors
    /// whose posts of the last 24 hours have them.
    #[param(value_type = String, pattern = "^(posts-day|posts-week|authors|tags-day)$", min_length = 7, max_length = 10)]
    pub name: Ranking,
}

impl<S: Send + Sync> FromRequestParts<S> for RankingPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        Ok(Self { name: segment(parts, state).await? })
    }
}

/// A post, an author or a tag in a ranking.
#[derive(Debug, Serialize, ToSchema)]
pub struct RankedView {
    /// The rank, from 1. Each is used once. The rank of a post that was deleted since the ranking was made is left out.
    #[schema(minimum = 1, maximum = 500)]
    pub rank: u64,
    /// The number of likes that count for the rank. For a ranking of a day or a week: likes given minus likes taken back in
    /// this time. Null in a ranking of tags.
    #[schema(required, minimum = 1)]
    pub likes: Option<u64>,
    /// The number of authors who used the tag. Null in other rankings.
    #[schema(required, minimum = 1)]
    pub authors: Option<u64>,
    /// The post. Null in other rankings.
    #[schema(required)]
    pub post: Option<PostView>,
    /// The author. Null in other rankings.
    #[schema(required)]
    pub user: Option<UserView>,
    /// The tag, in the spelling that most of its posts have. Null in other rankings.
    #[schema(required)]
    pub tag: Option<TagView>,
}

/// A page of a ranking.
#[derive(Debug, Serialize, ToSchema)]
pub struct RankingView {
    /// The posts, authors or tags, best first. A ranking has at most 500.
    pub items: Vec<RankedView>,
    /// The time of the ranking, in UTC. A ranking that is read is made again after a time that the operator sets, by default a
    /// minute.
    #[schema(format = DateTime)]
    pub made_at: String,
    /// The cursor of the next page. Null at the end of the ranking.
    #[schema(required)]
    pub next_cursor: Option<String>,
}

impl From<RankingEntry> for RankedView {
    fn from(RankingEntry { place, count, shown }: RankingEntry) -> Self {
        let (likes, authors) = match shown {
            Shown::Post(_) | Shown::Author(_) => (Some(count), None),
            Shown::Tag(_) => (None, Some(count)),
        };
        let (post, user, tag) = match shown {
            Shown::Post(post) => (Some((*post).into()), None, None),
            Shown::Author(author) => (None, Some((*author).into()), None),
            Shown::Tag(tag) => (None, None, Some(tag.into())),
        };
        Self { rank: place, likes, authors, post, user, tag }
    }
}

impl From<RankingPage> for RankingView {
    fn from(page: RankingPage) -> Self {
        let list = PlacesOf(page.ranking);
        let next_cursor = page.next_after.map(|place| list.cursor(&place));
        let items = page.entries.into_iter().map(RankedView::from).collect();
        Self { items, made_at: page.at.rfc3339(), next_cursor }
    }
}

/// Read a ranking of posts or authors
#[utoipa::path(
    get, path = "/v1/rankings/{name}", tag = "rankings",
    params(RankingPath, ListQuery<PlacesOf>),
    responses(
        (status = 200, description = "A page of the ranking.", body = RankingView),
        NotFound,
    ),
)]
async fn ranking(
    State(app): State<Arc<App>>,
    Viewing(viewer): Viewing,
    RankingPath { name }: RankingPath,
    Query(query): Query<ListQuery<PlacesOf>>,
) -> Result<Json<RankingView>, Problem> {
    let (limit, after) = (query.limit()?, query.after(&PlacesOf(name))?);
    let reading = ReadContext::new(clock::now());
    Ok(Json(page(&app, &viewer, name, after, limit, &reading).await?.into()))
}
