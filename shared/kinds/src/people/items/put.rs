//! Making and changing a profile.

use fanfold_core::Handle;
use fanfold_core::id::Identity;
use fanfold_engines::table::transact::{CommitResult, Transaction};
use fanfold_engines::table::{Stored as _, number, pk_only, text, write};
use fanfold_runtime::error::StoreError;
use fanfold_runtime::sqs::Announced;

use super::{
    HandleItem, Profile, ProfileItem, ProfilePut, UserStore, handle_pk, identity_text, profile_pk,
};
use crate::people::about::About;
use crate::people::messages::ProfileChanged;

/// The names of the writes of a transaction about a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProfileWrite {
    /// The profile.
    Profile,
    /// The handle.
    Handle,
    /// What the user says about themselves.
    About,
    /// The handle that the user gives up.
    OldHandle,
}

impl UserStore {
    /// Makes or changes the profile of an identity. Profile and handle change in one transaction.
    pub async fn put_profile(
        &self,
        sent: Announced<ProfileChanged>,
        identity: &Identity,
        handle: &Handle,
        name: &str,
    ) -> Result<ProfilePut, StoreError> {
        let old = self.profile(identity.user()).await?;
        self.put_profile_over(sent, old.as_ref(), identity, (handle, name, None)).await
    }

    /// Makes or changes the profile of an identity. `old` is the present profile, read by the caller. `about` is what
    /// the user says, as it was read and as it will be.
    pub async fn put_profile_over(
        &self,
        _sent: Announced<ProfileChanged>,
        old: Option<&Profile>,
        identity: &Identity,
        (handle, name, about): (&Handle, &str, Option<(&About, &About)>),
    ) -> Result<ProfilePut, StoreError> {
        let doing = "storing a profile";
        if old.is_some_and(|old| !old.is_of(identity)) {
            return Ok(ProfilePut::IdentityClash);
        }
        let mut write = self.profile_write(doing, old, identity, handle, name)?;
        if let Some(about) = about {
            let about = self.put_about(doing, identity.user(), about)?;
            write.add(ProfileWrite::About, about);
        }
        match write.commit().await? {
            CommitResult::Done => {}
            outcome if outcome.refused(ProfileWrite::Handle) => {
                // fails if the handle item has a newer version
                self.by_handle(handle).await?;
                return Ok(ProfilePut::HandleTaken);
            }
            outcome
                if outcome.refused(ProfileWrite::Profile)
                    && self.dropping(identity.user()).await?.is_some() =>
            {
                return Ok(ProfilePut::BeingDropped);
            }
            CommitResult::Refused(_) => return Ok(ProfilePut::Raced),
        }
        let put = if old.is_some() { ProfilePut::Changed } else { ProfilePut::Created };
        Ok(self.profile(identity.user()).await?.map_or(ProfilePut::Raced, put))
    }

    fn profile_write(
        &self,
        doing: &'static str,
        old: Option<&Profile>,
        identity: &Identity,
        handle: &Handle,
        name: &str,
    ) -> Result<Transaction<ProfileWrite>, StoreError> {
        let user = identity.user();
        let mut transaction = Transaction::new(doing);
        let profile = match old {
            Some(old) => self
                .table
                .update(pk_only(&profile_pk(user)))
                .expression("SET handle = :handle, #name = :name, revision = :revision")
                .condition(
                    "handle = :old AND revision < :revision AND #identity = :identity AND v <= :v",
                )
                .value(":v", number(ProfileItem::V))
                .name("#name", "name")
                .name("#identity", "identity")
                .value(":handle", text(handle))
                .value(":name", text(name))
                .value(":old", text(&old.handle))
                .value(":revision", number(old.revision + 1))
                .value(":identity", text(identity_text(identity))),
            None => {
                let item = self.new_profile(identity, handle, name);
                let put = self.table.put(write(doing, &profile_pk(user), &item)?);
                put.condition("attribute_not_exists(pk)")
            }
        };
        transaction.add(ProfileWrite::Profile, profile);
        let claim = HandleItem { v: HandleItem::V, user };
        let claim = self
            .table
            .put(write(doing, &handle_pk(handle), &claim)?)
            .condition("attribute_not_exists(pk) OR (#user = :user AND v <= :v)")
            .value(":v", number(HandleItem::V))
            .name("#user", "user")
            .value(":user", text(user));
        transaction.add(ProfileWrite::Handle, claim);
        if let Some(old) = old.filter(|old| old.handle != *handle) {
            let release = self
                .table
                .delete(pk_only(&handle_pk(&old.handle)))
                .condition("#user = :user")
                .name("#user", "user")
                .value(":user", text(user));
            transaction.add(ProfileWrite::OldHandle, release);
        }
        Ok(transaction)
    }

    fn new_profile(&self, identity: &Identity, handle: &Handle, name: &str) -> ProfileItem {
        ProfileItem {
            v: ProfileItem::V,
            user: identity.user(),
            identity: identity_text(identity),
            handle: handle.clone(),
            name: name.to_owned(),
            posts: 0,
            followers: 0,
            following: 0,
            relation_changes: 0,
            followers_changes: 0,
            follower_partitions: self.first_partitions.0,
            revision: 1,
            scheduled: 0,
            timers: 0,
            boards: 0,
            head_floor: 0,
        }
    }
}
