//! Users and lists of them.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use fanfold_core::UserRef;
use fanfold_core::content::{Data, Link};
use fanfold_core::limits::NAME_CHARS_MAX;
use fanfold_core::text::pattern;
use fanfold_kinds::people::about::About;
use fanfold_kinds::people::cards::UserCard;
use fanfold_kinds::present::SeenUser;
use fanfold_web::extract::segment;
use fanfold_web::{Problem, shared_answers};
use serde::{Deserialize, Serialize};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{IntoParams, ToSchema};

use super::list_view;

/// The user in a path. Refuses another form (400).
#[derive(Debug, Clone, PartialEq, Eq, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct UserPath {
    /// A user id, or @ and a handle.
    #[param(value_type = String, pattern = "^([0-9a-f]{16}|@[a-z0-9_]{1,30})$", min_length = 2, max_length = 31)]
    pub user: UserRef,
}

impl<S: Send + Sync> FromRequestParts<S> for UserPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        Ok(Self { user: segment(parts, state).await? })
    }
}

/// The author of a post.
#[derive(Debug, Serialize, ToSchema)]
pub struct AuthorView {
    #[schema(pattern = "^[0-9a-f]{16}$")]
    pub id: String,
    #[schema(pattern = "^[a-z0-9_]{1,30}$")]
    pub handle: String,
    pub name: String,
}

/// A profile.
#[derive(Debug, Serialize, ToSchema)]
pub struct UserView {
    #[schema(pattern = "^[0-9a-f]{16}$")]
    pub id: String,
    #[schema(pattern = "^[a-z0-9_]{1,30}$")]
    pub handle: String,
    pub name: String,
    /// The number of posts.
    pub posts: u64,
    /// The number of followers. It changes within a few seconds of a follow or unfollow.
    pub followers: u64,
    /// The number of users that this user follows.
    pub following: u64,
    /// Whether the caller follows this user.
    pub you_follow: bool,
    /// What the user says. It is not in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub about: Option<AboutView>,
}

/// What a user says about themselves.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = About)]
pub struct AboutView {
    pub bio: String,
    #[schema(max_items = 4)]
    pub links: Vec<LinkView>,
    /// What the user's app sent, as it was sent.
    #[schema(required, value_type = Option<Object>)]
    pub data: Option<Data>,
}

/// A link of a profile.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Link)]
pub struct LinkView {
    #[serde(default)]
    #[schema(schema_with = label_schema)]
    pub label: String,
    #[schema(pattern = "^[Hh][Tt][Tt][Pp][Ss]://[^/\\\\\\s]", max_length = 2048)]
    pub url: String,
}

fn label_schema() -> RefOr<Schema> {
    let description = "What is shown: at most 50 characters. Empty: the URL. A character of more than 12 code points is refused.";
    shared_answers::text(description, pattern::label(), NAME_CHARS_MAX)
}

impl From<About> for AboutView {
    fn from(About { bio, links, data }: About) -> Self {
        let link = |Link { label, url }| LinkView { label, url };
        Self { bio, links: links.into_iter().map(link).collect(), data }
    }
}

impl UserView {
    /// A profile with what the user says.
    pub fn profile(mut user: SeenUser) -> Self {
        let about = Some(AboutView::from(std::mem::take(&mut user.about)));
        Self { about, ..Self::from(user) }
    }
}

list_view! {
    /// A page of a list of users.
    UserList,
    UserView
}

impl From<&UserCard> for AuthorView {
    fn from(profile: &UserCard) -> Self {
        Self {
            id: profile.id.to_string(),
            handle: profile.handle.to_string(),
            name: profile.name.clone(),
        }
    }
}

impl From<SeenUser> for UserView {
    fn from(SeenUser { card: profile, is_followed, about: _ }: SeenUser) -> Self {
        Self {
            id: profile.id.to_string(),
            handle: profile.handle.to_string(),
            name: profile.name,
            posts: profile.posts,
            followers: profile.followers,
            following: profile.following,
            you_follow: is_followed,
            about: None,
        }
    }
}
