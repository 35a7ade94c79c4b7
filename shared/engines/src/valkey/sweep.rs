//! Drops feeds that nobody reads, and old relations (`lua/expire.lua`).

use fanfold_core::limits::SWEEP_BATCH;
use fanfold_core::{Bucket, FeedId, Time};
use fanfold_runtime::error::StoreError;

use super::{Key, Keys, Valkey, failed, scripts};

impl Valkey {
    /// Drops feeds of a bucket that were last read at `until` or before, at most `count` and
    /// [`SWEEP_BATCH`]. Returns the number of dropped feeds.
    pub async fn expire(
        &self,
        bucket: Bucket,
        until: Time,
        count: usize,
    ) -> Result<u64, StoreError> {
        self.drop_due(self.keys.live(bucket), until, count, "dropping feeds").await
    }

    /// The feeds that [`Valkey::expire`] would drop.
    pub async fn idle(
        &self,
        bucket: Bucket,
        until: Time,
        count: usize,
    ) -> Result<Vec<FeedId>, StoreError> {
        let doing = "looking for idle feeds";
        let idle = self.listed(&self.keys.live(bucket), until, count, doing).await?;
        Ok(idle.iter().filter_map(|member| Keys::feed_of(member)).collect())
    }

    /// Drops the remembered relations of a bucket to authors whose last change was at `until` or
    /// before, at most `count` and [`SWEEP_BATCH`] authors. Returns the number of authors.
    pub async fn forget(
        &self,
        bucket: Bucket,
        until: Time,
        count: usize,
    ) -> Result<u64, StoreError> {
        self.drop_due(self.keys.rels(bucket), until, count, "forgetting relations").await
    }

    /// Drops keys whose time in the list is `until` or before, at most `count` and [`SWEEP_BATCH`].
    async fn drop_due(
        &self,
        list: Key,
        until: Time,
        count: usize,
        doing: &'static str,
    ) -> Result<u64, StoreError> {
        let due = self.listed(&list, until, count, doing).await?;
        if due.is_empty() {
            return Ok(0);
        }
        let mut script = scripts::EXPIRE.call();
        script.key(list);
        for key in Keys::listed(due) {
            script.key(key);
        }
        script.arg(until.ms());
        script.run(&self.link, doing).await
    }

    /// The keys whose time in the list is `until` or before, at most `count` and [`SWEEP_BATCH`].
    async fn listed(
        &self,
        list: &Key,
        until: Time,
        count: usize,
        doing: &'static str,
    ) -> Result<Vec<String>, StoreError> {
        let mut range = list.command("ZRANGE");
        range.arg("-inf").arg(until.ms()).arg("BYSCORE");
        range.arg("LIMIT").arg(0).arg(count.min(SWEEP_BATCH));
        range.query_async(&mut self.link.clone()).await.map_err(failed(doing))
    }

    /// The number of feeds of a bucket that were last read at `until` or before.
    pub async fn due(&self, bucket: Bucket, until: Time) -> Result<u64, StoreError> {
        self.keys
            .live(bucket)
            .command("ZCOUNT")
            .arg("-inf")
            .arg(until.ms())
            .query_async(&mut self.link.clone())
            .await
            .map_err(failed("counting the feeds to drop"))
    }

    /// Up to `count` live feeds of a bucket, chosen at random.
    pub async fn sample(&self, bucket: Bucket, count: usize) -> Result<Vec<FeedId>, StoreError> {
        let members: Vec<String> = self
            .keys
            .live(bucket)
            .command("ZRANDMEMBER")
            .arg(count)
            .query_async(&mut self.link.clone())
            .await
            .map_err(failed("looking for live feeds"))?;
        Ok(members.iter().filter_map(|member| Keys::feed_of(member)).collect())
    }
}
