//! Making and changing a profile.

use aws_sdk_dynamodb::types::{Delete, Put, TransactWriteItem, Update};
use fanfold_core::id::Identity;
use fanfold_core::limits::TRIES_MAX;

use super::super::retry::pause;
use super::super::transact::{Outcome, delete_item, put_item, transact, update_item};
use super::super::{Stored as _, number, text, write};
use super::{
    HandleItem, Profile, ProfileItem, ProfilePut, UserStore, handle_pk, identity_text, pk,
    profile_pk,
};
use crate::error::StoreError;

impl UserStore {
    /// Makes or changes the caller's profile; profile and handle change together.
    pub async fn put_profile(
        &self,
        identity: &Identity,
        handle: &str,
        name: &str,
    ) -> Result<ProfilePut, StoreError> {
        let doing = "storing a profile";
        for tried in 0..TRIES_MAX {
            let old = self.profile(identity.user()).await?;
            if old.as_ref().is_some_and(|old| !old.is_of(identity)) {
                return Ok(ProfilePut::IdentityClash);
            }
            let items = self.profile_items(doing, old.as_ref(), identity, handle, name)?;
            match transact(&self.client, doing, items).await? {
                Outcome::Done => {}
                outcome if outcome.refused(1) => {
                    // it may be the user's own, of a newer version
                    self.by_handle(handle).await?;
                    return Ok(ProfilePut::HandleTaken);
                }
                outcome
                    if outcome.refused(0) && self.dropping(identity.user()).await?.is_some() =>
                {
                    return Ok(ProfilePut::BeingDropped);
                }
                // the profile changed since it was read
                Outcome::Refused(_) => {
                    pause(tried).await;
                    continue;
                }
            }
            let Some(profile) = self.profile(identity.user()).await? else { continue };
            let put = if old.is_some() { ProfilePut::Changed } else { ProfilePut::Created };
            return Ok(put(profile));
        }
        Err(StoreError::GaveUp { doing, tries: TRIES_MAX })
    }

    fn profile_items(
        &self,
        doing: &'static str,
        old: Option<&Profile>,
        identity: &Identity,
        handle: &str,
        name: &str,
    ) -> Result<Vec<TransactWriteItem>, StoreError> {
        let user = identity.user();
        let profile = match old {
            Some(old) => {
                let update = Update::builder()
                    .table_name(&self.table)
                    .set_key(Some(pk(profile_pk(user))))
                    .update_expression("SET handle = :handle, #name = :name")
                    .condition_expression("handle = :old AND #identity = :identity AND v <= :v")
                    .expression_attribute_values(":v", number(ProfileItem::V))
                    .expression_attribute_names("#name", "name")
                    .expression_attribute_names("#identity", "identity")
                    .expression_attribute_values(":handle", text(handle))
                    .expression_attribute_values(":name", text(name))
                    .expression_attribute_values(":old", text(&old.handle))
                    .expression_attribute_values(":identity", text(identity_text(identity)));
                update_item(doing, update)?
            }
            None => {
                let item = ProfileItem {
                    pk: profile_pk(user),
                    v: ProfileItem::V,
                    user,
                    identity: identity_text(identity),
                    handle: handle.to_owned(),
                    name: name.to_owned(),
                    posts: 0,
                    followers: 0,
                    following: 0,
                    follower_shards: 1,
                };
                let put = Put::builder()
                    .table_name(&self.table)
                    .set_item(Some(write(doing, &item)?))
                    .condition_expression("attribute_not_exists(pk)");
                put_item(doing, put)?
            }
        };
        let claim = HandleItem { pk: handle_pk(handle), v: HandleItem::V, user };
        let claim = Put::builder()
            .table_name(&self.table)
            .set_item(Some(write(doing, &claim)?))
            .condition_expression("attribute_not_exists(pk) OR (#user = :user AND v <= :v)")
            .expression_attribute_values(":v", number(HandleItem::V))
            .expression_attribute_names("#user", "user")
            .expression_attribute_values(":user", text(user));
        let mut items = vec![profile, put_item(doing, claim)?];
        if let Some(old) = old.filter(|old| old.handle != handle) {
            let release = Delete::builder()
                .table_name(&self.table)
                .set_key(Some(pk(handle_pk(&old.handle))))
                .condition_expression("#user = :user")
                .expression_attribute_names("#user", "user")
                .expression_attribute_values(":user", text(user));
            items.push(delete_item(doing, release)?);
        }
        Ok(items)
    }
}
