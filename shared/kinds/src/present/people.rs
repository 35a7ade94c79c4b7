//! What a viewer sees of users.

use std::collections::{BTreeSet, HashMap};

use fanfold_core::limits::CARD_MARK_WITHIN;
use fanfold_core::{Handle, HandleHash, UserId, UserRef};
use fanfold_engines::card::{Found, Wanted};
use fanfold_engines::reading::ReadContext;
use fanfold_engines::valkey::CardId;
use fanfold_runtime::StoreError;

use super::viewer::Viewer;
use crate::follows::cards::Follows;
use crate::people::about::About;
use crate::people::cards::{HandleOwner, UserCard};
use crate::{App, Error};

/// A user as a viewer sees them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenUser {
    /// What every viewer sees.
    pub card: UserCard,
    /// Whether the viewer follows this user.
    pub is_followed: bool,
    /// What the user says. In lists: nothing.
    pub about: About,
}

/// Reads what every viewer sees of a user. Fails with [`Error::NoSuchUser`] if there is no profile, or the user is hidden
/// from the viewer.
pub async fn user(
    app: &App,
    viewer: &Viewer,
    user: &UserRef,
    reading: &ReadContext,
) -> Result<UserCard, Error> {
    let found = find(app, Looks { viewer: None, about: false }, user, reading).await?;
    let found = found.filter(|found| viewer.sees(found.card.id));
    found.map(|found| found.card).ok_or_else(|| Error::NoSuchUser(user.clone()))
}

/// Reads a user with the viewer's relation, and what the user says. Fails like [`user`].
pub async fn profile(
    app: &App,
    viewer: &Viewer,
    user: &UserRef,
    reading: &ReadContext,
) -> Result<SeenUser, Error> {
    let looks = Looks { viewer: Some(viewer.user), about: true };
    let found = find(app, looks, user, reading).await?;
    let found = found.filter(|found| viewer.sees(found.card.id));
    found.ok_or_else(|| Error::NoSuchUser(user.clone()))
}

/// The users with these ids. Users without a profile are left out.
pub async fn users(
    app: &App,
    users: &[UserId],
    reading: &ReadContext,
) -> Result<HashMap<UserId, UserCard>, StoreError> {
    let seen = look(app, Looks { viewer: None, about: false }, users, reading).await?;
    Ok(seen.into_iter().map(|(user, seen)| (user, seen.card)).collect())
}

/// The users with these ids, as the viewer sees them. Users without a profile and users hidden from the viewer are left out.
pub async fn seen(
    app: &App,
    viewer: &Viewer,
    mut users: Vec<UserId>,
    reading: &ReadContext,
) -> Result<HashMap<UserId, SeenUser>, StoreError> {
    users.retain(|user| viewer.sees(*user));
    look(app, Looks { viewer: Some(viewer.user), about: false }, &users, reading).await
}

/// The user who has a handle, or had it a short time ago.
pub(crate) async fn owner(
    app: &App,
    handle: &Handle,
    reading: &ReadContext,
) -> Result<Option<UserId>, StoreError> {
    let wanted = Wanted::default().and::<HandleOwner>([handle.clone()]);
    let found = wanted.read(&app.valkey, app, reading).await?;
    Ok(found.get::<App, HandleOwner>(handle).and_then(|owner| owner.0))
}

/// What is read of users, beside their cards.
#[derive(Clone, Copy)]
struct Looks {
    /// The viewer whose relations to them are read.
    viewer: Option<UserId>,
    /// Whether it is read what they say.
    about: bool,
}

/// The users who have these handles now. Handles that belong to nobody are left out.
pub(crate) async fn owners(
    app: &App,
    handles: BTreeSet<&Handle>,
    reading: &ReadContext,
) -> Result<HashMap<Handle, UserId>, StoreError> {
    if handles.is_empty() {
        return Ok(HashMap::new());
    }
    let wanted = Wanted::default().and::<HandleOwner>(handles.iter().copied().cloned());
    let hints = wanted.read(&app.valkey, app, reading).await?;
    let hints = handles.into_iter().filter_map(|handle| {
        Some((handle, hints.get::<App, HandleOwner>(handle).and_then(|owner| owner.0)?))
    });
    let hints: Vec<(&Handle, UserId)> = hints.collect();
    let ids: Vec<UserId> = hints.iter().map(|(_, user)| *user).collect();
    let cards = users(app, &ids, reading).await?;
    let has = |handle: &Handle, user| cards.get(&user).is_some_and(|card| card.handle == *handle);
    // mutation: hint-of-a-mention
    let (known, unsure): (Vec<_>, Vec<_>) =
        hints.into_iter().partition(|(handle, user)| has(handle, *user));
    let mut owners: HashMap<Handle, UserId> =
        known.into_iter().map(|(handle, user)| (handle.clone(), user)).collect();
    if !unsure.is_empty() {
        // the handles were given up or taken over since the cards were filled
        let unsure: BTreeSet<&Handle> = unsure.into_iter().map(|(handle, _)| handle).collect();
        let cards: Vec<CardId> =
            unsure.iter().map(|handle| CardId::handle(HandleHash::of(handle))).collect();
        reading.ask(app.valkey.cards_changed_within(CARD_MARK_WITHIN, &cards)).await?;
        owners.extend(app.users.owners(unsure).await?);
    }
    Ok(owners)
}

/// The users with these ids.
async fn look(
    app: &App,
    Looks { viewer, about }: Looks,
    users: &[UserId],
    reading: &ReadContext,
) -> Result<HashMap<UserId, SeenUser>, StoreError> {
    let others = |viewer| users.iter().filter(move |user| **user != viewer);
    let pairs =
        viewer.into_iter().flat_map(|viewer| others(viewer).map(move |user| (viewer, *user)));
    let wanted = Wanted::default()
        .and::<Option<UserCard>>(users.iter().copied())
        .and::<Follows>(pairs)
        .and::<About>(users.iter().copied().filter(|_| about));
    let found = wanted.read(&app.valkey, app, reading).await?;
    let is_followed = |viewer, user| {
        found.get::<App, Follows>(&(viewer, user)).is_some_and(|Follows(follows)| *follows)
    };
    let seen = |user: &UserId| {
        let card = card(&found, *user)?.clone();
        let is_followed = viewer.is_some_and(|viewer| is_followed(viewer, *user));
        let about = found.get::<App, About>(user).cloned().unwrap_or_default();
        Some((*user, SeenUser { card, is_followed, about }))
    };
    Ok(users.iter().filter_map(seen).collect())
}

fn card(found: &Found, user: UserId) -> Option<&UserCard> {
    found.get::<App, Option<UserCard>>(&user)?.as_ref()
}

/// The user with this id or handle. `None` if there is none.
async fn find(
    app: &App,
    looks: Looks,
    user: &UserRef,
    reading: &ReadContext,
) -> Result<Option<SeenUser>, StoreError> {
    let one = async |user| Ok(look(app, looks, &[user], reading).await?.remove(&user));
    let handle = match user {
        UserRef::Id(user) => return one(*user).await,
        UserRef::Handle(handle) => handle,
    };
    let Some(user) = owner(app, handle, reading).await? else { return Ok(None) };
    let found = one(user).await?;
    // mutation: card-handle
    if found.as_ref().is_some_and(|found| found.card.handle == *handle) {
        return Ok(found);
    }
    // the handle was given up or taken over since the card was filled
    let id = CardId::handle(HandleHash::of(handle));
    reading.ask(app.valkey.cards_changed_within(CARD_MARK_WITHIN, &[id])).await?;
    match app.users.owner(handle).await? {
        Some(user) => Ok(one(user).await?.filter(|found| found.card.handle == *handle)),
        None => Ok(None),
    }
}
