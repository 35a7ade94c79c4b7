//! Drops feeds (`lua/drop.lua`).

use fanfold_core::{Bucket, FeedId, UserId};
use fanfold_runtime::error::StoreError;

use super::{Valkey, scripts};

impl Valkey {
    /// Drops all feeds of a user, and the leases of their rebuilds. Returns the number of live feeds.
    ///
    /// The remembered relations of the user stay for their usual time, because they stop pushes that are under
    /// way.
    pub async fn drop_feeds(&self, user: UserId) -> Result<u64, StoreError> {
        self.drop_all(self.keys.bucket(user), FeedId::of_user(user)).await
    }

    /// Drops a feed, and the lease of its rebuild.
    pub async fn drop_feed(&self, feed: FeedId) -> Result<(), StoreError> {
        self.drop_all(self.keys.bucket_of(feed), [feed]).await.map(drop)
    }

    async fn drop_all(
        &self,
        bucket: Bucket,
        feeds: impl IntoIterator<Item = FeedId>,
    ) -> Result<u64, StoreError> {
        let mut script = scripts::DROP.call();
        script.key(self.keys.live(bucket));
        for feed in feeds {
            script.key(self.keys.feed(feed)).key(self.keys.lock(feed));
        }
        script.run(&self.link, "dropping feeds").await
    }
}
