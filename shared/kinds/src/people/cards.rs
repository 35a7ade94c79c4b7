//! The cards of people: what is shown of a user, what the user says, and who has a handle.

use fanfold_core::kinds::KeyKind;
use fanfold_core::{Handle, HandleHash, UserId};
use fanfold_engines::card::{Card, Fetched, Found, Text};
use fanfold_engines::valkey::CardId;
use serde::{Deserialize, Serialize};

use super::about::About;
use super::items::Profile;
use crate::App;

/// What is shown of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserCard {
    /// The user's id.
    pub id: UserId,
    /// The handle, without `@`.
    pub handle: Handle,
    /// The name that is shown.
    pub name: String,
    /// The number of posts.
    pub posts: u64,
    /// The number of followers at the last count.
    pub followers: u64,
    /// The number of followed authors.
    pub following: u64,
}

impl From<Profile> for UserCard {
    fn from(profile: Profile) -> Self {
        let Profile { id, handle, name, posts, followers, following, .. } = profile;
        Self { id, handle, name, posts, followers, following }
    }
}

/// The cards that a change of a profile changes.
pub fn of_profile(user: UserId) -> [CardId; 2] {
    [CardId::user(user), About::id(&user)]
}

/// In JSON. Names are short, because they are stored with each card.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct UserText {
    #[serde(rename = "h", default, skip_serializing_if = "Option::is_none")]
    profile: Option<ProfileText>,
}

#[derive(Serialize, Deserialize)]
struct ProfileText(Handle, String, u64, u64, u64);

/// The user, if there is a profile.
impl Card<App> for Option<UserCard> {
    type Of = UserId;

    fn id(user: &UserId) -> CardId {
        CardId::user(*user)
    }

    fn of(id: CardId) -> Option<UserId> {
        id.id(KeyKind::UserCard).map(|user| UserId(user as u64))
    }

    fn fetch(app: &App, users: Vec<UserId>) -> Fetched<'_, UserId, Self> {
        Box::pin(async move {
            let mut profiles = app.users.profiles(&users).await?;
            let card = |user| (user, profiles.remove(&user).map(UserCard::from));
            Ok(users.into_iter().map(card).collect())
        })
    }

    fn text(&self) -> Option<Text> {
        let profile = self.clone().map(|card| {
            let UserCard { id: _, handle, name, posts, followers, following } = card;
            ProfileText(handle, name, posts, followers, following)
        });
        let keep = if profile.is_some() { Text::of } else { Text::of_nothing };
        serde_json::to_vec(&UserText { profile }).ok().map(keep)
    }

    fn decode(user: &UserId, text: &[u8]) -> Option<Self> {
        let UserText { profile } = serde_json::from_slice(text).ok()?;
        Some(profile.map(|profile| {
            let ProfileText(handle, name, posts, followers, following) = profile;
            UserCard { id: *user, handle, name, posts, followers, following }
        }))
    }
}

/// The user who had the handle when the card was filled. The user's card says whether this is still so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HandleOwner(pub Option<UserId>);

impl Card<App> for HandleOwner {
    type Of = Handle;

    fn id(handle: &Handle) -> CardId {
        CardId::handle(HandleHash::of(handle))
    }

    fn of(_: CardId) -> Option<Handle> {
        // the name has a hash alone; and the card may be old, which is no fault
        None
    }

    fn fetch(app: &App, handles: Vec<Handle>) -> Fetched<'_, Handle, Self> {
        Box::pin(async move {
            let mut owners = app.users.owners(handles.iter().collect()).await?;
            let owner = |handle: Handle| {
                let owner = owners.remove(&handle);
                (handle, Self(owner))
            };
            Ok(handles.into_iter().map(owner).collect())
        })
    }

    fn text(&self) -> Option<Text> {
        let keep = if self.0.is_some() { Text::of } else { Text::of_nothing };
        serde_json::to_vec(&self.0).ok().map(keep)
    }

    fn decode(_: &Handle, text: &[u8]) -> Option<Self> {
        serde_json::from_slice(text).ok().map(Self)
    }
}

/// What a user says about themselves.
impl Card<App> for About {
    type Of = UserId;

    fn id(user: &UserId) -> CardId {
        CardId::of_user(KeyKind::AboutCard, *user)
    }

    fn of(id: CardId) -> Option<UserId> {
        id.id(KeyKind::AboutCard).map(|user| UserId(user as u64))
    }

    fn fetch(app: &App, users: Vec<UserId>) -> Fetched<'_, UserId, Self> {
        Box::pin(async move {
            let mut found = app.users.abouts(&users).await?;
            let about = |user| (user, found.remove(&user).unwrap_or_default());
            Ok(users.into_iter().map(about).collect())
        })
    }

    fn text(&self) -> Option<Text> {
        serde_json::to_vec(self).ok().map(Text::of)
    }

    /// Most users say nothing, which is kept, too, but not of users who do not exist: a caller could fill Valkey with them.
    fn is_kept(user: &UserId, found: &Found) -> bool {
        found.get::<App, Option<UserCard>>(user).is_some_and(Option::is_some)
    }

    fn decode(_: &UserId, text: &[u8]) -> Option<Self> {
        serde_json::from_slice(text).ok()
    }
}
