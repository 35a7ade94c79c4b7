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

use fanfold_core::limits::DROP_LEASE;
use fanfold_core::time::millis;
use fanfold_core::{Time, UserId};
use fanfold_engines::outbox::announced;
use fanfold_engines::valkey::CardId;
use fanfold_runtime::StoreError;
use fanfold_runtime::clock::Deadline;
use fanfold_runtime::log::Chain;
use tokio::time::Instant;

use crate::App;
use crate::all::kinds;
use crate::owned::erasing::{Dropped, Erasing, Progress};
use crate::owned::{Owned, Step};
use crate::people::items::DropBegun;
use crate::people::messages::ProfileChanged;

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
        for kind in kinds() {
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
        for kind in kinds() {
            if step(kind, self).await? == Progress::NoTime {
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
}
