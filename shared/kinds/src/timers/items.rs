//! Timers in DynamoDB.

use fanfold_core::id::Identity;
use fanfold_core::kinds::{ItemKind, Pk};
use fanfold_core::limits::{DROP_PAGE, DUE_TRIES_MAX};
use fanfold_core::{DueEntry, DueItem, Every, Time, TimerName, UserId};
use fanfold_engines::due::{DueIndex, ForgottenItems, HandOn, forgotten};
use fanfold_engines::list::Page;
use fanfold_engines::table::transact::{CommitResult, Transaction};
use fanfold_engines::table::{Stored, Table, Write, key, number, read, read_key, text, write};
use fanfold_runtime::error::StoreError;
use serde::{Deserialize, Serialize};

use super::TAG;
use crate::people::items::{Counter, Owner, UserStore};

/// A timer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timer {
    /// The user to whom it belongs.
    pub owner: UserId,
    /// The name, unique among the timers of the owner.
    pub name: TimerName,
    /// The time from which it is due.
    pub due_at: Time,
    /// The time that the request asked for. A timer that repeats is due later after its first occurrence.
    pub asked: Time,
    /// The time between two occurrences. `None`: there is one.
    pub every: Option<Every>,
    /// The payload, JSON as text.
    pub payload: String,
    /// A token of the request that put the timer. Timers of one name that follow each other have different ones.
    pub revision: String,
}

impl Timer {
    /// Whether a request for `other` asked for what this timer is.
    pub fn is_as_asked(&self, other: &Self) -> bool {
        self.asked == other.asked && self.every == other.every && self.payload == other.payload
    }

    /// Its entry in the index of due items.
    pub fn entry(&self) -> DueEntry {
        entry(self.owner, &self.name, self.due_at)
    }

    /// The same, at another time.
    pub fn entry_at(&self, at: Time) -> DueEntry {
        DueEntry { at, ..self.entry() }
    }
}

/// The entry of a timer in the index of due items.
pub fn entry(owner: UserId, name: &TimerName, at: Time) -> DueEntry {
    DueEntry { at, item: DueItem { tag: TAG.to_owned(), owner, key: name.to_string() } }
}

#[derive(Serialize, Deserialize)]
struct TimerItem {
    sk: TimerName,
    v: u32,
    owner: UserId,
    #[serde(rename = "due_at_ms")]
    due_at: Time,
    #[serde(rename = "asked_ms")]
    asked: Time,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    every: Option<Every>,
    payload: String,
    revision: String,
}

impl Stored for TimerItem {
    const V: u32 = 1;
}

impl From<TimerItem> for Timer {
    fn from(item: TimerItem) -> Self {
        let TimerItem { sk: name, owner, due_at, asked, every, payload, revision, .. } = item;
        Self { owner, name, due_at, asked, every, payload, revision }
    }
}

impl From<&Timer> for TimerItem {
    fn from(timer: &Timer) -> Self {
        let Timer { owner, name, due_at, asked, every, payload, revision } = timer.clone();
        Self { sk: name, v: Self::V, owner, due_at, asked, every, payload, revision }
    }
}

#[derive(Deserialize)]
struct TimerKeys {
    sk: TimerName,
    #[serde(rename = "due_at_ms")]
    due_at: Time,
}

/// The names of the writes of a transaction about a timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TimerWrite {
    /// The timer.
    Timer,
    /// Its entry in the index of due items, and an earlier one.
    Entry,
    /// The counter of the owner.
    Owner,
}

/// The result of storing or ending a timer.
#[derive(Debug, PartialEq, Eq)]
pub enum TimerPut {
    /// It is stored, or ended.
    Done,
    /// The timer changed since it was read.
    Raced,
    /// The owner has no profile, or it belongs to another identity, or the owner has too many timers.
    Refused,
}

/// The timers, in the table of due items.
#[derive(Clone)]
pub struct TimerStore {
    table: Table,
    index: DueIndex,
}

impl TimerStore {
    /// The timers of a table, with the index of due items.
    pub fn new(table: Table, index: DueIndex) -> Self {
        Self { table, index }
    }

    /// Reads a timer. `None` if it does not exist.
    pub async fn timer(
        &self,
        owner: UserId,
        name: &TimerName,
    ) -> Result<Option<Timer>, StoreError> {
        let doing = "reading a timer";
        let item = self.table.get(doing, key(&timers_pk(owner), name)).await?;
        Ok(item.map(|item| read::<TimerItem>(doing, item)).transpose()?.map(Timer::from))
    }

    /// A page of a user's timers by name, after the name `after`.
    pub async fn timers(
        &self,
        owner: UserId,
        after: Option<&TimerName>,
        limit: usize,
    ) -> Result<Page<Timer, TimerName>, StoreError> {
        let doing = "listing timers";
        let pk = timers_pk(owner);
        let after = after.map(|after| key(&pk, after));
        let rows = async |count| -> Result<Vec<Timer>, StoreError> {
            let rows = self.table.rows(doing, &pk).first(after, count).await?.into_iter();
            rows.map(|item| Ok(read::<TimerItem>(doing, item)?.into())).collect()
        };
        Page::of_rows(limit, rows, |timer| timer.name.clone()).await
    }

    /// Stores a timer, in place of `old`, which was read before. A new one counts.
    pub async fn put_timer(
        &self,
        sent: &HandOn,
        users: &UserStore,
        owner: &Identity,
        old: Option<&Timer>,
        new: &Timer,
    ) -> Result<TimerPut, StoreError> {
        let doing = "storing a timer";
        let item = write(doing, &timers_pk(new.owner), &TimerItem::from(new))?;
        let put = self.table.put(item);
        let put = match old {
            None => put.condition("attribute_not_exists(pk)"),
            Some(old) => put
                .condition("v <= :v AND revision = :old AND due_at_ms = :at")
                .value(":v", number(TimerItem::V))
                .value(":old", text(&old.revision))
                .value(":at", number(old.due_at)),
        };
        let mut transaction = Transaction::new(doing);
        transaction.add(TimerWrite::Timer, put);
        match old {
            None => {
                transaction.add(TimerWrite::Owner, users.add_timer(owner));
            }
            Some(old) if old.due_at != new.due_at => {
                transaction.add(TimerWrite::Entry, self.index.delete_entry(&old.entry()));
            }
            Some(_) => {}
        }
        if old.is_none_or(|old| old.due_at != new.due_at) {
            transaction.add(TimerWrite::Entry, self.index.put_entry(doing, &new.entry(), sent)?);
        }
        Ok(result(&transaction.commit().await?))
    }

    /// Removes a timer that is as it was read, and subtracts 1 from the owner's counter, all or nothing.
    pub async fn end_timer(&self, users: &UserStore, old: &Timer) -> Result<TimerPut, StoreError> {
        let delete = self
            .table
            .delete(key(&timers_pk(old.owner), &old.name))
            .condition("v <= :v AND revision = :old AND due_at_ms = :at")
            .value(":v", number(TimerItem::V))
            .value(":old", text(&old.revision))
            .value(":at", number(old.due_at));
        let mut transaction = Transaction::new("removing a timer");
        transaction.add(TimerWrite::Timer, delete);
        transaction.add(TimerWrite::Entry, self.index.delete_entry(&old.entry()));
        let counter = Counter::Timers.add(users.table(), -1, Owner::User(old.owner));
        transaction.add(TimerWrite::Owner, counter);
        Ok(result(&transaction.commit_within(DUE_TRIES_MAX).await?))
    }

    /// Moves a timer that is as it was read to its next occurrence.
    pub async fn repeat_timer(
        &self,
        sent: &HandOn,
        old: &Timer,
        next: Time,
    ) -> Result<TimerPut, StoreError> {
        let doing = "repeating a timer";
        let update = self
            .table
            .update(key(&timers_pk(old.owner), &old.name))
            .expression("SET due_at_ms = :next")
            .condition("v <= :v AND revision = :old AND due_at_ms = :at")
            .value(":v", number(TimerItem::V))
            .value(":old", text(&old.revision))
            .value(":at", number(old.due_at))
            .value(":next", number(next));
        let mut transaction = Transaction::new(doing);
        transaction.add(TimerWrite::Timer, update);
        transaction.add(TimerWrite::Entry, self.index.delete_entry(&old.entry()));
        let entry = self.index.put_entry(doing, &old.entry_at(next), sent)?;
        transaction.add(TimerWrite::Entry, entry);
        Ok(result(&transaction.commit().await?))
    }

    /// The condition that an entry leads to no timer.
    pub fn stray(&self, owner: UserId, name: &TimerName, at: Time) -> Write {
        self.table
            .check(key(&timers_pk(owner), name))
            .condition("attribute_not_exists(pk) OR due_at_ms <> :at")
            .value(":at", number(at))
    }

    /// Removes a page of the timers of a user who is being dropped, and cannot add any more. Each is removed with its entry, on
    /// condition that it is as it was read: another function may be moving it to another time.
    pub async fn forget_timers(&self, user: UserId) -> Result<ForgottenItems, StoreError> {
        let doing = "removing timers";
        let pk = timers_pk(user);
        let found = self
            .table
            .rows(doing, &pk)
            .only("sk, due_at_ms")
            .first(None, DROP_PAGE as usize)
            .await?;
        let found: Result<Vec<TimerKeys>, StoreError> =
            found.into_iter().map(|item| read_key(doing, item)).collect();
        let found = found?;
        let removals: Vec<_> = found
            .iter()
            .map(|timer| async move {
                let entry = entry(user, &timer.sk, timer.due_at);
                let delete = self
                    .table
                    .delete(key(&timers_pk(user), &timer.sk))
                    .condition("attribute_not_exists(pk) OR due_at_ms = :at")
                    .value(":at", number(timer.due_at));
                let mut transaction = Transaction::new(doing);
                transaction.add((), delete);
                transaction.add((), self.index.delete_entry(&entry));
                let done = transaction.commit().await? == CommitResult::Done;
                Ok::<_, StoreError>(done.then_some(entry))
            })
            .collect();
        forgotten(found.len(), removals).await
    }
}

fn result(outcome: &CommitResult<TimerWrite>) -> TimerPut {
    match outcome {
        CommitResult::Done => TimerPut::Done,
        // another request may have put this timer, and reached the limit with it
        outcome if outcome.refused(TimerWrite::Timer) => TimerPut::Raced,
        outcome if outcome.refused(TimerWrite::Owner) => TimerPut::Refused,
        CommitResult::Refused(_) => TimerPut::Raced,
    }
}

fn timers_pk(owner: UserId) -> Pk {
    ItemKind::Timer.pk(owner)
}
