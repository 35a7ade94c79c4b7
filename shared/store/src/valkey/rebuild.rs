use fanfold_core::limits::{MEMORY_BEGINS_WITHIN_MS, REBUILD_LEASE_MS};
use fanfold_core::{Slice, UserId, order};

use super::{Feed, Valkey, scripts};
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
        let bucket = self.keys.bucket(feed.user);
        let mut script = scripts::BEGIN.call();
        script.key(self.keys.live(bucket)).key(self.keys.memory(bucket));
        script.key(self.keys.feed(feed)).key(self.keys.lock(feed));
        script.arg(now_ms).arg(now_ms + MEMORY_BEGINS_WITHIN_MS).arg(token).arg(REBUILD_LEASE_MS);
        let outcome: String = script.run(&self.link, "beginning a rebuild").await?;
        Ok(match outcome.as_str() {
            "begun" => Begun::Begun,
            "built" => Begun::Built,
            _ => Begun::Busy,
        })
    }

    /// Begins a new memory of a bucket: from now on none of its feeds and relations is believed. `token`
    /// is one that no other memory has.
    pub async fn renew(&self, bucket: u16, token: &str, now_ms: u64) -> Result<(), StoreError> {
        let mut script = scripts::RENEW.call();
        script.key(self.keys.memory(bucket)).arg(now_ms + MEMORY_BEGINS_WITHIN_MS).arg(token);
        let _done: String = script.run(&self.link, "beginning a new memory").await?;
        Ok(())
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
        let mut script = scripts::COMMIT.call();
        script.key(self.keys.live(bucket)).key(self.keys.memory(bucket));
        script.key(self.keys.feed(feed)).key(self.keys.lock(feed));
        for author in &authors {
            script.key(self.keys.rel(bucket, *author));
        }
        script.arg(feed.user.to_string()).arg(token);
        script.arg(order::score(slice.floor_ms())).arg(self.full()).arg(self.keep());
        // a feed has at most FEED_CAP_MAX entries, so a place fits two bytes
        let place = |author| authors.partition_point(|other| *other < author) as u16 + 1;
        let places = |authors: &mut dyn Iterator<Item = UserId>| -> Vec<u8> {
            authors.flat_map(|author| place(author).to_be_bytes()).collect()
        };
        let pointers: Vec<u8> = pulled.iter().flat_map(|author| order::pointer(*author)).collect();
        script.arg(order::packed(&slice.posts));
        script.arg(places(&mut slice.posts.iter().map(|post| post.author())));
        script.arg(pointers).arg(places(&mut pulled.iter().copied()));
        let outcome: String = script.run(&self.link, "committing a rebuild").await?;
        Ok(outcome == "done")
    }
}
