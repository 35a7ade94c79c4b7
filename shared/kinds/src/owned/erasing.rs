//! An order to erase a user, as the kinds of data see it while they execute it.

use std::collections::BTreeMap;

use fanfold_core::limits::ADMIN_TIME_LEFT_MIN;
use fanfold_core::{Time, UserId};
use fanfold_engines::due::ForgottenItems;
use fanfold_engines::valkey::CardId;
use fanfold_runtime::StoreError;
use fanfold_runtime::clock::Deadline;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use serde::Serialize;
use tokio::time::Instant;

use crate::App;

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
    pub(crate) began: Instant,
    pub(crate) deadline: Deadline,
    /// Whether this order holds the lease of the user.
    pub(crate) leased: bool,
    pub(crate) dropped: Dropped,
    /// Cards that are dropped at the end of a phase, together.
    pub(crate) cards: Vec<CardId>,
}

/// The result of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    Done,
    /// The deadline is near, and the step is not complete.
    NoTime,
}

impl Erasing<'_> {
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
