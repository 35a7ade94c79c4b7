//! The index of due items: one partition key for each hour and part. What is due is found without a scan of all items
//! that wait.

use std::collections::HashMap;

use fanfold_core::kinds::{ItemKind, Pk};
use fanfold_core::limits::DUE_QUERY_ROWS;
use fanfold_core::{DueEntry, DuePart, Hour, Time};
use fanfold_runtime::error::StoreError;
use serde::{Deserialize, Serialize};

use super::hand_on::HandOn;
use crate::table::transact::{CommitResult, Transaction};
use crate::table::{Stored, Table, Write, key, number, read, read_key, write};

/// The index of due items, in the table of their items.
#[derive(Clone)]
pub struct DueIndex {
    table: Table,
}

/// An entry of the index.
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

/// The hour before which a part of the index has no entries.
#[derive(Serialize, Deserialize)]
struct CheckedItem {
    sk: String,
    v: u32,
    hour: Hour,
}

impl Stored for CheckedItem {
    const V: u32 = 1;
}

/// A page of entries, soonest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entries {
    /// The entries.
    pub entries: Vec<Indexed>,
    /// Rows of a form that this version does not know. They stay where they are.
    pub unknown: u64,
    /// The place after which the next page begins. `None`: there are no later entries within the bounds.
    pub next: Option<EntryPlace>,
}

/// An entry as the index has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Indexed {
    /// The entry.
    pub entry: DueEntry,
    /// Whether its message was sent before its commit.
    pub is_announced: bool,
}

/// A place in an hour of the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryPlace {
    sk: String,
    /// The time of the last row before it. Later rows may have the same time.
    pub at: Time,
}

/// A row of any version.
#[derive(Deserialize)]
struct AnyEntryRow {
    sk: String,
    #[serde(default)]
    announced: bool,
}

impl DueIndex {
    /// The index in a table.
    pub fn new(table: Table) -> Self {
        Self { table }
    }

    /// The write that adds an entry.
    pub fn put_entry(
        &self,
        doing: &'static str,
        entry: &DueEntry,
        sent: &HandOn,
    ) -> Result<Write, StoreError> {
        let is_announced = sent.is_sent();
        let row = EntryRow { sk: entry.clone(), v: EntryRow::V, is_announced };
        Ok(self.table.put(write(doing, &entry_pk(entry), &row)?))
    }

    /// The write that removes an entry.
    pub fn delete_entry(&self, entry: &DueEntry) -> Write {
        self.table.delete(key(&entry_pk(entry), entry))
    }

    /// A page of the entries of an hour, soonest first: those after `after`, with a time of `from` to `until`.
    pub async fn entries(
        &self,
        part: DuePart,
        hour: Hour,
        (from, until): (Time, Time),
        after: Option<EntryPlace>,
    ) -> Result<Entries, StoreError> {
        let doing = "reading due items";
        let pk = hour_pk(hour, part);
        let first = format!("{:015}", from.ms());
        // the character after # in ASCII, so that every entry of the last millisecond is included
        let last = format!("{:015}$", until.ms());
        let rows = self.table.rows(doing, &pk).between(first, last);
        let page = rows.page(after.map(|after| key(&pk, after.sk)), Some(DUE_QUERY_ROWS)).await?;
        let mut found = Entries { entries: Vec::new(), unknown: 0, next: None };
        for item in page.rows {
            let AnyEntryRow { sk, announced: is_announced } = read_key(doing, item)?;
            match sk.parse() {
                Ok(entry) => found.entries.push(Indexed { entry, is_announced }),
                Err(_) => found.unknown += 1,
            }
        }
        if let Some(last) = page.next {
            let sk = read_key::<AnyEntryRow>(doing, last)?.sk;
            let at = sk.split('#').next().and_then(|at| at.parse().ok()).unwrap_or_default();
            found.next = Some(EntryPlace { sk, at: Time::from_ms(at) });
        }
        Ok(found)
    }

    /// Removes an entry whose item is gone, or has another time, or was done: `stray` is a condition on the item, in the same
    /// transaction, because the item may move back. Returns whether there was such an entry.
    pub async fn remove_stray(&self, entry: &DueEntry, stray: Write) -> Result<bool, StoreError> {
        let doing = "removing an entry without its item";
        let row = self.table.get(doing, key(&entry_pk(entry), entry)).await?;
        if row.is_none() {
            return Ok(false);
        }
        let mut transaction = Transaction::new(doing);
        // mutation: stray-checked
        transaction.add((), stray);
        transaction.add((), self.delete_entry(entry));
        Ok(transaction.commit().await? == CommitResult::Done)
    }

    /// For each part, the hour before which the index has no entries. Parts that were never checked are left out.
    pub async fn checked(&self) -> Result<HashMap<DuePart, Hour>, StoreError> {
        let doing = "reading the hours up to which due items were checked";
        let keys = DuePart::all().map(|part| key(&checked_pk(), part)).collect();
        let mut checked = HashMap::new();
        for item in self.table.get_all(doing, keys).await? {
            let item: CheckedItem = read(doing, item)?;
            if let Ok(part) = item.sk.parse() {
                checked.insert(DuePart(part), item.hour);
            }
        }
        Ok(checked)
    }

    /// Notes the hour before which a part has no entries.
    pub async fn set_checked(&self, part: DuePart, hour: Hour) -> Result<(), StoreError> {
        let update = self
            .table
            .update(key(&checked_pk(), part))
            .expression("SET #hour = :hour, v = :v")
            .name("#hour", "hour")
            .value(":hour", number(hour));
        let doing = "noting the hour up to which due items were checked";
        update.changed(doing, CheckedItem::V).await.map(drop)
    }
}

fn entry_pk(entry: &DueEntry) -> Pk {
    hour_pk(entry.hour(), entry.part())
}

fn hour_pk(hour: Hour, part: DuePart) -> Pk {
    ItemKind::Due.pk(format_args!("{hour}#{part}"))
}

fn checked_pk() -> Pk {
    ItemKind::DueChecked.pk("")
}
