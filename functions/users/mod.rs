//! The function `users` answers requests about profiles and relations, and serves the API description and the web page.

use std::sync::Arc;

use axum::Json;
use axum::extract::{FromRef, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use fanfold_core::content::{ContentError, Data, Link};
use fanfold_core::limits::{NAME_CHARS_MAX, TEXT_CHARS_MAX};
use fanfold_core::registry::FunctionSpec;
use fanfold_core::text::pattern;
use fanfold_core::{Relation, Time, UserRef};
use fanfold_engines::reading::ReadContext;
use fanfold_kinds::follows::{self, FollowersOf, FollowingOf};
use fanfold_kinds::people::about::AboutChange;
use fanfold_kinds::people::cards::UserCard;
use fanfold_kinds::people::{self, Put};
use fanfold_kinds::present::{self, SeenUser, Viewer};
use fanfold_kinds::{App, Error};
use fanfold_page::Page;
use fanfold_runtime::{StartError, clock};
use fanfold_web::extract::present as given;
use fanfold_web::problem::{NoProfile, NotFound, TooMany};
use fanfold_web::routes;
use fanfold_web::{
    Caller, JsonBody, ListQuery, Problem, ProblemKind, Query, Viewing, shared_answers,
};
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa::openapi::{RefOr, Schema};
use utoipa_axum::router::OpenApiRouter;

use crate::http::{Prepare, serve};
use crate::views::people::{LinkView, UserList, UserPath, UserView};

/// The state of the function's routes: the stores, and the web page.
#[derive(Clone)]
pub struct Users {
    pub app: Arc<App>,
    pub page: Page,
}

impl FromRef<Users> for Arc<App> {
    fn from_ref(users: &Users) -> Self {
        users.app.clone()
    }
}

impl FromRef<Users> for Page {
    fn from_ref(app: &Users) -> Self {
        app.page.clone()
    }
}

pub(crate) async fn run(
    function: &'static FunctionSpec,
    prepare: Prepare,
) -> Result<(), StartError> {
    // the page is not part of the API and its description
    let routes = routes().merge(fanfold_page::router().into());
    serve(function, routes, |app, config| Users { app, page: Page::new(config) }, prepare).await
}

/// The routes of the function, with their descriptions.
pub fn routes() -> OpenApiRouter<Users> {
    OpenApiRouter::new()
        .routes(routes!(get_me, put_me))
        .routes(routes!(get_user))
        .routes(routes!(follow, unfollow))
        .routes(routes!(get_followers))
        .routes(routes!(get_following))
        .routes(routes!(openapi))
}

/// Reads a page of a user's followers.
pub async fn followers(
    app: &App,
    viewer: &Viewer,
    user: &UserRef,
    query: &ListQuery<FollowersOf>,
    now: Time,
) -> Result<UserList, Problem> {
    let reading = ReadContext::new(now);
    let owner = present::user(app, viewer, user, &reading).await?.id;
    let list = FollowersOf(owner);
    let (limit, after) = (query.limit()?, query.after(&list)?);
    let page = follows::followers(app, viewer, owner, after, limit, &reading).await?;
    Ok(UserList::new(&list, page))
}

/// Reads a page of the users that a user follows.
pub async fn following(
    app: &App,
    viewer: &Viewer,
    user: &UserRef,
    query: &ListQuery<FollowingOf>,
    now: Time,
) -> Result<UserList, Problem> {
    let reading = ReadContext::new(now);
    let owner = present::user(app, viewer, user, &reading).await?.id;
    let list = FollowingOf(owner);
    let (limit, after) = (query.limit()?, query.after(&list)?);
    let page = follows::following(app, viewer, owner, after, limit, &reading).await?;
    Ok(UserList::new(&list, page))
}

/// A profile to create or change.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewProfile {
    #[schema(pattern = "^[a-z0-9_]{1,30}$", min_length = 1, max_length = 30)]
    handle: String,
    #[schema(schema_with = name_schema)]
    name: String,
    /// What the user says about themselves.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    about: Option<NewAbout>,
}

/// What users say about themselves. A field that is missing stays as it is.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewAbout {
    #[serde(default, deserialize_with = "given")]
    #[schema(schema_with = bio_schema, required = false)]
    bio: Option<String>,
    #[serde(default, deserialize_with = "given")]
    #[schema(max_items = 4, nullable = false)]
    links: Option<Vec<LinkView>>,
    /// A JSON object of the app, of at most 2 KiB without white space. It is returned as it was sent. Null: none.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<Object>)]
    data: Option<Option<Box<RawValue>>>,
}

fn bio_schema() -> RefOr<Schema> {
    let description = "At most 500 characters and 4 KiB, as in the text of a post. A character of more than 12 code points is refused.";
    shared_answers::text(description, pattern::bio(), TEXT_CHARS_MAX)
}

impl NewAbout {
    fn change(self) -> Result<AboutChange, ContentError> {
        let link = |LinkView { label, url }| Link { label, url };
        let links = self.links.map(|links| links.into_iter().map(link).collect());
        AboutChange::new(self.bio.as_deref(), links, Data::change(self.data)?)
    }
}

fn name_schema() -> RefOr<Schema> {
    let description = "1 to 50 characters as a person counts them, without the white space around them, and at most \
        400 bytes. A character of more than 12 code points is refused. The pattern counts code points, each with up to \
        two accents, so it is stricter otherwise.";
    shared_answers::text(description, pattern::name(), NAME_CHARS_MAX)
}

/// Read the caller's profile
#[utoipa::path(
    get, path = "/v1/me", tag = "users",
    responses(
        (status = 200, description = "The profile.", body = UserView),
        (status = 404, description = "The caller has no profile."),
    ),
)]
async fn get_me(
    State(app): State<Arc<App>>,
    Viewing(viewer): Viewing,
) -> Result<Json<UserView>, Problem> {
    let reading = ReadContext::new(clock::now());
    let own = UserRef::Id(viewer.user);
    match present::profile(&app, &viewer, &own, &reading).await {
        Ok(profile) => Ok(Json(UserView::profile(profile))),
        Err(Error::NoSuchUser(_)) => {
            let detail = "you have no profile; make one with PUT /v1/me";
            Err(Problem::new(ProblemKind::NoSuchUser, detail))
        }
        Err(error) => Err(error.into()),
    }
}

/// Create or change the caller's profile
#[utoipa::path(
    put, path = "/v1/me", tag = "users", request_body = NewProfile,
    responses(
        (status = 200, description = "The profile was changed.", body = UserView),
        (status = 201, description = "The profile was created.", body = UserView),
        (status = 409, description = "The handle or the caller's id belongs to another user."),
        (status = 422, description = "The handle, the name, or something that the user says is not allowed."),
        TooMany,
    ),
)]
async fn put_me(
    State(app): State<Arc<App>>,
    caller: Caller,
    JsonBody(profile): JsonBody<NewProfile>,
) -> Result<impl IntoResponse, Problem> {
    let NewProfile { handle, name, about } = profile;
    let about = about.map(NewAbout::change).transpose().map_err(Error::from)?.unwrap_or_default();
    let new = people::NewProfile { name: &name, about };
    let put = people::put_profile;
    let put = put(&app, &caller.identity, &handle, new, clock::now()).await?;
    let (status, profile, about) = match put {
        Put::Created(profile, about) => (StatusCode::CREATED, profile, about),
        Put::Changed(profile, about) => (StatusCode::OK, profile, about),
    };
    let own = SeenUser { card: UserCard::from(profile), is_followed: false, about };
    Ok((status, Json(UserView::profile(own))))
}

/// Read a profile
#[utoipa::path(
    get, path = "/v1/users/{user}", tag = "users",
    params(UserPath),
    responses(
        (status = 200, description = "The profile.", body = UserView),
        NotFound,
    ),
)]
async fn get_user(
    State(app): State<Arc<App>>,
    Viewing(viewer): Viewing,
    UserPath { user }: UserPath,
) -> Result<Json<UserView>, Problem> {
    let reading = ReadContext::new(clock::now());
    let seen = present::profile(&app, &viewer, &user, &reading).await?;
    Ok(Json(UserView::profile(seen)))
}

/// Follow a user
#[utoipa::path(
    put, path = "/v1/users/{user}/follow", tag = "users",
    params(UserPath),
    responses(
        (status = 204, description = "The caller follows the user, now or since an earlier request."),
        NoProfile,
        (status = 422, description = "The user is the caller, or the caller follows too many users."),
        NotFound, TooMany,
    ),
)]
async fn follow(
    State(app): State<Arc<App>>,
    caller: Caller,
    UserPath { user }: UserPath,
) -> Result<StatusCode, Problem> {
    let (relation, now) = (Relation::Following, clock::now());
    follows::relate(&app, &caller.identity, &user, relation, now).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Unfollow a user
#[utoipa::path(
    delete, path = "/v1/users/{user}/follow", tag = "users",
    params(UserPath),
    responses(
        (status = 204, description = "The caller no longer follows the user, or never did."),
        (status = 422, description = "The user is the caller."),
        NoProfile, NotFound, TooMany,
    ),
)]
async fn unfollow(
    State(app): State<Arc<App>>,
    caller: Caller,
    UserPath { user }: UserPath,
) -> Result<StatusCode, Problem> {
    let (relation, now) = (Relation::NotFollowing, clock::now());
    follows::relate(&app, &caller.identity, &user, relation, now).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// List a user's followers
#[utoipa::path(
    get, path = "/v1/users/{user}/followers", operation_id = "followers", tag = "users",
    params(UserPath, ListQuery<FollowersOf>),
    responses(
        (status = 200, description = "A page of users.", body = UserList),
        NotFound,
    ),
)]
async fn get_followers(
    State(app): State<Arc<App>>,
    Viewing(viewer): Viewing,
    UserPath { user }: UserPath,
    Query(query): Query<ListQuery<FollowersOf>>,
) -> Result<Json<UserList>, Problem> {
    Ok(Json(followers(&app, &viewer, &user, &query, clock::now()).await?))
}

/// List the users that a user follows
#[utoipa::path(
    get, path = "/v1/users/{user}/following", operation_id = "following", tag = "users",
    params(UserPath, ListQuery<FollowingOf>),
    responses(
        (status = 200, description = "A page of users.", body = UserList),
        NotFound,
    ),
)]
async fn get_following(
    State(app): State<Arc<App>>,
    Viewing(viewer): Viewing,
    UserPath { user }: UserPath,
    Query(query): Query<ListQuery<FollowingOf>>,
) -> Result<Json<UserList>, Problem> {
    Ok(Json(following(&app, &viewer, &user, &query, clock::now()).await?))
}

/// Read the description of this API
#[utoipa::path(
    get, path = "/openapi.json", tag = "specification",
    responses((
        status = 200, description = "The description of this API in OpenAPI 3.1.", content_type = "application/json",
    )),
)]
async fn openapi(asked: HeaderMap) -> Response {
    fanfold_page::description(&asked)
}
