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
        self.drop_due(self.keys.live(bucket), until_ms, count, "dropping feeds").await
    }

    /// Forgets the changes of relations to up to `count` authors, of which none was made after
    /// `until_ms`. Returns how many authors' were forgotten.
    pub async fn forget(
        &self,
        bucket: u16,
        until_ms: u64,
        count: usize,
    ) -> Result<u64, StoreError> {
        self.drop_due(self.keys.rels(bucket), until_ms, count, "forgetting relations").await
    }

    /// Drops keys that a list names with a time up to this one, at most `count` and [`SWEEP_BATCH`].
    async fn drop_due(
        &self,
        list: String,
        until_ms: u64,
        count: usize,
        doing: &'static str,
    ) -> Result<u64, StoreError> {
        let mut range = redis::cmd("ZRANGE");
        range.arg(&list).arg("-inf").arg(until_ms).arg("BYSCORE");
        range.arg("LIMIT").arg(0).arg(count.min(SWEEP_BATCH));
        let due: Vec<String> =
            range.query_async(&mut self.link.clone()).await.map_err(failed(doing))?;
        if due.is_empty() {
            return Ok(0);
        }
        let mut script = scripts::EXPIRE.call();
        script.key(list).key(due).arg(until_ms);
        script.run(&self.link, doing).await
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
