//! Delivery receipts: the progress of the fan-out of a post. Each share is counted once, however often its message
//! arrives.

mod read;

use std::time::Duration;

use aws_config::SdkConfig;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue};
use fanfold_core::fanout::{DeliveryCounts, RANGES, Share};
use fanfold_core::{Partition, PostId, Time};
use serde::Deserialize;

use fanfold_engines::table::{Item, ItemKind, Pk, Stored, changed, key, number, read, text};
use fanfold_runtime::config::{Config, ConfigError};
use fanfold_runtime::error::StoreError;
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
    client: Client,
    table: String,
}

impl ReceiptStore {
    /// Reads the name of the table. Fails if the setting is missing.
    pub fn new(sdk: &SdkConfig, config: &Config) -> Result<Self, ConfigError> {
        Ok(Self { client: Client::new(sdk), table: config.text("POSTS_TABLE")? })
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
            .update_expression(
                "SET partition_count = if_not_exists(partition_count, :partitions), \
                 followers = if_not_exists(followers, :followers), \
                 mark = if_not_exists(mark, :mark), expires_at = :gone, v = :v",
            )
            .expression_attribute_values(":partitions", number(plan.partitions))
            .expression_attribute_values(":followers", number(plan.followers))
            .expression_attribute_values(":mark", text(mark))
            .expression_attribute_values(":gone", gone(now))
            .condition_expression(
                "attribute_not_exists(completed_at_ms) OR attribute_exists(partition_count)",
            )
            .return_values(ReturnValue::AllNew);
        let item = changed(doing, V, update).await?;
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
            .update_expression(
                "SET followers = :followers, delivered = :delivered, not_live = :not_live, \
                 unfollowed = :unfollowed, late = :late, completed_at_ms = :now, \
                 expires_at = :gone, v = :v",
            )
            .condition_expression(
                "attribute_not_exists(completed_at_ms) AND attribute_not_exists(partition_count)",
            )
            .expression_attribute_values(":followers", number(followers))
            .expression_attribute_values(":now", number(now))
            .expression_attribute_values(":gone", gone(now));
        Ok(changed("noting a fan-out", V, counted(update, reached)).await?.is_some())
    }

    /// Notes that the post is not pushed, because its author is pulled.
    pub async fn pulled(&self, post: PostId, followers: u64, now: Time) -> Result<(), StoreError> {
        let update = self
            .update(post, "-")
            .update_expression(
                "SET followers = if_not_exists(followers, :followers), pulled = :pulled, \
                 completed_at_ms = :now, expires_at = :gone, v = :v",
            )
            .condition_expression("attribute_not_exists(completed_at_ms)")
            .expression_attribute_values(":followers", number(followers))
            .expression_attribute_values(":pulled", AttributeValue::Bool(true))
            .expression_attribute_values(":now", number(now))
            .expression_attribute_values(":gone", gone(now));
        changed("noting a post of a pulled author", V, update).await.map(drop)
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
        let ranges = AttributeValue::Ns((share.from..share.to).map(|r| r.to_string()).collect());
        let mut update = self
            .update(post, &partition)
            .update_expression(
                "ADD done :ranges, chunks :one, delivered :delivered, not_live :not_live, \
                 unfollowed :unfollowed, late :late SET expires_at = :gone, v = :v",
            )
            .expression_attribute_values(":ranges", ranges.clone())
            .expression_attribute_values(":one", number(1))
            .expression_attribute_values(":gone", gone(now))
            .return_values(ReturnValue::AllNew);
        let mut condition = Vec::new();
        for range in share.from..share.to {
            // mutation: receipt-once
            condition.push(format!("NOT contains(done, :r{range})"));
            update = update.expression_attribute_values(format!(":r{range}"), number(range));
        }
        update = update.condition_expression(condition.join(" AND "));
        let row = match changed(doing, V, counted(update, reached)).await? {
            Some(row) => row,
            // some of these ranges were counted before
            None => {
                let again = self
                    .update(post, &partition)
                    .update_expression("ADD done :ranges SET expires_at = :gone")
                    .expression_attribute_values(":ranges", ranges)
                    .expression_attribute_values(":gone", gone(now))
                    .return_values(ReturnValue::AllNew);
                changed(doing, V, again).await?.unwrap_or_default()
            }
        };
        // mutation: receipt-partition
        if numbers(&row, "done") < usize::from(RANGES) {
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
            .update_expression("ADD done :partition")
            .condition_expression("attribute_exists(partition_count)")
            .expression_attribute_values(
                ":partition",
                AttributeValue::Ns(vec![partition.to_string()]),
            )
            .return_values(ReturnValue::AllNew);
        // the plan is gone if the author was dropped in the meantime
        let Some(item) = changed(doing, V, update).await? else { return Ok(None) };
        let done = numbers(&item, "done");
        let plan: Plan = read::<PlanItem>(doing, item)?.into();
        // mutation: receipt-complete
        if done < usize::from(plan.partitions) {
            return Ok(None);
        }
        let complete = self
            .update(post, "-")
            .update_expression("SET completed_at_ms = :now")
            // without the plan, this would make a new row that never expires
            .condition_expression(
                "attribute_exists(partition_count) AND attribute_not_exists(completed_at_ms)",
            )
            .expression_attribute_values(":now", number(now));
        changed(doing, V, complete).await?;
        Ok(Some(plan))
    }

    fn update(&self, post: PostId, sk: &str) -> UpdateItemFluentBuilder {
        self.client.update_item().table_name(&self.table).set_key(Some(key(&receipt_pk(post), sk)))
    }
}

fn receipt_pk(post: PostId) -> Pk {
    ItemKind::Receipt.pk(post)
}

fn gone(now: Time) -> AttributeValue {
    number(now.expires_after(RECEIPT_KEPT))
}

fn counted(update: UpdateItemFluentBuilder, reached: DeliveryCounts) -> UpdateItemFluentBuilder {
    update
        .expression_attribute_values(":delivered", number(reached.delivered))
        .expression_attribute_values(":not_live", number(reached.not_live))
        .expression_attribute_values(":unfollowed", number(reached.unfollowed))
        .expression_attribute_values(":late", number(reached.late))
}

/// The number of elements of a number set.
fn numbers(item: &Item, name: &str) -> usize {
    match item.get(name) {
        Some(AttributeValue::Ns(numbers)) => numbers.len(),
        _ => 0,
    }
}
