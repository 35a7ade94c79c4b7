//! Erases a user: everything that is stored about the user and about the user's relations.
//!
//! Each step can be interrupted and repeated. After a step, the data that it removed cannot be created again:
//!
//! 1. A note without handle and identity replaces the profile. From now on, every transaction that counts in the
//!    profile fails: the user cannot post or follow, and cannot create a profile. Others no longer find a profile to
//!    follow.
//! 2. The texts of posts are removed and tombstones stay; messages remove the likes of these posts. The likes that the
//!    user gave are removed, and scheduled posts and timers, and the user's boards; messages remove their scores. Relations end as by an unfollow, with events and tombstones;
//!    the same transactions change the counters of the other users.
//! 3. The note records the time. Nothing happens until all functions that read earlier state have ended.
//! 4. A function that had read the profile may have added a follower after step 2. Such relations end, and step 3 is
//!    repeated. Otherwise, nobody can add data any more.
//! 5. The rest is removed, with data that other functions may have written meanwhile: feeds, the mark of a pulled
//!    author, count rows, receipts, idempotency keys and tombstones, and the note last.

use crate::App;
use crate::boards::items::{BoardEnd, BoardPut};
use crate::follows::items::Ends;
use crate::likes::items::Like;
use crate::likes::messages::LikeChanged;
use crate::people::items::{DropBegun, Dropping};
use crate::people::messages::ProfileChanged;
use crate::posts::messages::PostDeleted;
mod steps;

use fanfold_core::limits::{ADMIN_TIME_LEFT_MIN, CONCURRENCY, DROP_LEASE, DROP_PAGE};
use fanfold_core::registry::CHANGE_EVENTS;
use fanfold_core::time::millis;
use fanfold_core::{DueEntry, Partition, PostId, Time, UserId};
use fanfold_engines::outbox::{all_announced, announced, announced_after};
use fanfold_engines::valkey::CardId;
use fanfold_runtime::StoreError;
use fanfold_runtime::clock::Deadline;
use fanfold_runtime::log::Chain;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use serde::Serialize;
use tokio::time::Instant;

use crate::{boards, follows};
use steps::{EMPTY, ERASE};
pub use steps::{Removal, Step, removal_of_items, removal_of_keys};

/// Relations of one partition that are ended at the same time. DynamoDB takes 500 changes a second in a
/// partition.
const DROP_ENDS_AT_ONCE: usize = 8;

/// The result of one order to erase a user: how far the removal is, and what this order removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Dropped {
    pub user: UserId,
    /// Whether everything is removed. If not, the order must be given again.
    pub done: bool,
    /// Milliseconds to wait before giving the order again.
    pub wait_ms: u64,
    /// Posts whose text was removed.
    pub posts: u64,
    /// Likes that were removed: those that the user gave.
    pub likes: u64,
    /// Boards that were removed.
    pub boards: u64,
    /// Scheduled posts that were removed.
    pub scheduled: u64,
    /// Timers that were removed.
    pub timers: u64,
    /// Relations to followers that were ended.
    pub followers: u64,
    /// Relations to followed authors that were ended.
    pub following: u64,
    /// Rows of delivery receipts that were removed.
    pub receipt_rows: u64,
    /// Idempotency keys that were removed.
    pub keys: u64,
    /// Feeds that were removed from Valkey.
    pub feeds: u64,
}

/// An order that is being executed.
struct Work<'a> {
    app: &'a App,
    user: UserId,
    now: Time,
    began: Instant,
    deadline: Deadline,
    /// Whether this order holds the lease of the user.
    leased: bool,
    dropped: Dropped,
}

/// The result of a step.
#[derive(Debug, PartialEq, Eq)]
enum Progress {
    Done,
    /// The deadline is near, and the step is not complete.
    NoTime,
}

/// Erases a user, as far as the deadline allows. To be repeated until [`Dropped::done`], each time after
/// [`Dropped::wait_ms`]. Only one order works on a user at a time.
pub async fn drop_user(
    app: &App,
    user: UserId,
    now: Time,
    deadline: Deadline,
) -> Result<Dropped, StoreError> {
    let dropped = Dropped {
        user,
        done: false,
        wait_ms: 0,
        posts: 0,
        likes: 0,
        boards: 0,
        scheduled: 0,
        timers: 0,
        followers: 0,
        following: 0,
        receipt_rows: 0,
        keys: 0,
        feeds: 0,
    };
    let mut work = Work { app, user, now, began: Instant::now(), deadline, leased: false, dropped };
    let worked = work.all().await;
    if work.leased && !work.dropped.done {
        work.leave().await;
    }
    // logged also if the order failed: it shows how far the removal is
    tracing::info!(dropped = ?work.dropped, failed = worked.is_err(), "dropped a user");
    worked.map(|()| work.dropped)
}

impl Work<'_> {
    /// Executes the steps that are due.
    async fn all(&mut self) -> Result<(), StoreError> {
        let event = ProfileChanged { user: self.user, changed_at: self.now, revision: None };
        let begin = |sent| self.app.users.begin_drop(sent, self.user, self.now, self.lease_until());
        let begun = announced(&self.app.outbox, &event, begin).await?;
        let note = match begun {
            DropBegun::Begun(note) => {
                self.leased = true;
                // mutation: dropped-card
                self.forget_cards(vec![CardId::user(self.user)]).await?;
                note
            }
            DropBegun::Busy { until } => {
                self.dropped.wait_ms = millis(until.since(self.time())).max(1);
                return Ok(());
            }
            // there never was a profile, or the user is erased already
            DropBegun::Nothing => {
                self.caches().await?;
                self.dropped.done = true;
                return Ok(());
            }
        };
        let emptied_at = match note.emptied_at {
            Some(at) => at,
            None => {
                if self.remove(&EMPTY, &note).await? == Progress::NoTime {
                    return Ok(());
                }
                let at = self.time();
                self.app.users.note_emptied(self.user, at).await?;
                at
            }
        };
        let settled_at = emptied_at + self.app.settings.drop_settles;
        self.dropped.wait_ms = millis(settled_at.since(self.time()));
        if self.dropped.wait_ms > 0 {
            return Ok(());
        }
        if self.has_followers(note.follower_partitions).await? {
            // functions may have read these relations, so the wait starts again before any of them ends
            self.app.users.note_emptied(self.user, self.time()).await?;
            self.dropped.wait_ms = millis(self.app.settings.drop_settles);
            return self.followers(note.follower_partitions).await.map(drop);
        }
        if self.remove(&ERASE, &note).await? == Progress::NoTime {
            return Ok(());
        }
        self.app.users.end_drop(self.user).await?;
        self.dropped.done = true;
        Ok(())
    }

    /// Executes the steps in order, until the time is up.
    async fn remove(&mut self, steps: &[Step], note: &Dropping) -> Result<Progress, StoreError> {
        for step in steps {
            let progress = match step {
                Step::Posts => self.bury().await?,
                Step::Likes => self.likes().await?,
                Step::Boards => self.boards().await?,
                Step::Due => self.due().await?,
                Step::Followers => self.followers(note.follower_partitions).await?,
                Step::Following => self.following().await?,
                Step::Caches => self.caches().await?,
                Step::Counts => self.counts(note.follower_partitions).await?,
                Step::EndedRelations => self.ended_relations().await?,
                Step::Remains => self.remains().await?,
                // `all` removes the profile before, and the note after all other steps
                Step::Profile => Progress::Done,
            };
            if progress == Progress::NoTime {
                return Ok(Progress::NoTime);
            }
        }
        Ok(Progress::Done)
    }

    /// Replaces the posts with tombstones.
    async fn bury(&mut self) -> Result<Progress, StoreError> {
        let mut after: Option<PostId> = None;
        loop {
            let posts = &self.app.posts;
            let page = posts.to_bury(self.user, after).await?;
            let (all, next) = (page.all().map(CardId::post).collect(), page.next);
            let events: Vec<PostDeleted> =
                page.live().map(|post| PostDeleted { post, deleted_at: self.time() }).collect();
            let bury = |sent| posts.bury(sent, self.user, page, self.now);
            // mutation: buried-likes
            let count = all_announced(&self.app.outbox, CHANGE_EVENTS, &events, bury).await?;
            // all posts of the page, because an earlier order may have died before it did this
            // mutation: buried-cards
            self.forget_cards(all).await?;
            self.dropped.posts += count;
            after = next;
            if after.is_none() {
                return Ok(Progress::Done);
            }
            // a page that has only tombstones is passed quickly
            if count > 0 && self.time_is_up() {
                return Ok(Progress::NoTime);
            }
        }
    }

    /// Removes the likes that the user gave.
    async fn likes(&mut self) -> Result<Progress, StoreError> {
        loop {
            let likes = self.app.likes.of_user(self.user, DROP_PAGE as usize).await?;
            let some = !likes.is_empty();
            let ends = likes.into_iter().map(|like| self.remove_like(like));
            self.dropped.likes += ended(ends.collect(), CONCURRENCY).await?;
            if !some {
                return Ok(Progress::Done);
            }
            if self.time_is_up() {
                return Ok(Progress::NoTime);
            }
        }
    }

    /// Removes one like. Returns whether this call removed it.
    async fn remove_like(&self, like: Like) -> Result<bool, StoreError> {
        let event =
            LikeChanged { user: like.user, post: like.post, token: None, changed_at: self.time() };
        // mutation: dropped-like-event
        let commit = |sent| self.app.likes.remove_of_dropped(sent, like);
        announced(&self.app.outbox, &event, commit).await
    }

    /// Removes the boards. The handler of each event removes the scores.
    async fn boards(&mut self) -> Result<Progress, StoreError> {
        loop {
            let boards = self.app.boards.of_owner(self.user).await?;
            for board in &boards {
                let end = |sent| self.app.boards.end_board(sent, board, BoardEnd::OwnerDropped);
                let event = boards::settings::event(board);
                let ended =
                    announced_after(&self.app.outbox, &event, self.app.settings.event_delay, end)
                        .await?;
                // mutation: dropped-board-card
                self.forget_cards(vec![CardId::board(board.id)]).await?;
                self.dropped.boards += u64::from(ended == BoardPut::Done);
                if self.time_is_up() {
                    return Ok(Progress::NoTime);
                }
            }
            if boards.is_empty() {
                return Ok(Progress::Done);
            }
        }
    }

    /// Removes the scheduled posts and timers.
    async fn due(&mut self) -> Result<Progress, StoreError> {
        loop {
            let scheduled = self.app.scheduled.forget_scheduled(self.user, &self.app.posts).await?;
            let timers = self.app.timers.forget_timers(self.user).await?;
            self.dropped.keys += scheduled.keys;
            self.dropped.scheduled += scheduled.items;
            self.dropped.timers += timers.items;
            let entries: Vec<DueEntry> =
                scheduled.entries.into_iter().chain(timers.entries).collect();
            // mutation: dropped-due
            self.app.valkey.due_done(&entries).await?;
            if scheduled.found + timers.found == 0 {
                return Ok(Progress::Done);
            }
            if self.time_is_up() {
                return Ok(Progress::NoTime);
            }
        }
    }

    /// Drops cards, after the commit that removed their items.
    async fn forget_cards(&self, cards: Vec<CardId>) -> Result<(), StoreError> {
        self.app.valkey.forget_cards(&cards).await
    }

    async fn has_followers(&self, partitions: u16) -> Result<bool, StoreError> {
        for partition in Partition::first(partitions) {
            let some = self.app.graph.some_followers(self.user, partition, 1).await?;
            if !some.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Ends the relations to followers.
    async fn followers(&mut self, partitions: u16) -> Result<Progress, StoreError> {
        let (graph, author) = (&self.app.graph, self.user);
        for partition in Partition::first(partitions) {
            loop {
                let page = graph.some_followers(author, partition, DROP_PAGE as usize).await?;
                if page.is_empty() {
                    break;
                }
                let cards = page.iter().copied();
                let cards =
                    cards.flat_map(|user| [CardId::user(user), CardId::relation(user, author)]);
                let cards: Vec<CardId> = cards.collect();
                let followers = page.into_iter();
                let ends = followers.map(|follower| self.end_follower(partition, follower));
                self.dropped.followers += ended(ends.collect(), DROP_ENDS_AT_ONCE).await?;
                // mutation: dropped-follower-cards
                // the relations, and the numbers of the authors whom they follow
                self.app.valkey.cards_changed(&cards).await?;
                if self.time_is_up() {
                    return Ok(Progress::NoTime);
                }
            }
        }
        Ok(Progress::Done)
    }

    async fn end_follower(
        &self,
        partition: Partition,
        follower: UserId,
    ) -> Result<bool, StoreError> {
        let ended = self.end(Ends::Author { follower, author: self.user }).await?;
        if !ended {
            // the follower has unfollowed, or only this row of the relation was left
            self.app.graph.forget_follower(self.user, partition, follower).await?;
        }
        Ok(ended)
    }

    /// Ends the relations to followed authors.
    async fn following(&mut self) -> Result<Progress, StoreError> {
        let (graph, follower) = (&self.app.graph, self.user);
        let mut after = None;
        loop {
            let (page, next) = graph.following_page(follower, after, DROP_PAGE).await?;
            let some = !page.is_empty();
            let cards = page.iter().map(|author| CardId::relation(follower, *author)).collect();
            let authors = page.into_iter();
            let ends = authors.map(|author| self.end(Ends::Follower { follower, author }));
            self.dropped.following += ended(ends.collect(), CONCURRENCY).await?;
            // mutation: dropped-following-cards
            self.forget_cards(cards).await?;
            after = next;
            if after.is_none() {
                return Ok(Progress::Done);
            }
            if some && self.time_is_up() {
                return Ok(Progress::NoTime);
            }
        }
    }

    /// Ends one relation. Returns whether this call ended it.
    async fn end(&self, ends: Ends) -> Result<bool, StoreError> {
        let Self { app, now, .. } = self;
        follows::end(app, ends, *now).await
    }

    /// Removes the rows that count the user's followers, and the likes of the user's posts. No count adds to them any more,
    /// because all posts are tombstones.
    async fn counts(&mut self, partitions: u16) -> Result<Progress, StoreError> {
        // mutation: dropped-received
        self.app.boards.forget_received(self.user).await?;
        self.app.graph.forget_counts(self.user, partitions).await?;
        Ok(Progress::Done)
    }

    /// Removes the tombstones of relations to followed authors.
    async fn ended_relations(&mut self) -> Result<Progress, StoreError> {
        while self.app.graph.forget_following(self.user).await? {
            if self.time_is_up() {
                return Ok(Progress::NoTime);
            }
        }
        Ok(Progress::Done)
    }

    /// Removes the tombstones of posts, with the receipts and idempotency keys that only they lead to.
    async fn remains(&mut self) -> Result<Progress, StoreError> {
        loop {
            let erased = self.app.posts.erase(self.user, &self.app.receipts).await?;
            self.dropped.receipt_rows += erased.receipt_rows;
            self.dropped.keys += erased.keys;
            if erased.posts.is_empty() {
                return Ok(Progress::Done);
            }
            // mutation: erased-cards
            self.forget_cards(erased.posts.into_iter().map(CardId::post).collect()).await?;
            if self.time_is_up() {
                return Ok(Progress::NoTime);
            }
        }
    }

    /// Removes the feeds and write limits from Valkey, and the mark of a pulled author.
    async fn caches(&mut self) -> Result<Progress, StoreError> {
        let pulled = &self.app.pulled;
        if pulled.all().await?.contains_key(&self.user) {
            pulled.release(self.user).await?;
        }
        self.dropped.feeds += self.app.valkey.drop_feeds(self.user).await?;
        self.app.valkey.forget_limits(self.user).await?;
        self.app.valkey.forget_older(self.user).await?;
        // mutation: dropped-likes-card
        self.forget_cards(vec![CardId::user(self.user), CardId::likes(self.user)]).await?;
        Ok(Progress::Done)
    }

    /// Gives up the lease, so that the next order need not wait for its end.
    async fn leave(&self) {
        let left = self.app.users.pause_drop(self.user, self.lease_until()).await;
        if let Err(error) = left {
            tracing::warn!(error = %Chain(&error), "the lease was not released; the next order waits until it ends");
        }
    }

    fn lease_until(&self) -> Time {
        self.now + DROP_LEASE
    }

    fn time_is_up(&self) -> bool {
        self.deadline.is_within(ADMIN_TIME_LEFT_MIN)
    }

    fn time(&self) -> Time {
        self.now + self.began.elapsed()
    }
}

/// Ends relations, `at_once` at a time. Returns how many of these calls ended one.
async fn ended(
    ends: Vec<impl Future<Output = Result<bool, StoreError>>>,
    at_once: usize,
) -> Result<u64, StoreError> {
    let ended = stream::iter(ends).buffer_unordered(at_once);
    ended.try_fold(0, async |sum, ended| Ok(sum + u64::from(ended))).await
}
