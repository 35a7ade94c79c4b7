use fanfold_core::limits::SWEEP_BATCH;

use super::{Feed, Valkey, failed, scripts};
use crate::error::StoreError;

impl Valkey {
    /// Drops up to `count` feeds of a bucket that were last read at `until_ms` or before.
    /// Returns how many were dropped.
    pub async fn expire(
        &self,
        bucket: u16,
        until_ms: u64,
        count: usize,
    ) -> Result<u64, StoreError> {
        let live = self.keys.live(bucket);
        let count = count.min(SWEEP_BATCH);
        let due: Vec<String> = redis::cmd("ZRANGE")
            .arg(&live)
            .arg("-inf")
            .arg(until_ms)
            .arg("BYSCORE")
            .arg("LIMIT")
            .arg(0)
            .arg(count)
            .query_async(&mut self.link.clone())
            .await
            .map_err(failed("looking for feeds to drop"))?;
        if due.is_empty() {
            return Ok(0);
        }
        let mut script = scripts::EXPIRE.prepare_invoke();
        script.key(live).arg(until_ms);
        script.key(due);
        script.invoke_async(&mut self.link.clone()).await.map_err(failed("dropping feeds"))
    }

    /// How many feeds of a bucket are due.
    pub async fn due(&self, bucket: u16, until_ms: u64) -> Result<u64, StoreError> {
        redis::cmd("ZCOUNT")
            .arg(self.keys.live(bucket))
            .arg("-inf")
            .arg(until_ms)
            .query_async(&mut self.link.clone())
            .await
            .map_err(failed("counting the feeds to drop"))
    }

    /// Some live feeds of a bucket, by chance.
    pub async fn sample(&self, bucket: u16, count: usize) -> Result<Vec<Feed>, StoreError> {
        let members: Vec<String> = redis::cmd("ZRANDMEMBER")
            .arg(self.keys.live(bucket))
            .arg(count)
            .query_async(&mut self.link.clone())
            .await
            .map_err(failed("looking for live feeds"))?;
        Ok(members.iter().filter_map(|member| Feed::of_key(member)).collect())
    }
}
