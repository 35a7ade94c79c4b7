//! A profile on its way out. The first step takes away all that is personal and leaves a note in
//! the profile's place, without a handle: from then on nobody finds a profile, and no transaction
//! that counts something in it succeeds. The note goes with the last step.
//!
//! One order at a time works on a user: what an order that was left behind still did might fall on
//! whoever comes back with the same id.

use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::{Delete, Put, ReturnValue};
use fanfold_core::UserId;
use fanfold_core::limits::TRIES_MAX;
use serde::{Deserialize, Serialize};

use super::super::retry::pause;
use super::super::transact::{Outcome, delete_item, put_item, transact};
use super::super::{Stored, batch, changed, number, read, text, write};
use super::{Profile, UserStore, handle_pk, has_profile, pk, profile_pk};
use crate::error::StoreError;

/// What is known of a user who is being dropped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropping {
    pk: String,
    v: u32,
    /// The partitions that the followers were spread over.
    pub follower_shards: u16,
    /// When nothing was left that others could add to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emptied_at_ms: Option<u64>,
    /// Until when an order may be at work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_until_ms: Option<u64>,
}

impl Stored for Dropping {
    const V: u32 = 1;
}

/// How an order to drop a user began.
#[derive(Debug, PartialEq, Eq)]
pub enum DropBegun {
    /// There is no profile, and nothing of one.
    Nothing,
    /// Another order may be at work.
    Busy { until_ms: u64 },
    /// This one has the lease.
    Begun(Dropping),
}

const NOTE: &str = "attribute_exists(pk) AND attribute_not_exists(handle)";

impl UserStore {
    /// The note of a user who is being dropped.
    pub async fn dropping(&self, user: UserId) -> Result<Option<Dropping>, StoreError> {
        let doing = "reading how far a user is dropped";
        let item = self.get(doing, profile_pk(user)).await?;
        let item = item.filter(|item| !has_profile(item));
        item.map(|item| read(doing, item)).transpose()
    }

    /// Puts the note in the place of the profile, and gives the handle up; or goes on with the note
    /// that is there.
    pub async fn begin_to_drop(
        &self,
        user: UserId,
        now_ms: u64,
        lease_until_ms: u64,
    ) -> Result<DropBegun, StoreError> {
        for tried in 0..TRIES_MAX {
            let begun = match (self.profile(user).await?, self.dropping(user).await?) {
                (Some(profile), _) => self.close(profile, lease_until_ms).await?,
                (None, Some(Dropping { lease_until_ms: Some(until_ms), .. }))
                    if until_ms > now_ms =>
                {
                    return Ok(DropBegun::Busy { until_ms });
                }
                (None, Some(note)) => self.take_lease(user, &note, lease_until_ms).await?,
                (None, None) => return Ok(DropBegun::Nothing),
            };
            match begun {
                Some(note) => return Ok(DropBegun::Begun(note)),
                // it changed since it was read
                None => pause(tried).await,
            }
        }
        Err(StoreError::GaveUp { doing: "beginning to drop a user", tries: TRIES_MAX })
    }

    async fn close(
        &self,
        profile: Profile,
        lease_until_ms: u64,
    ) -> Result<Option<Dropping>, StoreError> {
        let doing = "taking a profile away";
        let Profile { id, handle, follower_shards, identity, .. } = profile;
        let note = Dropping {
            pk: profile_pk(id),
            v: Dropping::V,
            follower_shards,
            emptied_at_ms: None,
            lease_until_ms: Some(lease_until_ms),
        };
        let close = Put::builder()
            .table_name(&self.table)
            .set_item(Some(write(doing, &note)?))
            .condition_expression(
                "handle = :handle AND #identity = :identity AND follower_shards = :shards",
            )
            .expression_attribute_names("#identity", "identity")
            .expression_attribute_values(":handle", text(&handle))
            .expression_attribute_values(":identity", text(identity))
            .expression_attribute_values(":shards", number(follower_shards));
        let release = Delete::builder()
            .table_name(&self.table)
            .set_key(Some(pk(handle_pk(&handle))))
            .condition_expression("attribute_not_exists(pk) OR #user = :user")
            .expression_attribute_names("#user", "user")
            .expression_attribute_values(":user", text(id));
        let items = vec![put_item(doing, close)?, delete_item(doing, release)?];
        let outcome = transact(&self.client, doing, items).await?;
        Ok((outcome == Outcome::Done).then_some(note))
    }

    async fn take_lease(
        &self,
        user: UserId,
        note: &Dropping,
        until_ms: u64,
    ) -> Result<Option<Dropping>, StoreError> {
        let doing = "going on to drop a user";
        let update = self
            .note(user)
            .update_expression("SET lease_until_ms = :until")
            .expression_attribute_values(":until", number(until_ms))
            .return_values(ReturnValue::AllNew);
        let update = match note.lease_until_ms {
            None => update
                .condition_expression(format!("{NOTE} AND attribute_not_exists(lease_until_ms)")),
            Some(ended) => update
                .condition_expression(format!("{NOTE} AND lease_until_ms = :ended"))
                .expression_attribute_values(":ended", number(ended)),
        };
        let item = changed(doing, Dropping::V, update).await?;
        item.map(|item| read(doing, item)).transpose()
    }

    /// Notes that nothing is left that others could add to.
    pub async fn note_emptied(&self, user: UserId, at_ms: u64) -> Result<(), StoreError> {
        let update = self
            .note(user)
            .update_expression("SET emptied_at_ms = :at")
            .condition_expression(NOTE)
            .expression_attribute_values(":at", number(at_ms));
        changed("noting how far a user is dropped", Dropping::V, update).await.map(drop)
    }

    /// Leaves the rest to another order.
    pub async fn pause_drop(&self, user: UserId, lease_until_ms: u64) -> Result<(), StoreError> {
        let update = self
            .note(user)
            .update_expression("REMOVE lease_until_ms")
            .condition_expression(format!("{NOTE} AND lease_until_ms = :mine"))
            .expression_attribute_values(":mine", number(lease_until_ms));
        changed("leaving the rest of a user to another order", Dropping::V, update).await.map(drop)
    }

    /// Takes the note away: the user may come back as somebody new.
    pub async fn end_to_drop(&self, user: UserId) -> Result<(), StoreError> {
        let delete = self
            .client
            .delete_item()
            .table_name(&self.table)
            .set_key(Some(pk(profile_pk(user))))
            .condition_expression("attribute_not_exists(handle)");
        batch::deleted("taking away the note of a user who was dropped", delete).await
    }

    fn note(&self, user: UserId) -> UpdateItemFluentBuilder {
        self.client.update_item().table_name(&self.table).set_key(Some(pk(profile_pk(user))))
    }
}
