//! The scheduled posts and timers of a user who is being dropped. The user cannot add any more. Each is removed together with
//! its rows, on condition that it is as it was read: another function may be moving it to another time.

use fanfold_core::limits::{DROP_PAGE, DROP_QUERIES_AT_ONCE};
use fanfold_core::{DueEntry, DueItem, ScheduledId, Time, TimerName, UserId};
use fanfold_engines::table::transact::{CommitResult, Transaction};
use fanfold_engines::table::{key, number, read_key};
use fanfold_runtime::error::StoreError;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use serde::Deserialize;

use super::DueStore;
use super::scheduled::{ScheduledState, scheduled_pk, soonest_key};
use super::timers::timers_pk;
use crate::posts::items::PostStore;

/// What was removed of a page of a user's scheduled posts or timers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ForgottenItems {
    /// Scheduled posts and timers that were found. 0: none is left.
    pub found: u64,
    /// Those that were removed.
    pub items: u64,
    /// Their entries in the index of due items.
    pub entries: Vec<DueEntry>,
    /// Uses of an `Idempotency-Key`.
    pub keys: u64,
}

#[derive(Deserialize)]
struct ScheduledKeys {
    sk: ScheduledId,
    #[serde(rename = "publish_at_ms")]
    publish_at: Time,
    state: ScheduledState,
    made_by: Option<String>,
}

#[derive(Deserialize)]
struct TimerKeys {
    sk: TimerName,
    #[serde(rename = "due_at_ms")]
    due_at: Time,
}

impl DueStore {
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
                let entry = DueEntry { at: item.publish_at, item: DueItem::Post(item.sk) };
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
                    transaction.add((), self.delete_entry(&entry));
                }
                let done = transaction.commit().await? == CommitResult::Done;
                Ok::<_, StoreError>(done.then_some(entry))
            })
            .collect();
        let keys = names.len() as u64;
        Ok(ForgottenItems { keys, ..forgotten(found.len(), removals).await? })
    }

    /// Removes a page of a user's timers.
    pub async fn forget_timers(&self, user: UserId) -> Result<ForgottenItems, StoreError> {
        let doing = "removing timers";
        let pk = timers_pk(user);
        let found = self
            .table
            .rows(doing, &pk)
            .only("sk, due_at_ms")
            .first(None, DROP_PAGE as usize)
            .await?;
        let found: Result<Vec<TimerKeys>, StoreError> =
            found.into_iter().map(|item| read_key(doing, item)).collect();
        let found = found?;
        let removals: Vec<_> = found
            .iter()
            .map(|timer| async move {
                let item = DueItem::Timer(user, timer.sk.clone());
                let entry = DueEntry { at: timer.due_at, item };
                let delete = self
                    .table
                    .delete(key(&timers_pk(user), &timer.sk))
                    .condition("attribute_not_exists(pk) OR due_at_ms = :at")
                    .value(":at", number(timer.due_at));
                let mut transaction = Transaction::new(doing);
                transaction.add((), delete);
                transaction.add((), self.delete_entry(&entry));
                let done = transaction.commit().await? == CommitResult::Done;
                Ok::<_, StoreError>(done.then_some(entry))
            })
            .collect();
        forgotten(found.len(), removals).await
    }
}

/// Runs removals. Each returns the entry of an item that it removed.
async fn forgotten(
    found: usize,
    removals: Vec<impl Future<Output = Result<Option<DueEntry>, StoreError>>>,
) -> Result<ForgottenItems, StoreError> {
    let removed = stream::iter(removals).buffer_unordered(DROP_QUERIES_AT_ONCE);
    let removed: Vec<Option<DueEntry>> = removed.try_collect().await?;
    let entries: Vec<DueEntry> = removed.into_iter().flatten().collect();
    Ok(ForgottenItems { found: found as u64, items: entries.len() as u64, entries, keys: 0 })
}
