use fanfold_core::UserId;

use super::{Feed, Valkey, scripts};
use crate::error::StoreError;

impl Valkey {
    /// Drops a user's own two feeds, with the leases of their rebuilds. Returns how many were live.
    ///
    /// What Valkey remembers of the user's relations stays for as long as it does of anybody's: by it
    /// pushes that are under way are left out.
    pub async fn drop_feeds(&self, user: UserId) -> Result<u64, StoreError> {
        let mut script = scripts::DROP.call();
        script.key(self.keys.live(self.keys.bucket(user)));
        for feed in Feed::own(user) {
            script.key(self.keys.feed(feed)).key(self.keys.lock(feed));
        }
        script.run(&self.link, "dropping a user's feeds").await
    }
}
