use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use fanfold_core::PostId;
use fanfold_core::fanout::RANGES;
use serde::Deserialize;

use super::super::{Item, Stored, read, text};
use super::{ReceiptStore, V, numbers, receipt_pk};
use crate::error::StoreError;
use crate::feeds::Reached;

/// How far the fan-out of a post got.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Receipt {
    /// Followers that the author had when it began; None: it has not begun.
    pub followers: Option<u64>,
    pub chunks: u64,
    pub reached: Reached,
    /// 0 to 1.
    pub progress: f64,
    pub completed_at_ms: Option<u64>,
    /// The author is pulled: readers find the post in the author feed.
    pub pulled: bool,
}

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct ReceiptItem {
    sk: String,
    shards: u16,
    followers: Option<u64>,
    chunks: u64,
    delivered: u64,
    not_live: u64,
    unfollowed: u64,
    late: u64,
    completed_at_ms: Option<u64>,
    pulled: bool,
}

impl Stored for ReceiptItem {
    const V: u32 = V;
}

impl ReceiptStore {
    /// A page of a receipt's rows.
    fn page(&self, post: PostId, start: Option<Item>) -> QueryFluentBuilder {
        self.client
            .query()
            .table_name(&self.table)
            .key_condition_expression("pk = :pk")
            .expression_attribute_values(":pk", text(receipt_pk(post)))
            .consistent_read(true)
            .set_exclusive_start_key(start)
    }

    /// The keys of all rows of a receipt.
    pub(in crate::dynamo) async fn rows(&self, post: PostId) -> Result<Vec<Item>, StoreError> {
        let doing = "looking for a delivery receipt";
        let (mut rows, mut start): (Vec<Item>, Option<Item>) = (Vec::new(), None);
        loop {
            let page = self
                .page(post, start)
                .projection_expression("pk, sk")
                .send()
                .await
                .map_err(StoreError::dynamo(doing))?;
            rows.extend(page.items.unwrap_or_default());
            start = page.last_evaluated_key;
            if start.is_none() {
                return Ok(rows);
            }
        }
    }

    pub async fn receipt(&self, post: PostId) -> Result<Receipt, StoreError> {
        let doing = "reading a delivery receipt";
        let (mut receipt, mut shards, mut ranges) = (Receipt::default(), 0, 0);
        let mut start: Option<Item> = None;
        loop {
            let page = self.page(post, start).send().await.map_err(StoreError::dynamo(doing))?;
            for item in page.items.unwrap_or_default() {
                let done = numbers(&item, "done");
                let part: ReceiptItem = read(doing, item)?;
                if part.sk == "-" {
                    receipt.followers = part.followers;
                    receipt.completed_at_ms = part.completed_at_ms;
                    receipt.pulled = part.pulled;
                    shards = part.shards;
                } else {
                    ranges += done;
                }
                receipt.chunks += part.chunks;
                receipt.reached = receipt.reached.plus(Reached {
                    delivered: part.delivered,
                    not_live: part.not_live,
                    unfollowed: part.unfollowed,
                    late: part.late,
                });
            }
            start = page.last_evaluated_key;
            if start.is_none() {
                break;
            }
        }
        let all = usize::from(shards) * usize::from(RANGES);
        receipt.progress = match receipt.completed_at_ms {
            Some(_) => 1.0,
            None => ranges as f64 / all.max(1) as f64,
        };
        Ok(receipt)
    }
}
