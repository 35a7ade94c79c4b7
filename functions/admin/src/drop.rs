//! Drops a user: all that is stored of them, and of their relations with others.
//!
//! Each step may be cut short and taken again, and what lies behind a step is never made anew:
//!
//! 1. The profile goes, with handle and identity, and leaves a note. From now on no transaction that
//!    counts something in it succeeds: nobody posts, follows or is followed, and no profile is made.
//! 2. Texts go, and tombstones stay. Relations end as they do by an unfollow, event and tombstone
//!    included, and the counters of the others are changed in the same transactions.
//! 3. That this is done is noted. Until functions that read something before that have ended, nothing
//!    happens.
//! 4. What they may have written goes: feeds, the mark of a pulled author, receipts; and with it the
//!    keys, the tombstones that led there, and last the note.

use tokio::time::Instant;

use fanfold_core::limits::{ADMIN_TIME_LEFT_MIN_MS, CONCURRENCY, DROP_LEASE_MS, DROP_PAGE};
use fanfold_core::{PostId, UserId};
use fanfold_store::StoreError;
use fanfold_store::clock::Deadline;
use fanfold_store::dynamo::graph::Ends;
use fanfold_store::dynamo::users::{DropBegun, Dropping};
use fanfold_store::log::Chain;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use serde::Serialize;

use crate::App;

/// How far it got, and what this order took away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Dropped {
    pub user: UserId,
    /// If not, the order is to be given again.
    pub done: bool,
    /// But not before so long.
    pub wait_ms: u64,
    /// Posts whose text was taken away.
    pub posts: u64,
    pub followers: u64,
    pub following: u64,
    pub receipt_rows: u64,
    pub keys: u64,
    pub feeds: u64,
}

/// One order at work.
struct Work<'a> {
    app: &'a App,
    user: UserId,
    now_ms: u64,
    began: Instant,
    deadline: Deadline,
    leased: bool,
    dropped: Dropped,
}

/// What came of a part of the work.
#[derive(Debug, PartialEq, Eq)]
enum Part {
    Done,
    NoTime,
}

pub async fn drop_user(
    app: &App,
    user: UserId,
    now_ms: u64,
    deadline: Deadline,
) -> Result<Dropped, StoreError> {
    let dropped = Dropped {
        user,
        done: false,
        wait_ms: 0,
        posts: 0,
        followers: 0,
        following: 0,
        receipt_rows: 0,
        keys: 0,
        feeds: 0,
    };
    let mut work =
        Work { app, user, now_ms, began: Instant::now(), deadline, leased: false, dropped };
    let worked = work.all().await;
    if work.leased && !work.dropped.done {
        work.leave().await;
    }
    // how far it got is of interest in any case
    tracing::info!(dropped = ?work.dropped, failed = worked.is_err(), "dropped a user");
    worked.map(|()| work.dropped)
}

impl Work<'_> {
    async fn all(&mut self) -> Result<(), StoreError> {
        let begun = self.app.users.begin_to_drop(self.user, self.now_ms, self.lease_until_ms());
        let note = match begun.await? {
            DropBegun::Begun(note) => {
                self.leased = true;
                note
            }
            DropBegun::Busy { until_ms } => {
                self.dropped.wait_ms = until_ms.saturating_sub(self.time_ms()).max(1);
                return Ok(());
            }
            // there never was a profile, or the last step was taken before
            DropBegun::Nothing => {
                self.caches().await?;
                self.dropped.done = true;
                return Ok(());
            }
        };
        let emptied_at_ms = match note.emptied_at_ms {
            Some(at_ms) => at_ms,
            None => {
                if self.empty(&note).await? == Part::NoTime {
                    return Ok(());
                }
                let at_ms = self.time_ms();
                self.app.users.note_emptied(self.user, at_ms).await?;
                at_ms
            }
        };
        let settled_at_ms = emptied_at_ms + self.app.drop_settles_ms;
        self.dropped.wait_ms = settled_at_ms.saturating_sub(self.time_ms());
        if self.dropped.wait_ms > 0 || self.erase().await? == Part::NoTime {
            return Ok(());
        }
        self.app.users.end_to_drop(self.user).await?;
        self.dropped.done = true;
        Ok(())
    }

    /// All that others could add to. The feeds go at the end: whoever reads posts and relations by then
    /// finds none.
    async fn empty(&mut self, note: &Dropping) -> Result<Part, StoreError> {
        if self.bury().await? == Part::NoTime
            || self.followers(note.follower_shards).await? == Part::NoTime
            || self.following().await? == Part::NoTime
        {
            return Ok(Part::NoTime);
        }
        self.caches().await?;
        Ok(Part::Done)
    }

    async fn bury(&mut self) -> Result<Part, StoreError> {
        let mut after: Option<PostId> = None;
        loop {
            let (count, next) = self.app.feeds.posts.bury(self.user, after, self.now_ms).await?;
            self.dropped.posts += count;
            after = next;
            // a page of tombstones is no work
            if after.is_none() {
                return Ok(Part::Done);
            }
            if count > 0 && self.time_is_up() {
                return Ok(Part::NoTime);
            }
        }
    }

    async fn followers(&mut self, shards: u16) -> Result<Part, StoreError> {
        let (graph, author) = (&self.app.feeds.graph, self.user);
        for shard in 0..shards {
            loop {
                let page = graph.followers_page(author, shard, None, DROP_PAGE).await?;
                if page.followers.is_empty() {
                    break;
                }
                let ended: Vec<_> = page
                    .followers
                    .into_iter()
                    .map(|follower| self.end_follower(shard, follower))
                    .collect();
                let ended: Vec<bool> =
                    stream::iter(ended).buffer_unordered(CONCURRENCY).try_collect().await?;
                self.dropped.followers += ended.into_iter().map(u64::from).sum::<u64>();
                if self.time_is_up() {
                    return Ok(Part::NoTime);
                }
            }
        }
        Ok(Part::Done)
    }

    async fn end_follower(&self, shard: u16, follower: UserId) -> Result<bool, StoreError> {
        let ended = self.end(Ends::Author { follower, author: self.user }).await?;
        if !ended {
            // the follower was faster, and took the row along; or there was but half a relation
            self.app.feeds.graph.forget_follower(self.user, shard, follower).await?;
        }
        Ok(ended)
    }

    async fn following(&mut self) -> Result<Part, StoreError> {
        let (graph, follower) = (&self.app.feeds.graph, self.user);
        let mut after = None;
        loop {
            let (page, next) = graph.following_page(follower, after, DROP_PAGE).await?;
            let some = !page.is_empty();
            let ended: Vec<_> = page
                .into_iter()
                .map(|author| self.end(Ends::Follower { follower, author }))
                .collect();
            let ended: Vec<bool> =
                stream::iter(ended).buffer_unordered(CONCURRENCY).try_collect().await?;
            self.dropped.following += ended.into_iter().map(u64::from).sum::<u64>();
            after = next;
            if after.is_none() {
                return Ok(Part::Done);
            }
            if some && self.time_is_up() {
                return Ok(Part::NoTime);
            }
        }
    }

    async fn end(&self, ends: Ends) -> Result<bool, StoreError> {
        let Self { app, now_ms, .. } = self;
        app.feeds.graph.end(&app.users, ends, *now_ms, &app.events).await
    }

    /// What is left when nobody is at work any more who could bring it back.
    async fn erase(&mut self) -> Result<Part, StoreError> {
        let feeds = &self.app.feeds;
        self.caches().await?;
        while feeds.graph.forget_following(self.user).await? {
            if self.time_is_up() {
                return Ok(Part::NoTime);
            }
        }
        loop {
            let erased = feeds.posts.erase(self.user, &self.app.receipts).await?;
            self.dropped.receipt_rows += erased.receipt_rows;
            self.dropped.keys += erased.keys;
            if erased.posts == 0 {
                return Ok(Part::Done);
            }
            if self.time_is_up() {
                return Ok(Part::NoTime);
            }
        }
    }

    /// What makes a reader look for the user's posts, or shows them.
    async fn caches(&mut self) -> Result<(), StoreError> {
        let pulled = &self.app.feeds.pulled;
        if pulled.all().await?.contains_key(&self.user) {
            pulled.release(self.user).await?;
        }
        self.dropped.feeds += self.app.feeds.valkey.drop_feeds(self.user).await?;
        Ok(())
    }

    /// So that nobody waits for the end of the lease.
    async fn leave(&self) {
        let left = self.app.users.pause_drop(self.user, self.lease_until_ms()).await;
        if let Err(error) = left {
            tracing::warn!(error = %Chain(&error), "the next order waits for a lease to end");
        }
    }

    fn lease_until_ms(&self) -> u64 {
        self.now_ms + DROP_LEASE_MS
    }

    fn time_is_up(&self) -> bool {
        self.deadline.is_within_ms(ADMIN_TIME_LEFT_MIN_MS)
    }

    fn time_ms(&self) -> u64 {
        self.now_ms + self.began.elapsed().as_millis() as u64
    }
}
