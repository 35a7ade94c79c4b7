//! Erases a user: everything that is stored about the user and about the user's relations.
//!
//! Each phase can be interrupted and repeated. After a phase, the data that it removed cannot be created again:
//!
//! 1. *Deny*: a note without handle and identity replaces the profile. From now on, every transaction that counts in the
//!    profile fails: the user cannot post or follow, and cannot create a profile. Others no longer find a profile to
//!    follow.
//! 2. *Empty*: each kind removes what others see. Tombstones stay, and messages remove what depends on it.
//!    Relations end as by an unfollow; the same transactions change the counters of the other users. Caches come last, because
//!    a rebuild after that finds no posts and no relations.
//! 3. *Settle*: the note records the time. Nothing happens until all functions that read earlier state have ended. A
//!    function that had read the profile may have added a follower meanwhile. Such relations end, and the wait begins again.
//! 4. *Erase*: each kind removes the rest, with data that other functions may have written meanwhile, and the note goes last.
//!
//! What each kind removes in which phase stands in the table of [`fanfold_core::kinds`].

use std::collections::BTreeMap;

use fanfold_core::kinds::Kind;
use fanfold_core::limits::{ADMIN_TIME_LEFT_MIN, DROP_LEASE};
use fanfold_core::time::millis;
use fanfold_core::{Time, UserId};
use fanfold_engines::due::ForgottenItems;
use fanfold_engines::outbox::announced;
use fanfold_engines::valkey::CardId;
use fanfold_runtime::StoreError;
use fanfold_runtime::clock::Deadline;
use fanfold_runtime::log::Chain;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use serde::Serialize;
use tokio::time::Instant;

use crate::App;
use crate::owned::{Owned, Step, owned};
use crate::people::items::DropBegun;
use crate::people::messages::ProfileChanged;

/// The result of one order to erase a user: how far the removal is, and what this order removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Dropped {
    pub user: UserId,
    /// Whether everything is removed. If not, the order must be given again.
    pub done: bool,
    /// Milliseconds to wait before giving the order again.
    pub wait_ms: u64,
    /// The numbers of what was removed.
    #[serde(flatten)]
    pub removed: BTreeMap<&'static str, u64>,
}

/// An order that is being executed.
pub struct Erasing<'a> {
    pub app: &'a App,
    pub user: UserId,
    pub now: Time,
    /// The partitions of the user's followers.
    pub partitions: u16,
    began: Instant,
    deadline: Deadline,
    /// Whether this order holds the lease of the user.
    leased: bool,
    dropped: Dropped,
    /// Cards that are dropped at the end of a phase, together.
    cards: Vec<CardId>,
}

/// The result of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
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
    let dropped = Dropped { user, done: false, wait_ms: 0, removed: BTreeMap::new() };
    let (began, leased) = (Instant::now(), false);
    let mut erasing = Erasing {
        app,
        user,
        now,
        partitions: 1,
        began,
        deadline,
        leased,
        dropped,
        cards: Vec::new(),
    };
    let worked = erasing.all().await;
    if erasing.leased && !erasing.dropped.done {
        erasing.leave().await;
    }
    // logged also if the order failed: it shows how far the removal is
    tracing::info!(dropped = ?erasing.dropped, failed = worked.is_err(), "dropped a user");
    worked.map(|()| erasing.dropped)
}

impl Erasing<'_> {
    /// Executes the phases that are due.
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
                self.phase(|kind, erasing| kind.forget(erasing)).await?;
                self.dropped.done = true;
                return Ok(());
            }
        };
        self.partitions = note.follower_partitions;
        let emptied_at = match note.emptied_at {
            Some(at) => at,
            None => {
                if self.phase(|kind, erasing| kind.empty(erasing)).await? == Progress::NoTime {
                    return Ok(());
                }
                self.phase(|kind, erasing| kind.forget(erasing)).await?;
                self.note_emptied().await?
            }
        };
        let settled_at = emptied_at + self.app.settings.drop_settles;
        self.dropped.wait_ms = millis(settled_at.since(self.time()));
        if self.dropped.wait_ms > 0 {
            return Ok(());
        }
        for kind in Kind::ALL.iter().map(|kind| owned(*kind)) {
            if kind.is_left(self).await? {
                // functions may have read this, so the wait starts again before any of it ends
                self.note_emptied().await?;
                self.dropped.wait_ms = millis(self.app.settings.drop_settles);
                return kind.empty(self).await.map(drop);
            }
        }
        self.phase(|kind, erasing| kind.forget(erasing)).await?;
        if self.phase(|kind, erasing| kind.erase(erasing)).await? == Progress::NoTime {
            return Ok(());
        }
        self.app.users.end_drop(self.user).await?;
        self.dropped.done = true;
        Ok(())
    }

    /// Executes a phase of all kinds in order, until the time is up.
    async fn phase(
        &mut self,
        step: impl for<'a> Fn(&'static dyn Owned, &'a mut Self) -> Step<'a>,
    ) -> Result<Progress, StoreError> {
        for kind in Kind::ALL {
            if step(owned(*kind), self).await? == Progress::NoTime {
                return Ok(Progress::NoTime);
            }
        }
        let cards = std::mem::take(&mut self.cards);
        self.forget_cards(cards).await?;
        Ok(Progress::Done)
    }

    /// Records that everything of the second phase is removed. Returns the time.
    async fn note_emptied(&self) -> Result<Time, StoreError> {
        let at = self.time();
        self.app.users.note_emptied(self.user, at).await?;
        Ok(at)
    }

    /// Adds to the number of what was removed.
    pub fn removed(&mut self, what: &'static str, count: u64) {
        if count > 0 {
            *self.dropped.removed.entry(what).or_default() += count;
        }
    }

    /// Removes the entries of due items that were removed. Returns the progress, unless more items may be left.
    pub async fn removed_due(
        &mut self,
        what: &'static str,
        ForgottenItems { found, items, entries, keys }: ForgottenItems,
    ) -> Result<Option<Progress>, StoreError> {
        self.removed("keys", keys);
        self.removed(what, items);
        // mutation: dropped-due
        self.app.valkey.due_done(&entries).await?;
        if found == 0 {
            return Ok(Some(Progress::Done));
        }
        Ok(self.time_is_up().then_some(Progress::NoTime))
    }

    /// Drops cards, after the commit that removed their items.
    pub async fn forget_cards(&self, cards: Vec<CardId>) -> Result<(), StoreError> {
        self.app.valkey.forget_cards(&cards).await
    }

    /// Drops a card at the end of the phase.
    pub fn forget_card_later(&mut self, card: CardId) {
        self.cards.push(card);
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

    /// Whether the order must end soon.
    pub fn time_is_up(&self) -> bool {
        self.deadline.is_within(ADMIN_TIME_LEFT_MIN)
    }

    /// The time.
    pub fn time(&self) -> Time {
        self.now + self.began.elapsed()
    }
}

/// Ends several things, `at_once` at a time. Returns how many of these calls ended one.
pub async fn ended(
    ends: Vec<impl Future<Output = Result<bool, StoreError>>>,
    at_once: usize,
) -> Result<u64, StoreError> {
    let ended = stream::iter(ends).buffer_unordered(at_once);
    ended.try_fold(0, async |sum, ended| Ok(sum + u64::from(ended))).await
}
