//! The index of due items in Valkey (`lua/_due.lua`).

use std::collections::BTreeMap;
use std::time::Duration;

use fanfold_core::limits::{
    CLOCKS_DIFFER, DUE_FIRING_LEASE, DUE_HANDED_ON_LEASE, DUE_LEASE, DUE_LOOK_AHEAD,
};
use fanfold_core::time::millis;
use fanfold_core::{DueEntry, DuePart, Time};
use fanfold_runtime::error::StoreError;
use futures::future::try_join_all;
use redis::Value;

use super::scripts::{self, Word, unknown};
use super::{Valkey, failed};

/// How long a timer whose message was sent, and whose removal met other changes of its owner, is not sent again. Its message
/// is tried again within minutes.
const DUE_SENT_KEPT: Duration = Duration::from_secs(600);

/// Entries that a look-ahead has taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// The time up to which the index knows all entries. `None`: it knows nothing, and the entries must be loaded.
    pub complete: Option<Time>,
    /// The taken entries, soonest first.
    pub entries: Vec<DueEntry>,
    /// The caller's lease of them.
    pub lease: Lease,
}

/// The lease of a look-ahead: the score of the entries that it has taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease(Time);

/// The answer to a function that wants to publish or fire an item alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DueLease {
    /// It has the lease.
    Taken,
    /// It has the lease, and an earlier holder sent the messages.
    Sent,
    /// Another function has the lease.
    Elsewhere,
}

/// The value of a lease whose holder sent the messages.
const SENT: &str = "sent";

/// A load of entries from DynamoDB that has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueLoad {
    /// The token of the part, with which the load goes on.
    pub token: String,
    /// The time up to which the part is complete.
    pub complete: Time,
}

/// The result of adding a page of entries to a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loaded {
    /// The entries are there.
    Done,
    /// The server lost its data, and another load has begun.
    Lost,
}

impl Word for Loaded {
    fn of(word: &str) -> Option<Self> {
        match word {
            "done" => Some(Self::Done),
            "lost" => Some(Self::Lost),
            _ => None,
        }
    }
}

impl Valkey {
    /// Adds an entry after its commit. `is_handed_on`: its message is under way, so look-aheads leave it alone for a while.
    pub async fn add_due(
        &self,
        entry: &DueEntry,
        is_handed_on: bool,
        now: Time,
    ) -> Result<(), StoreError> {
        let score = score(entry, is_handed_on, now);
        let mut script = scripts::DUE_ADD.call();
        let part = entry.part();
        script.key(self.keys.due(part)).key(self.keys.horizon(part));
        script.arg(entry.to_string()).arg(entry.at.ms()).arg(score.ms());
        let _added: u64 = script.run(&self.link, "adding a due item").await?;
        Ok(())
    }

    /// Begins to load the entries of a part up to `until`. `token` must be unique to this load.
    pub async fn begin_due(
        &self,
        part: DuePart,
        token: &str,
        until: Time,
    ) -> Result<DueLoad, StoreError> {
        let mut script = scripts::DUE_BEGIN.call();
        script.key(self.keys.due(part)).key(self.keys.horizon(part));
        script.arg(token).arg(until.ms());
        let (token, complete): (String, u64) =
            script.run(&self.link, "beginning to load due items").await?;
        Ok(DueLoad { token, complete: Time::from_ms(complete) })
    }

    /// Adds entries that were read from DynamoDB, at most [`DUE_QUERY_ROWS`](fanfold_core::limits::DUE_QUERY_ROWS), each with
    /// whether its message is under way. With them, the part is complete up to `complete`.
    pub async fn load_due(
        &self,
        (part, token): (DuePart, &str),
        entries: impl IntoIterator<Item = (&DueEntry, bool)>,
        complete: Time,
        now: Time,
    ) -> Result<Loaded, StoreError> {
        let mut script = scripts::DUE_LOAD.call();
        script.key(self.keys.due(part)).key(self.keys.horizon(part));
        script.arg(token).arg(complete.ms());
        for (entry, is_handed_on) in entries {
            script.arg(entry.to_string()).arg(score(entry, is_handed_on, now).ms());
        }
        script.run_for_word(&self.link, "loading due items").await
    }

    /// Adds overdue entries that were found in DynamoDB, unless they are there. An entry with a lease that is longer than any
    /// that ends after `now` is due at once: the look-ahead that has it has a clock that is ahead.
    pub async fn add_overdue(
        &self,
        part: DuePart,
        entries: &[DueEntry],
        now: Time,
    ) -> Result<(), StoreError> {
        if entries.is_empty() {
            return Ok(());
        }
        let mut script = scripts::DUE_OVERDUE.call();
        script.key(self.keys.due(part)).arg((handed_on(now) + CLOCKS_DIFFER).ms());
        for entry in entries {
            script.arg(entry.to_string()).arg(entry.at.ms());
        }
        let _changed: u64 = script.run(&self.link, "adding overdue items").await?;
        Ok(())
    }

    /// Takes at most `count` entries of a part that are due within [`DUE_LOOK_AHEAD`], or whose lease has ended. The caller
    /// has them for [`DUE_LEASE`].
    pub async fn take_due(
        &self,
        part: DuePart,
        count: usize,
        now: Time,
    ) -> Result<Taken, StoreError> {
        let doing = "taking due items";
        let mut script = scripts::DUE_TAKE.call();
        script.key(self.keys.due(part)).key(self.keys.horizon(part));
        // a look-ahead takes scores of the near future, so the end of a lease is as far ahead
        script.arg((now + DUE_LOOK_AHEAD).ms()).arg(count);
        let lease = Lease(now + DUE_LEASE + DUE_LOOK_AHEAD);
        script.arg(lease.0.ms());
        let answer: Vec<Value> = script.run(&self.link, doing).await?;
        let mut answer = answer.into_iter();
        let complete = match answer.next() {
            Some(Value::Int(-1)) => None,
            Some(Value::Int(ms)) => Some(Time::from_ms(ms.unsigned_abs())),
            other => return Err(failed(doing)(unknown(&format!("{other:?}")))),
        };
        let mut entries = Vec::new();
        for value in answer {
            let text: String = redis::from_redis_value(value)
                .map_err(|error| failed(doing)(unknown(&error.to_string())))?;
            match text.parse() {
                Ok(entry) => entries.push(entry),
                // of a newer form, perhaps; its lease ends
                Err(_) => tracing::warn!(entry = text, "an unknown entry in the index"),
            }
        }
        Ok(Taken { complete, entries, lease })
    }

    /// Notes that the messages of entries that were taken with this lease are under way. They are taken again after
    /// [`DUE_HANDED_ON_LEASE`].
    pub async fn due_handed_on(
        &self,
        part: DuePart,
        (lease, entries): (Lease, &[DueEntry]),
        now: Time,
    ) -> Result<(), StoreError> {
        let mut script = scripts::DUE_HANDED_ON.call();
        script.key(self.keys.due(part)).arg(lease.0.ms()).arg(handed_on(now).ms());
        for entry in entries {
            script.arg(entry.to_string());
        }
        let _noted: u64 = script.run(&self.link, "noting that due items were handed on").await?;
        Ok(())
    }

    /// Makes an entry due at its own time again, if it is there.
    pub async fn due_again(&self, entry: &DueEntry) -> Result<(), StoreError> {
        let mut set = self.keys.due(entry.part()).command("ZADD");
        set.arg("XX").arg(entry.at.ms()).arg(entry.to_string());
        let set: Result<u64, _> = set.query_async(&mut self.link.clone()).await;
        set.map(drop).map_err(failed("returning a due item"))
    }

    /// Takes the right to publish or fire an item that is due, for [`DUE_FIRING_LEASE`], unless another function has it.
    pub async fn lease_due(
        &self,
        entry: &DueEntry,
        revision: &str,
    ) -> Result<DueLease, StoreError> {
        let mut set = self.keys.due_lock(entry, revision).command("SET");
        set.arg("held").arg("NX").arg("GET").arg("PX").arg(millis(DUE_FIRING_LEASE));
        let before: Result<Option<String>, _> = set.query_async(&mut self.link.clone()).await;
        let before = before.map_err(failed("taking the lease of a due item"))?;
        Ok(match before.as_deref() {
            None => DueLease::Taken,
            Some(SENT) => DueLease::Sent,
            Some(_) => DueLease::Elsewhere,
        })
    }

    /// Notes for the next holder that the messages of the item were sent, for `DUE_SENT_KEPT`.
    pub async fn note_due_sent(&self, entry: &DueEntry, revision: &str) -> Result<(), StoreError> {
        let mut set = self.keys.due_lock(entry, revision).command("SET");
        set.arg(SENT).arg("PX").arg(millis(DUE_SENT_KEPT));
        let set: Result<String, _> = set.query_async(&mut self.link.clone()).await;
        set.map(drop).map_err(failed("noting that a due item was sent"))
    }

    /// Gives this right back.
    pub async fn return_due_lease(
        &self,
        entry: &DueEntry,
        revision: &str,
    ) -> Result<(), StoreError> {
        let unlink = self.keys.due_lock(entry, revision).command("UNLINK");
        let unlinked: Result<u64, _> = unlink.query_async(&mut self.link.clone()).await;
        unlinked.map(drop).map_err(failed("returning the lease of a due item"))
    }

    /// Removes entries whose items are done or gone.
    pub async fn due_done(&self, entries: &[DueEntry]) -> Result<(), StoreError> {
        let mut parts: BTreeMap<DuePart, Vec<String>> = BTreeMap::new();
        for entry in entries {
            parts.entry(entry.part()).or_default().push(entry.to_string());
        }
        let calls: Vec<_> = parts
            .into_iter()
            .map(|(part, entries)| async move {
                let mut remove = self.keys.due(part).command("ZREM");
                remove.arg(entries);
                let removed: Result<u64, _> = remove.query_async(&mut self.link.clone()).await;
                removed.map(drop).map_err(failed("removing due items"))
            })
            .collect();
        try_join_all(calls).await.map(drop)
    }
}

fn score(entry: &DueEntry, is_handed_on: bool, now: Time) -> Time {
    if is_handed_on { handed_on(now) } else { entry.at }
}

/// The score of an entry whose message is under way.
fn handed_on(now: Time) -> Time {
    now + DUE_HANDED_ON_LEASE + DUE_LOOK_AHEAD
}
