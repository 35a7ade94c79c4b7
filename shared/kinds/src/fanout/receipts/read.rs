//! Reads delivery receipts.

use fanfold_core::fanout::{DeliveryCounts, RANGES};
use fanfold_core::{PostId, Time};
use fanfold_engines::table::{Item, Stored, length_of, read};
use fanfold_runtime::error::StoreError;
use serde::Deserialize;

use super::{ReceiptStore, V, receipt_pk};

/// The progress of the fan-out of a post.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Receipt {
    /// The author's followers when the fan-out began. `None`: it has not begun.
    pub followers: Option<u64>,
    /// The number of delivered chunks.
    pub chunks: u64,
    /// The counts of all delivered chunks.
    pub reached: DeliveryCounts,
    /// The delivered share of all followers, from 0 to 1.
    pub progress: f64,
    /// The time at which the last followers had the post. `None`: not complete.
    pub completed_at: Option<Time>,
    /// Whether the author is pulled. Readers then get the post from the author feed.
    pub pulled: bool,
}

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct ReceiptItem {
    sk: String,
    #[serde(rename = "partition_count")]
    partitions: u16,
    followers: Option<u64>,
    chunks: u64,
    delivered: u64,
    not_live: u64,
    unfollowed: u64,
    late: u64,
    #[serde(rename = "completed_at_ms")]
    completed_at: Option<Time>,
    pulled: bool,
}

impl Stored for ReceiptItem {
    const V: u32 = V;
}

impl ReceiptStore {
    /// The keys of all rows of a receipt.
    pub(crate) async fn rows(&self, post: PostId) -> Result<Vec<Item>, StoreError> {
        let (doing, pk) = ("reading the keys of a delivery receipt", receipt_pk(post));
        self.table.rows(doing, &pk).only("pk, sk").all(None).await
    }

    /// Reads the receipt of a post.
    pub async fn receipt(&self, post: PostId) -> Result<Receipt, StoreError> {
        let doing = "reading a delivery receipt";
        let (mut receipt, mut partitions, mut ranges) = (Receipt::default(), 0, 0);
        let pk = receipt_pk(post);
        for item in self.table.rows(doing, &pk).all(None).await? {
            let done = length_of(&item, "done");
            let part: ReceiptItem = read(doing, item)?;
            if part.sk == "-" {
                receipt.followers = part.followers;
                receipt.completed_at = part.completed_at;
                receipt.pulled = part.pulled;
                partitions = part.partitions;
            } else {
                ranges += done;
            }
            receipt.chunks += part.chunks;
            receipt.reached = receipt.reached.plus(DeliveryCounts {
                delivered: part.delivered,
                not_live: part.not_live,
                unfollowed: part.unfollowed,
                late: part.late,
            });
        }
        let all = usize::from(partitions) * usize::from(RANGES);
        receipt.progress = match receipt.completed_at {
            Some(_) => 1.0,
            None => ranges as f64 / all.max(1) as f64,
        };
        Ok(receipt)
    }
}
