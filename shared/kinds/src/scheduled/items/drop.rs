//! The scheduled posts of a user who is being dropped. The user cannot add any more. Each is removed together with
//! its rows, on condition that it is as it was read: another function may be moving it to another time.
//!
//! And those that failed, of any user: they keep their text until it is removed or expires.

use fanfold_core::limits::DROP_PAGE;
use fanfold_core::{ScheduledId, Time, UserId};
use fanfold_engines::due::{ForgottenItems, forgotten};
use fanfold_engines::table::transact::{CommitResult, Transaction};
use fanfold_engines::table::{Stored as _, key, number, read, read_key, text};
use fanfold_runtime::error::StoreError;
use serde::Deserialize;

use super::{
    Scheduled, ScheduledItem, ScheduledState, ScheduledStore, entry, scheduled_pk, soonest_key,
};
use crate::posts::items::PostStore;

#[derive(Deserialize)]
struct ScheduledKeys {
    sk: ScheduledId,
    #[serde(rename = "publish_at_ms")]
    publish_at: Time,
    state: ScheduledState,
    made_by: Option<String>,
}

impl ScheduledStore {
    /// Removes a page of a user's scheduled posts. Keys go first, because they are found through the posts.
    pub async fn forget_scheduled(
        &self,
        user: UserId,
        posts: &PostStore,
    ) -> Result<ForgottenItems, StoreError> {
        let doing = "removing scheduled posts";
        let pk = scheduled_pk(user);
        let rows = self.table.rows(doing, &pk).only("sk, publish_at_ms, made_by, #reserved");
        let found = rows.reserved("state").first(None, DROP_PAGE as usize).await?;
        let found: Result<Vec<ScheduledKeys>, StoreError> =
            found.into_iter().map(|item| read_key(doing, item)).collect();
        let found = found?;
        let mut names: Vec<&str> =
            found.iter().filter_map(|item| item.made_by.as_deref()).collect();
        names.sort_unstable();
        names.dedup();
        posts.forget_keys(doing, user, &names).await?;
        let removals: Vec<_> = found
            .iter()
            .map(|item| async move {
                let entry = entry(item.sk, item.publish_at);
                let mut transaction = Transaction::new(doing);
                let delete = self
                    .table
                    .delete(key(&scheduled_pk(user), item.sk))
                    .condition("attribute_not_exists(pk) OR publish_at_ms = :at")
                    .value(":at", number(item.publish_at));
                transaction.add((), delete);
                if item.state == ScheduledState::Waiting {
                    let row = soonest_key(item.publish_at, item.sk);
                    let row = self.table.delete(row);
                    transaction.add((), row);
                    transaction.add((), self.index.delete_entry(&entry));
                }
                let done = transaction.commit().await? == CommitResult::Done;
                Ok::<_, StoreError>(done.then_some(entry))
            })
            .collect();
        let keys = names.len() as u64;
        Ok(ForgottenItems { keys, ..forgotten(found.len(), removals).await? })
    }

    /// The scheduled posts of a user that failed, and are kept for a while.
    pub async fn failed(&self, user: UserId) -> Result<Vec<Scheduled>, StoreError> {
        let (doing, pk) = ("reading failed scheduled posts", scheduled_pk(user));
        // they alone have a text and expire
        let rows = self.table.rows(doing, &pk).reserved("text");
        let rows = rows.kept_by("attribute_exists(expires_at) AND attribute_exists(#reserved)");
        let rows = rows.all(None).await?.into_iter();
        rows.map(|row| read::<ScheduledItem>(doing, row).map(Scheduled::from)).collect()
    }

    /// Removes the text of a scheduled post that failed.
    pub async fn forget_failed(&self, id: ScheduledId) -> Result<(), StoreError> {
        self.table
            .update(key(&scheduled_pk(id.author()), id))
            .expression("SET #state = :cancelled REMOVE #text, extras")
            .condition("#state = :failed")
            .name("#state", "state")
            .name("#text", "text")
            .value(":cancelled", text("cancelled"))
            .value(":failed", text("failed"))
            .changed("removing a failed scheduled post", ScheduledItem::V)
            .await
            .map(drop)
    }
}
