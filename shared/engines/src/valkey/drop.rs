//! Drops a user's feeds (`lua/drop.lua`).

use fanfold_core::{FeedId, UserId};
use fanfold_runtime::error::StoreError;

use super::{Valkey, scripts};

impl Valkey {
    /// Drops all feeds of a user, and the leases of their rebuilds. Returns the number of live feeds.
    ///
    /// The remembered relations of the user stay for their usual time, because they stop pushes that are under
    /// way.
    pub async fn drop_feeds(&self, user: UserId) -> Result<u64, StoreError> {
        let mut script = scripts::DROP.call();
        script.key(self.keys.live(self.keys.bucket(user)));
        for feed in FeedId::of_user(user) {
            script.key(self.keys.feed(feed)).key(self.keys.lock(feed));
        }
        script.run(&self.link, "dropping a user's feeds").await
    }
}
