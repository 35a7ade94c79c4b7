//! Profiles: create, change and find a profile.

use fanfold_core::id::Identity;
use fanfold_core::kinds::LimitKind;
use fanfold_core::limits::{DROP_SETTLES, TRIES_MAX};
use fanfold_core::{Handle, HandleHash, Time, UserId, UserRef, text};
use fanfold_engines::card::changed;
use fanfold_engines::outbox::announced;
use fanfold_engines::valkey::CardId;
use fanfold_runtime::StoreError;
use fanfold_runtime::retry::pause;

use super::about::{About, AboutChange};
use super::cards::of_profile;
use super::items::{Profile, ProfilePut, UserStore};
use crate::limit::within_limit;
use crate::people::messages::ProfileChanged;
use crate::{App, Error};

/// The result of [`put_profile`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Put {
    Created(Profile, About),
    Changed(Profile, About),
}

/// What a profile shows beside its handle.
#[derive(Debug, Clone)]
pub struct NewProfile<'a> {
    pub name: &'a str,
    /// What changes of what the user says about themselves.
    pub about: AboutChange,
}

impl<'a> From<&'a str> for NewProfile<'a> {
    fn from(name: &'a str) -> Self {
        Self { name, about: AboutChange::default() }
    }
}

/// Creates or changes the caller's profile.
///
/// Fails with [`Error::Text`] or [`Error::Content`] if something is not allowed, with [`Error::HandleTaken`] if another user has
/// the handle, and with [`Error::BeingDropped`] while an earlier profile of the caller is being removed.
pub async fn put_profile(
    app: &App,
    caller: &Identity,
    handle: &str,
    new: impl Into<NewProfile<'_>>,
    now: Time,
) -> Result<Put, Error> {
    let NewProfile { name, about } = new.into();
    let (handle, name): (Handle, _) = (handle.parse()?, text::name(name)?);
    let user = caller.user();
    let reads = async {
        let ((old, said), owner) =
            futures::try_join!(present(app, user), app.users.owner(&handle))?;
        Ok::<_, StoreError>((old, owner, said))
    };
    let (mut old, owner, mut said) =
        within_limit(&app.valkey, app.limits.of(LimitKind::Profile), user, now, reads).await?;
    // no event for a change that cannot be made
    if owner.is_some_and(|owner| owner != user) {
        return Err(Error::HandleTaken(handle));
    }
    for tried in 0..TRIES_MAX {
        if old.as_ref().is_some_and(|old| !old.is_of(caller)) {
            return Err(Error::IdentityClash);
        }
        let revision = old.as_ref().map_or(0, |old| old.revision) + 1;
        let event = ProfileChanged { user, changed_at: now, revision: Some(revision) };
        let says = said.changed(&about);
        let change = (says != said).then_some((&said, &says));
        let commit =
            |sent| app.users.put_profile_over(sent, old.as_ref(), caller, (&handle, name, change));
        let put = announced(&app.outbox, &event, commit).await?;
        // the cards of handles are hints, which the user's card corrects; fresh ones save a look
        let hint = |handle| CardId::handle(HandleHash::of(handle));
        // mutation: about-marked
        let mut cards = of_profile(user).to_vec();
        cards.push(hint(&handle));
        cards.extend(old.as_ref().map(|old| hint(&old.handle)));
        changed(&app.valkey, &cards).await;
        match put {
            ProfilePut::Created(profile) => return Ok(Put::Created(profile, says)),
            ProfilePut::Changed(profile) => return Ok(Put::Changed(profile, says)),
            ProfilePut::HandleTaken => return Err(Error::HandleTaken(handle)),
            ProfilePut::BeingDropped => {
                return Err(Error::BeingDropped { retry_after: DROP_SETTLES });
            }
            ProfilePut::IdentityClash => return Err(Error::IdentityClash),
            ProfilePut::Raced => pause(tried).await,
        }
        (old, said) = present(app, user).await?;
    }
    Err(StoreError::GaveUp { doing: "changing a profile", tries: TRIES_MAX }.into())
}

/// The profile, and then what the user says: whatever changes that later changes the profile, too.
async fn present(app: &App, user: UserId) -> Result<(Option<Profile>, About), StoreError> {
    let profile = app.users.profile(user).await?;
    Ok((profile, app.users.about(user).await?))
}

/// Finds the user that a caller acts on, by id or handle. Fails with [`Error::NoSuchUser`] if there is no profile. What a
/// caller is shown comes from [`present::user`](crate::present::user) instead.
pub async fn find(users: &UserStore, user: &UserRef) -> Result<Profile, Error> {
    users.find(user).await?.ok_or_else(|| Error::NoSuchUser(user.clone()))
}

/// Fails with [`Error::IdentityClash`] if the profile belongs to another identity. Two subjects can have the same id.
pub fn must_belong_to(profile: &Profile, identity: &Identity) -> Result<(), Error> {
    if profile.is_of(identity) { Ok(()) } else { Err(Error::IdentityClash) }
}
