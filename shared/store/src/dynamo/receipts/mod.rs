//! Delivery receipts: how far the fan-out of a post got. Each share of it is counted once, however
//! often its message comes.

mod read;

use aws_config::SdkConfig;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue};
use fanfold_core::PostId;
use fanfold_core::fanout::{RANGES, Share};
use fanfold_core::limits::RECEIPT_KEPT_S;
use serde::Deserialize;

use super::{Item, Stored, changed, key, number, read, text};
use crate::config::{Config, ConfigError};
use crate::error::StoreError;
use crate::feeds::Reached;
pub use read::Receipt;

/// How a fan-out is going to be cut. The first dispatch of a post decides; one that is repeated, when
/// the author may have more followers, goes on with that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// Partitions of followers.
    pub shards: u16,
    pub followers: u64,
    /// Since when pointers to the author go out with posts, if they do.
    pub mark: Option<PostId>,
}

const V: u32 = 1;

impl Stored for PlanItem {
    const V: u32 = V;
}

#[derive(Deserialize)]
struct PlanItem {
    shards: u16,
    followers: u64,
    mark: String,
}

impl From<PlanItem> for Plan {
    fn from(item: PlanItem) -> Self {
        let PlanItem { shards, followers, mark } = item;
        Self { shards, followers, mark: mark.parse().ok() }
    }
}

#[derive(Clone)]
pub struct ReceiptStore {
    client: Client,
    table: String,
}

impl ReceiptStore {
    pub fn new(sdk: &SdkConfig, config: &Config) -> Result<Self, ConfigError> {
        Ok(Self { client: Client::new(sdk), table: config.text("POSTS_TABLE")? })
    }

    /// Notes that a fan-out begins, and how it is cut; gives what was decided first. None: it was done,
    /// without a plan.
    pub async fn plan(
        &self,
        post: PostId,
        plan: Plan,
        now_ms: u64,
    ) -> Result<Option<Plan>, StoreError> {
        let doing = "planning a fan-out";
        let mark = plan.mark.map_or_else(|| "-".to_owned(), |mark| mark.to_string());
        let update = self
            .update(post, "-")
            .update_expression(
                "SET shards = if_not_exists(shards, :shards), \
                 followers = if_not_exists(followers, :followers), \
                 mark = if_not_exists(mark, :mark), expires_at = :gone, v = :v",
            )
            .expression_attribute_values(":shards", number(plan.shards))
            .expression_attribute_values(":followers", number(plan.followers))
            .expression_attribute_values(":mark", text(mark))
            .expression_attribute_values(":gone", gone(now_ms))
            .condition_expression(
                "attribute_not_exists(completed_at_ms) OR attribute_exists(shards)",
            )
            .return_values(ReturnValue::AllNew);
        let item = changed(doing, V, update).await?;
        Ok(item.map(|item| read::<PlanItem>(doing, item)).transpose()?.map(Plan::from))
    }

    /// Notes a fan-out to followers of this number that was done at once. False: it was noted before, or
    /// an earlier dispatch had a plan, which must be kept to.
    pub async fn done_at_once(
        &self,
        post: PostId,
        followers: u64,
        reached: Reached,
        now_ms: u64,
    ) -> Result<bool, StoreError> {
        let update = self
            .update(post, "-")
            .update_expression(
                "SET followers = :followers, delivered = :delivered, not_live = :not_live, \
                 unfollowed = :unfollowed, late = :late, completed_at_ms = :now, \
                 expires_at = :gone, v = :v",
            )
            .condition_expression(
                "attribute_not_exists(completed_at_ms) AND attribute_not_exists(shards)",
            )
            .expression_attribute_values(":followers", number(followers))
            .expression_attribute_values(":now", number(now_ms))
            .expression_attribute_values(":gone", gone(now_ms));
        Ok(changed("noting a fan-out", V, counted(update, reached)).await?.is_some())
    }

    /// Notes that nothing is to be done, because the author is pulled.
    pub async fn pulled(
        &self,
        post: PostId,
        followers: u64,
        now_ms: u64,
    ) -> Result<(), StoreError> {
        let update = self
            .update(post, "-")
            .update_expression(
                "SET followers = if_not_exists(followers, :followers), pulled = :pulled, \
                 completed_at_ms = :now, expires_at = :gone, v = :v",
            )
            .condition_expression("attribute_not_exists(completed_at_ms)")
            .expression_attribute_values(":followers", number(followers))
            .expression_attribute_values(":pulled", AttributeValue::Bool(true))
            .expression_attribute_values(":now", number(now_ms))
            .expression_attribute_values(":gone", gone(now_ms));
        changed("noting a post of a pulled author", V, update).await.map(drop)
    }

    /// Notes a share of a fan-out. Gives the plan if it was the last one, now or when this was said
    /// before.
    pub async fn done(
        &self,
        post: PostId,
        share: Share,
        reached: Reached,
        now_ms: u64,
    ) -> Result<Option<Plan>, StoreError> {
        let doing = "noting what was delivered";
        let shard = format!("{:04x}", share.shard);
        let ranges = AttributeValue::Ns((share.from..share.to).map(|r| r.to_string()).collect());
        let mut update = self
            .update(post, &shard)
            .update_expression(
                "ADD done :ranges, chunks :one, delivered :delivered, not_live :not_live, \
                 unfollowed :unfollowed, late :late SET expires_at = :gone, v = :v",
            )
            .expression_attribute_values(":ranges", ranges.clone())
            .expression_attribute_values(":one", number(1))
            .expression_attribute_values(":gone", gone(now_ms))
            .return_values(ReturnValue::AllNew);
        let mut condition = Vec::new();
        for range in share.from..share.to {
            condition.push(format!("NOT contains(done, :r{range})"));
            update = update.expression_attribute_values(format!(":r{range}"), number(range));
        }
        update = update.condition_expression(condition.join(" AND "));
        let row = match changed(doing, V, counted(update, reached)).await? {
            Some(row) => row,
            // all of it or a part was counted before
            None => {
                let again = self
                    .update(post, &shard)
                    .update_expression("ADD done :ranges SET expires_at = :gone")
                    .expression_attribute_values(":ranges", ranges)
                    .expression_attribute_values(":gone", gone(now_ms))
                    .return_values(ReturnValue::AllNew);
                changed(doing, V, again).await?.unwrap_or_default()
            }
        };
        if numbers(&row, "done") < usize::from(RANGES) {
            return Ok(None);
        }
        self.shard_done(post, share.shard, now_ms).await
    }

    async fn shard_done(
        &self,
        post: PostId,
        shard: u16,
        now_ms: u64,
    ) -> Result<Option<Plan>, StoreError> {
        let doing = "noting a partition that was delivered";
        let update = self
            .update(post, "-")
            .update_expression("ADD done :shard")
            .condition_expression("attribute_exists(shards)")
            .expression_attribute_values(":shard", AttributeValue::Ns(vec![shard.to_string()]))
            .return_values(ReturnValue::AllNew);
        // there is no plan any more where the author was dropped meanwhile
        let Some(item) = changed(doing, V, update).await? else { return Ok(None) };
        let done = numbers(&item, "done");
        let plan: Plan = read::<PlanItem>(doing, item)?.into();
        if done < usize::from(plan.shards) {
            return Ok(None);
        }
        let complete = self
            .update(post, "-")
            .update_expression("SET completed_at_ms = :now")
            // without the plan, this would make a row anew that never expires
            .condition_expression(
                "attribute_exists(shards) AND attribute_not_exists(completed_at_ms)",
            )
            .expression_attribute_values(":now", number(now_ms));
        changed(doing, V, complete).await?;
        Ok(Some(plan))
    }

    fn update(&self, post: PostId, sk: &str) -> UpdateItemFluentBuilder {
        self.client.update_item().table_name(&self.table).set_key(Some(key(receipt_pk(post), sk)))
    }
}

fn receipt_pk(post: PostId) -> String {
    format!("receipt#{post}")
}

fn gone(now_ms: u64) -> AttributeValue {
    number(now_ms / 1000 + RECEIPT_KEPT_S)
}

fn counted(update: UpdateItemFluentBuilder, reached: Reached) -> UpdateItemFluentBuilder {
    update
        .expression_attribute_values(":delivered", number(reached.delivered))
        .expression_attribute_values(":not_live", number(reached.not_live))
        .expression_attribute_values(":unfollowed", number(reached.unfollowed))
        .expression_attribute_values(":late", number(reached.late))
}

/// How many numbers a set holds.
fn numbers(item: &Item, name: &str) -> usize {
    match item.get(name) {
        Some(AttributeValue::Ns(numbers)) => numbers.len(),
        _ => 0,
    }
}
