//! Scheduled posts and timers, and the index of due items by their hour.

mod drop;
mod index;
mod scheduled;
mod timers;

use fanfold_core::limits::DUE_LOOK_AHEAD;
use fanfold_core::{DueEntry, Time};
use fanfold_engines::table::{ItemKind, Pk, Stored, Table, Write, key, write};
use fanfold_runtime::aws::SdkConfig;
use fanfold_runtime::config::{Config, ConfigError};
use fanfold_runtime::error::StoreError;
use fanfold_runtime::sqs::Announced;
use serde::{Deserialize, Serialize};

use crate::due::messages::ItemDue;
pub use drop::ForgottenItems;
pub use index::Indexed;
pub use scheduled::{
    Cancelled, PublishResult, Rescheduled, ScheduleResult, Scheduled, ScheduledState,
};
pub use timers::{Timer, TimerPut};

/// The due table.
#[derive(Clone)]
pub struct DueStore {
    table: Table,
}

impl DueStore {
    /// Reads the name of the table. Fails if the setting is missing.
    pub fn new(sdk: &SdkConfig, config: &Config) -> Result<Self, ConfigError> {
        Ok(Self { table: Table::new(sdk, config, "DUE_TABLE")? })
    }

    /// The write that adds an entry to the index.
    fn put_entry(
        &self,
        doing: &'static str,
        entry: &DueEntry,
        sent: &HandOn,
    ) -> Result<Write, StoreError> {
        // mutation: due-row-announced
        let is_announced = sent.is_sent();
        let row = EntryRow { sk: entry.clone(), v: EntryRow::V, is_announced };
        Ok(self.table.put(write(doing, &entry_pk(entry), &row)?))
    }

    /// The write that removes an entry from the index.
    fn delete_entry(&self, entry: &DueEntry) -> Write {
        let key = key(&entry_pk(entry), entry);
        self.table.delete(key)
    }
}

/// The proof that somebody hands an item on when it is due. A commit that makes or moves an item takes it.
#[must_use]
pub enum HandOn {
    /// Its message was sent before the commit.
    Sent(Announced<ItemDue>),
    /// It is due later, so a look-ahead finds it.
    Later(Later),
    /// It keeps its time, so whoever was to hand it on still does.
    Kept(Kept),
}

/// The proof that a changed item keeps its entry.
pub struct Kept(());

/// The proof that an item is due later than every look-ahead that may run during its commit.
pub struct Later(());

impl HandOn {
    /// The proof for an entry that needs no message, because it is due later.
    pub fn without_message(entry: &DueEntry, now: Time) -> Option<Self> {
        // mutation: due-near
        (entry.at > now + DUE_LOOK_AHEAD).then_some(Self::Later(Later(())))
    }

    /// The proof for a change that keeps the entry.
    pub fn kept(before: &DueEntry, after: &DueEntry) -> Option<Self> {
        (before == after).then_some(Self::Kept(Kept(())))
    }

    /// Whether its message was sent.
    pub fn is_sent(&self) -> bool {
        matches!(self, Self::Sent(_))
    }
}

/// An entry of the index of due items.
#[derive(Serialize, Deserialize)]
struct EntryRow {
    sk: DueEntry,
    v: u32,
    /// Whether its message was sent before the commit. Look-aheads then leave it alone.
    #[serde(default, rename = "announced", skip_serializing_if = "std::ops::Not::not")]
    is_announced: bool,
}

impl Stored for EntryRow {
    const V: u32 = 1;
}

fn entry_pk(entry: &DueEntry) -> Pk {
    ItemKind::Due.pk(format_args!("{}#{}", entry.hour(), entry.part()))
}
