//! Users and lists of them.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use fanfold_core::UserRef;
use fanfold_kinds::people::cards::UserCard;
use fanfold_kinds::present::SeenUser;
use fanfold_web::Problem;
use fanfold_web::extract::segment;
use serde::Serialize;
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
    fn from(SeenUser { card: profile, is_followed }: SeenUser) -> Self {
        Self {
            id: profile.id.to_string(),
            handle: profile.handle.to_string(),
            name: profile.name,
            posts: profile.posts,
            followers: profile.followers,
            following: profile.following,
            you_follow: is_followed,
        }
    }
}
