//! Delivery receipts: the progress of the fan-out of a post. Each share is counted once, however often its message
//! arrives.

mod read;

use std::time::Duration;

use fanfold_core::fanout::{DeliveryCounts, RANGES, Share};
use fanfold_core::kinds::{ItemKind, Pk};
use fanfold_core::{Partition, PostId, Time};
use fanfold_engines::table::{
    Stored, Table, Value, Write, flag, key, length_of, number, numbers, read, text,
};
use fanfold_runtime::error::StoreError;
use serde::Deserialize;

pub use read::Receipt;

/// How long a delivery receipt stays.
const RECEIPT_KEPT: Duration = Duration::from_secs(30 * 24 * 3600);

/// The plan of a fan-out. The first dispatch of a post decides it. A repeated dispatch uses the same plan, even if
/// the author has more followers by then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// The number of partitions of the author's followers.
    pub partitions: u16,
    /// The number of followers at that time.
    pub followers: u64,
    /// The post since which pointers to the author are pushed, if they are.
    pub mark: Option<PostId>,
}

const V: u32 = 1;

impl Stored for PlanItem {
    const V: u32 = V;
}

#[derive(Deserialize)]
struct PlanItem {
    partition_count: u16,
    followers: u64,
    mark: String,
}

impl From<PlanItem> for Plan {
    fn from(item: PlanItem) -> Self {
        let PlanItem { partition_count: partitions, followers, mark } = item;
        Self { partitions, followers, mark: mark.parse().ok() }
    }
}

/// The delivery receipts, in the posts table.
#[derive(Clone)]
pub struct ReceiptStore {
    table: Table,
}

impl ReceiptStore {
    /// The store over its table.
    pub fn new(table: Table) -> Self {
        Self { table }
    }

    /// Stores the plan of a fan-out, unless there is one. Returns the stored plan. `None` if the fan-out was completed
    /// without a plan.
    pub async fn plan(
        &self,
        post: PostId,
        plan: Plan,
        now: Time,
    ) -> Result<Option<Plan>, StoreError> {
        let doing = "planning a fan-out";
        let mark = plan.mark.map_or_else(|| "-".to_owned(), |mark| mark.to_string());
        let update = self
            .update(post, "-")
            .expression(
                "SET partition_count = if_not_exists(partition_count, :partitions), \
                 followers = if_not_exists(followers, :followers), \
                 mark = if_not_exists(mark, :mark), expires_at = :gone, v = :v",
            )
            .value(":partitions", number(plan.partitions))
            .value(":followers", number(plan.followers))
            .value(":mark", text(mark))
            .value(":gone", gone(now))
            .condition("attribute_not_exists(completed_at_ms) OR attribute_exists(partition_count)")
            .returning_new();
        let item = update.changed(doing, V).await?;
        Ok(item.map(|item| read::<PlanItem>(doing, item)).transpose()?.map(Plan::from))
    }

    /// Notes a fan-out that dispatch itself completed, to this many followers. Returns false, without a change, if it
    /// was noted before, or if an earlier dispatch stored a plan, which must then be followed.
    pub async fn done_at_once(
        &self,
        post: PostId,
        followers: u64,
        reached: DeliveryCounts,
        now: Time,
    ) -> Result<bool, StoreError> {
        let update = self
            .update(post, "-")
            .expression(
                "SET followers = :followers, delivered = :delivered, not_live = :not_live, \
                 unfollowed = :unfollowed, late = :late, completed_at_ms = :now, \
                 expires_at = :gone, v = :v",
            )
            .condition(
                "attribute_not_exists(completed_at_ms) AND attribute_not_exists(partition_count)",
            )
            .value(":followers", number(followers))
            .value(":now", number(now))
            .value(":gone", gone(now));
        Ok(counted(update, reached).changed("noting a fan-out", V).await?.is_some())
    }

    /// Notes that the post is not pushed, because its author is pulled.
    pub async fn pulled(&self, post: PostId, followers: u64, now: Time) -> Result<(), StoreError> {
        let update = self
            .update(post, "-")
            .expression(
                "SET followers = if_not_exists(followers, :followers), pulled = :pulled, \
                 completed_at_ms = :now, expires_at = :gone, v = :v",
            )
            .condition("attribute_not_exists(completed_at_ms)")
            .value(":followers", number(followers))
            .value(":pulled", flag(true))
            .value(":now", number(now))
            .value(":gone", gone(now));
        update.changed("noting a post of a pulled author", V).await.map(drop)
    }

    /// Notes a delivered share of a fan-out, and counts it unless it was counted before. Returns the plan if all shares
    /// are delivered, else `None`.
    pub async fn done(
        &self,
        post: PostId,
        share: Share,
        reached: DeliveryCounts,
        now: Time,
    ) -> Result<Option<Plan>, StoreError> {
        let doing = "noting a delivered share";
        let partition = format!("{:04x}", share.partition.0);
        let ranges = numbers(share.from..share.to);
        let mut update = self
            .update(post, &partition)
            .expression(
                "ADD done :ranges, chunks :one, delivered :delivered, not_live :not_live, \
                 unfollowed :unfollowed, late :late SET expires_at = :gone, v = :v",
            )
            .value(":ranges", ranges.clone())
            .value(":one", number(1))
            .value(":gone", gone(now))
            .returning_new();
        let mut condition = Vec::new();
        for range in share.from..share.to {
            // mutation: receipt-once
            condition.push(format!("NOT contains(done, :r{range})"));
            update = update.value(format!(":r{range}"), number(range));
        }
        update = update.condition(condition.join(" AND "));
        let row = match counted(update, reached).changed(doing, V).await? {
            Some(row) => row,
            // some of these ranges were counted before
            None => {
                let again = self
                    .update(post, &partition)
                    .expression("ADD done :ranges SET expires_at = :gone")
                    .value(":ranges", ranges)
                    .value(":gone", gone(now))
                    .returning_new();
                again.changed(doing, V).await?.unwrap_or_default()
            }
        };
        if length_of(&row, "done") < usize::from(RANGES) {
            return Ok(None);
        }
        self.partition_done(post, share.partition, now).await
    }

    async fn partition_done(
        &self,
        post: PostId,
        partition: Partition,
        now: Time,
    ) -> Result<Option<Plan>, StoreError> {
        let doing = "noting a delivered partition";
        let update = self
            .update(post, "-")
            .expression("ADD done :partition")
            .condition("attribute_exists(partition_count)")
            .value(":partition", numbers([partition]))
            .returning_new();
        // the plan is gone if the author was dropped in the meantime
        let Some(item) = update.changed(doing, V).await? else { return Ok(None) };
        let done = length_of(&item, "done");
        let plan: Plan = read::<PlanItem>(doing, item)?.into();
        if done < usize::from(plan.partitions) {
            return Ok(None);
        }
        let complete = self
            .update(post, "-")
            .expression("SET completed_at_ms = :now")
            // without the plan, this would make a new row that never expires
            .condition(
                "attribute_exists(partition_count) AND attribute_not_exists(completed_at_ms)",
            )
            .value(":now", number(now));
        complete.changed(doing, V).await?;
        Ok(Some(plan))
    }

    fn update(&self, post: PostId, sk: &str) -> Write {
        self.table.update(key(&receipt_pk(post), sk))
    }
}

fn receipt_pk(post: PostId) -> Pk {
    ItemKind::Receipt.pk(post)
}

fn gone(now: Time) -> Value {
    number(now.expires_after(RECEIPT_KEPT))
}

fn counted(update: Write, reached: DeliveryCounts) -> Write {
    update
        .value(":delivered", number(reached.delivered))
        .value(":not_live", number(reached.not_live))
        .value(":unfollowed", number(reached.unfollowed))
        .value(":late", number(reached.late))
}
