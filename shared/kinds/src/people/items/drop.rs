//! The profile of a user who is being dropped. The first step replaces the profile by a note without a handle and
//! without personal data. From then on the user has no profile, and every transaction that counts in it fails.
//! The last step removes the note.
//!
//! A lease in the note allows one order at a time. Otherwise a delayed order could remove data of a user who has
//! come back with the same id.

use fanfold_core::limits::TRIES_MAX;
use fanfold_core::{Time, UserId};
use fanfold_engines::table::transact::{CommitResult, Transaction};
use fanfold_engines::table::{Stored, Write, number, pk_only, read, text, write};
use fanfold_runtime::error::StoreError;
use fanfold_runtime::retry::pause;
use fanfold_runtime::sqs::Announced;
use serde::{Deserialize, Serialize};

use super::{Profile, UserStore, handle_pk, has_profile, profile_pk};
use crate::people::messages::ProfileChanged;

/// The note of a user who is being dropped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropping {
    v: u32,
    /// The number of partitions of the user's followers.
    pub follower_partitions: u16,
    /// The time at which all texts were removed and all relations had ended. `None`: not yet.
    #[serde(default, rename = "emptied_at_ms", skip_serializing_if = "Option::is_none")]
    pub emptied_at: Option<Time>,
    /// The end of the present order's lease.
    #[serde(default, rename = "lease_until_ms", skip_serializing_if = "Option::is_none")]
    pub lease_until: Option<Time>,
}

impl Stored for Dropping {
    const V: u32 = 1;
}

/// The result of beginning to drop a user.
#[derive(Debug, PartialEq, Eq)]
pub enum DropBegun {
    /// There is neither a profile nor a note.
    Nothing,
    /// Another order holds the lease until this time.
    Busy { until: Time },
    /// The caller holds the lease.
    Begun(Dropping),
}

/// The condition that the item is a note.
const NOTE: &str = "attribute_exists(pk) AND attribute_not_exists(handle)";

impl UserStore {
    /// The note of a user who is being dropped. `None` if there is none.
    pub async fn dropping(&self, user: UserId) -> Result<Option<Dropping>, StoreError> {
        let doing = "reading the state of a drop";
        let item = self.get(doing, profile_pk(user)).await?;
        let item = item.filter(|item| !has_profile(item));
        item.map(|item| read(doing, item)).transpose()
    }

    /// Replaces the profile by a note and frees the handle, or takes the lease of an existing note.
    pub async fn begin_drop(
        &self,
        sent: Announced<ProfileChanged>,
        user: UserId,
        now: Time,
        lease_until: Time,
    ) -> Result<DropBegun, StoreError> {
        for tried in 0..TRIES_MAX {
            let begun = match (self.profile(user).await?, self.dropping(user).await?) {
                (Some(profile), _) => self.close(&sent, profile, lease_until).await?,
                (None, Some(Dropping { lease_until: Some(until), .. })) if until > now => {
                    return Ok(DropBegun::Busy { until });
                }
                (None, Some(note)) => self.take_lease(user, &note, lease_until).await?,
                (None, None) => return Ok(DropBegun::Nothing),
            };
            match begun {
                Some(note) => return Ok(DropBegun::Begun(note)),
                // the item changed since it was read
                None => pause(tried).await,
            }
        }
        Err(StoreError::GaveUp { doing: "beginning to drop a user", tries: TRIES_MAX })
    }

    async fn close(
        &self,
        _sent: &Announced<ProfileChanged>,
        profile: Profile,
        lease_until: Time,
    ) -> Result<Option<Dropping>, StoreError> {
        let doing = "replacing a profile by a note";
        let Profile { id, handle, follower_partitions, identity, .. } = profile;
        let note = Dropping {
            v: Dropping::V,
            follower_partitions,
            emptied_at: None,
            lease_until: Some(lease_until),
        };
        let close = self
            .table
            .put(write(doing, &profile_pk(id), &note)?)
            .condition(
                "handle = :handle AND #identity = :identity AND follower_partitions = :partitions",
            )
            .name("#identity", "identity")
            .value(":handle", text(&handle))
            .value(":identity", text(identity))
            .value(":partitions", number(follower_partitions));
        let release = self
            .table
            .delete(pk_only(&handle_pk(&handle)))
            .condition("attribute_not_exists(pk) OR #user = :user")
            .name("#user", "user")
            .value(":user", text(id));
        let mut transaction = Transaction::new(doing);
        transaction.add((), close);
        transaction.add((), release);
        let outcome = transaction.commit().await?;
        Ok((outcome == CommitResult::Done).then_some(note))
    }

    async fn take_lease(
        &self,
        user: UserId,
        note: &Dropping,
        until: Time,
    ) -> Result<Option<Dropping>, StoreError> {
        let doing = "taking the lease of a drop";
        let update = self
            .note(user)
            .expression("SET lease_until_ms = :until")
            .value(":until", number(until))
            .returning_new();
        let update = match note.lease_until {
            None => update.condition(format!("{NOTE} AND attribute_not_exists(lease_until_ms)")),
            Some(ended) => update
                .condition(format!("{NOTE} AND lease_until_ms = :ended"))
                .value(":ended", number(ended)),
        };
        let item = update.changed(doing, Dropping::V).await?;
        item.map(|item| read(doing, item)).transpose()
    }

    /// Notes the time at which all texts were removed and all relations had ended.
    pub async fn note_emptied(&self, user: UserId, at: Time) -> Result<(), StoreError> {
        let update = self
            .note(user)
            .expression("SET emptied_at_ms = :at")
            .condition(NOTE)
            .value(":at", number(at));
        update.changed("noting the state of a drop", Dropping::V).await.map(drop)
    }

    /// Ends the caller's lease, so that another order can continue. `lease_until` identifies the lease.
    pub async fn pause_drop(&self, user: UserId, lease_until: Time) -> Result<(), StoreError> {
        let update = self
            .note(user)
            .expression("REMOVE lease_until_ms")
            .condition(format!("{NOTE} AND lease_until_ms = :mine"))
            .value(":mine", number(lease_until));
        update.changed("ending the lease of a drop", Dropping::V).await.map(drop)
    }

    /// Removes the note. The user may then make a new profile.
    pub async fn end_drop(&self, user: UserId) -> Result<(), StoreError> {
        let delete =
            self.table.delete(pk_only(&profile_pk(user))).condition("attribute_not_exists(handle)");
        delete.deleted("removing the note of a dropped user").await
    }

    fn note(&self, user: UserId) -> Write {
        self.table.update(pk_only(&profile_pk(user)))
    }
}
