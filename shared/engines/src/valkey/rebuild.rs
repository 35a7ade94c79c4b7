//! Begins and commits rebuilds, and begins new memories (`lua/begin.lua`, `lua/commit.lua`, `lua/renew.lua`).

use fanfold_core::limits::{MEMORY_BEGINS_WITHIN, REBUILD_LEASE};
use fanfold_core::time::millis;
use fanfold_core::{Bucket, FeedId, Slice, Time, UserId, order};
use fanfold_runtime::error::StoreError;

use super::Valkey;
use super::scripts::{self, Word};

/// The result of beginning a rebuild.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RebuildStart {
    /// The caller holds the lease.
    Begun,
    /// Another caller holds the lease.
    Busy,
    /// The feed is already built.
    Built,
}

impl Word for RebuildStart {
    fn of(word: &str) -> Option<Self> {
        match word {
            "begun" => Some(Self::Begun),
            "busy" => Some(Self::Busy),
            "built" => Some(Self::Built),
            _ => None,
        }
    }
}

/// The result of committing a rebuild.
#[derive(PartialEq, Eq)]
enum CommitAnswer {
    Done,
    /// The lease was lost.
    Lost,
}

impl Word for CommitAnswer {
    fn of(word: &str) -> Option<Self> {
        match word {
            "done" => Some(Self::Done),
            "lost" => Some(Self::Lost),
            _ => None,
        }
    }
}

/// The confirmation that a new memory has begun.
struct Renewed;

impl Word for Renewed {
    fn of(word: &str) -> Option<Self> {
        (word == "done").then_some(Self)
    }
}

impl Valkey {
    /// Takes the lease of a rebuild and makes the feed live, so that later pushes reach it. If `token` is that of
    /// the present lease, the caller continues with it.
    pub async fn begin(
        &self,
        feed: FeedId,
        token: &str,
        now: Time,
    ) -> Result<RebuildStart, StoreError> {
        let bucket = self.keys.bucket_of(feed);
        let mut script = scripts::BEGIN.call();
        script.key(self.keys.live(bucket)).key(self.keys.memory(bucket));
        script.key(self.keys.feed(feed)).key(self.keys.lock(feed));
        script.arg(now.ms()).arg((now + MEMORY_BEGINS_WITHIN).ms());
        script.arg(token).arg(millis(REBUILD_LEASE));
        script.run_for_word(&self.link, "beginning a rebuild").await
    }

    /// Begins a new memory of a bucket, so that all its present feeds and relations are ignored. `token` must be
    /// unique to this memory.
    pub async fn renew(&self, bucket: Bucket, token: &str, now: Time) -> Result<(), StoreError> {
        let mut script = scripts::RENEW.call();
        script.key(self.keys.memory(bucket)).arg((now + MEMORY_BEGINS_WITHIN).ms()).arg(token);
        let Renewed: Renewed = script.run_for_word(&self.link, "beginning a new memory").await?;
        Ok(())
    }

    /// Commits a rebuild: adds all entries and the floor. Returns false if the lease was lost; then nothing was
    /// changed. `pulled` are the pulled authors among the followed ones; the feed gets a pointer to each.
    pub async fn commit(
        &self,
        feed: FeedId,
        token: &str,
        slice: &Slice,
        pulled: &[UserId],
    ) -> Result<bool, StoreError> {
        let bucket = self.keys.bucket_of(feed);
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
        script.arg(feed.user().to_string()).arg(token);
        script.arg(order::score(slice.floor())).arg(self.full()).arg(self.keep());
        // a feed has at most FEED_CAP_MAX entries, so an index fits two bytes
        let place = |author| authors.partition_point(|other| *other < author) as u16 + 1;
        let places = |authors: &mut dyn Iterator<Item = UserId>| -> Vec<u8> {
            authors.flat_map(|author| place(author).to_be_bytes()).collect()
        };
        let pointers: Vec<u8> = pulled.iter().flat_map(|author| order::pointer(*author)).collect();
        script.arg(order::packed(&slice.posts));
        script.arg(places(&mut slice.posts.iter().map(|post| post.author())));
        script.arg(pointers).arg(places(&mut pulled.iter().copied()));
        let committed: CommitAnswer =
            script.run_for_word(&self.link, "committing a rebuild").await?;
        Ok(committed == CommitAnswer::Done)
    }
}
