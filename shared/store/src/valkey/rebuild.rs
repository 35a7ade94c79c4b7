use fanfold_core::limits::REBUILD_LEASE_MS;
use fanfold_core::{Slice, UserId, order};

use super::{Feed, Valkey, failed, scripts};
use crate::error::StoreError;

/// How the start of a rebuild went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begun {
    /// This caller holds the lease.
    Begun,
    /// Another one does.
    Busy,
    /// The feed is there already.
    Built,
}

impl Valkey {
    /// Takes the lease and makes the feed live, so that pushes land in it from now on. Whoever
    /// comes with the token of the lease that is held goes on with it.
    pub async fn begin(&self, feed: Feed, token: &str, now_ms: u64) -> Result<Begun, StoreError> {
        let outcome: String = scripts::BEGIN
            .key(self.keys.live(self.keys.bucket(feed.user)))
            .key(self.keys.memory(self.keys.bucket(feed.user)))
            .key(self.keys.feed(feed))
            .key(self.keys.lock(feed))
            .arg(now_ms)
            .arg(token)
            .arg(REBUILD_LEASE_MS)
            .invoke_async(&mut self.link.clone())
            .await
            .map_err(failed("beginning a rebuild"))?;
        Ok(match outcome.as_str() {
            "begun" => Begun::Begun,
            "built" => Begun::Built,
            _ => Begun::Busy,
        })
    }

    /// Commits all entries and the floor at once. False: the lease was lost, nothing was done.
    /// `pulled` are those authors whose posts may not be pushed.
    pub async fn commit(
        &self,
        feed: Feed,
        token: &str,
        slice: &Slice,
        pulled: &[UserId],
    ) -> Result<bool, StoreError> {
        let bucket = self.keys.bucket(feed.user);
        let mut authors: Vec<UserId> = slice.posts.iter().map(|post| post.author()).collect();
        authors.extend(pulled);
        authors.sort_unstable();
        authors.dedup();
        let mut script = scripts::COMMIT.prepare_invoke();
        script.key(self.keys.live(bucket)).key(self.keys.memory(bucket));
        script.key(self.keys.feed(feed)).key(self.keys.lock(feed));
        for author in &authors {
            script.key(self.keys.rel(bucket, *author));
        }
        script.arg(feed.user.to_string()).arg(token);
        script.arg(order::score(slice.floor_ms())).arg(self.full()).arg(self.keep());
        let place = |author| authors.partition_point(|other| *other < author) + 1;
        for post in &slice.posts {
            script.arg(order::score(post.time_ms())).arg(&order::member(*post)[..]);
            script.arg(place(post.author()));
        }
        for author in pulled {
            script.arg("-inf").arg(&order::pointer(*author)[..]).arg(place(*author));
        }
        if !pulled.is_empty() {
            script.arg("-inf").arg(order::POINTERS).arg(0);
        }
        let outcome: String = script
            .invoke_async(&mut self.link.clone())
            .await
            .map_err(failed("committing a rebuild"))?;
        Ok(outcome == "done")
    }
}
