//! Likes: the routes, their queries and their views.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use fanfold_core::{Cursor, ListId, PostId, UserId};
use fanfold_engines::reading::ReadContext;
use fanfold_kinds::App;
use fanfold_kinds::likes::{self, LikedPage, LikedPlace, LikerPlace};
use fanfold_runtime::clock;
use fanfold_web::extract::{limit, place};
use fanfold_web::problem::{BadRequest, Common, NoProfile, NotFound, TooMany};
use fanfold_web::{Caller, Problem, Query, Viewing};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::views::people::UserList;
use crate::views::posts::{PostPath, PostView};

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(like, unlike))
        .routes(routes!(likers))
        .routes(routes!(liked))
}

/// The query parameters of the list of liked posts.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LikesQuery {
    /// The maximum number of items on a page.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 100, default = 20)]
    limit: Option<String>,
    /// The `next_cursor` of the previous page. A cursor is opaque: one that was not issued for this list is answered
    /// with 404.
    #[param(pattern = "^[A-Za-z0-9_-]{51}$", min_length = 51, max_length = 51)]
    cursor: Option<String>,
}

impl LikesQuery {
    /// The number of items on a page. Refuses a number outside 1 to [`PAGE_ITEMS_MAX`] (400).
    pub fn limit(&self) -> Result<usize, Problem> {
        limit(self.limit.as_deref())
    }

    /// The place after which the page begins. None: at the beginning. Refuses a cursor of another list (404) or of
    /// another form (400).
    pub fn after(&self, owner: UserId) -> Result<Option<LikedPlace>, Problem> {
        place(self.cursor.as_deref(), ListId::Likes(owner), |cursor| match cursor {
            Cursor::Liked { at, post } => Some((at, post)),
            _ => None,
        })
    }
}

/// The query parameters of the list of users who like a post.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LikersQuery {
    /// The maximum number of items on a page.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 100, default = 20)]
    limit: Option<String>,
    /// The `next_cursor` of the previous page. A cursor is opaque: one that was not issued for this list is answered
    /// with 404.
    #[param(pattern = "^[A-Za-z0-9_-]{40}$", min_length = 40, max_length = 40)]
    cursor: Option<String>,
}

impl LikersQuery {
    /// The number of items on a page. Refuses a number outside 1 to [`PAGE_ITEMS_MAX`] (400).
    pub fn limit(&self) -> Result<usize, Problem> {
        limit(self.limit.as_deref())
    }

    /// The place after which the page begins. None: at the beginning. Refuses a cursor of another list (404) or of
    /// another form (400).
    pub fn after(&self, post: PostId) -> Result<Option<LikerPlace>, Problem> {
        place(self.cursor.as_deref(), ListId::Likers(post), |cursor| match cursor {
            Cursor::Liker { at, user } => Some((at, user)),
            _ => None,
        })
    }
}

/// A page of liked posts.
#[derive(Debug, Serialize, ToSchema)]
pub struct LikedList {
    /// The posts, newest like first.
    pub items: Vec<PostView>,
    /// The cursor of the next page. Null at the end of the list.
    #[schema(required)]
    pub next_cursor: Option<String>,
}

impl LikedList {
    /// A page of the posts that a user likes, with its cursor.
    pub fn new(owner: UserId, page: LikedPage) -> Self {
        let list = ListId::Likes(owner);
        let next_cursor = page.next_after.map(|(at, post)| Cursor::Liked { at, post }.encode(list));
        Self { items: page.posts.into_iter().map(PostView::from).collect(), next_cursor }
    }
}

/// Like a post
#[utoipa::path(
    put, path = "/v1/posts/{id}/like", tag = "likes", security(("jwt" = [])),
    params(PostPath),
    responses(
        (status = 204, description = "The caller likes the post, now or since an earlier request."),
        NoProfile,
        BadRequest,
        NotFound,
        TooMany,
        Common,
    ),
)]
async fn like(
    State(app): State<Arc<App>>,
    caller: Caller,
    PostPath { id }: PostPath,
) -> Result<StatusCode, Problem> {
    likes::put(&app, &caller.identity, id, true, clock::now()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Take a like back
#[utoipa::path(
    delete, path = "/v1/posts/{id}/like", tag = "likes", security(("jwt" = [])),
    params(PostPath),
    responses(
        (status = 204, description = "The caller no longer likes the post, or never did."),
        NoProfile,
        BadRequest,
        NotFound,
        TooMany,
        Common,
    ),
)]
async fn unlike(
    State(app): State<Arc<App>>,
    caller: Caller,
    PostPath { id }: PostPath,
) -> Result<StatusCode, Problem> {
    likes::put(&app, &caller.identity, id, false, clock::now()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// List the users who like a post, newest like first
#[utoipa::path(
    get, path = "/v1/posts/{id}/likes", tag = "likes", security(("jwt" = [])),
    params(PostPath, LikersQuery),
    responses(
        (status = 200, description = "A page of users.", body = UserList),
        BadRequest,
        NotFound,
        Common,
    ),
)]
async fn likers(
    State(app): State<Arc<App>>,
    Viewing(viewer): Viewing,
    PostPath { id }: PostPath,
    Query(query): Query<LikersQuery>,
) -> Result<Json<UserList>, Problem> {
    let list = ListId::Likers(id);
    let (limit, after, reading) =
        (query.limit()?, query.after(id)?, ReadContext::new(clock::now()));
    let page = likes::likers(&app, &viewer, id, after, limit, &reading).await?;
    Ok(Json(UserList::new(list, page)))
}

/// List the posts that the caller likes, newest like first
#[utoipa::path(
    get, path = "/v1/likes", tag = "likes", security(("jwt" = [])), params(LikesQuery),
    responses(
        (status = 200, description = "A page of posts.", body = LikedList),
        BadRequest,
        NotFound,
        Common,
    ),
)]
async fn liked(
    State(app): State<Arc<App>>,
    Viewing(viewer): Viewing,
    Query(query): Query<LikesQuery>,
) -> Result<Json<LikedList>, Problem> {
    let (limit, after) = (query.limit()?, query.after(viewer.user)?);
    let reading = ReadContext::new(clock::now());
    let page = likes::liked(&app, &viewer, after, limit, &reading).await?;
    Ok(Json(LikedList::new(viewer.user, page)))
}
