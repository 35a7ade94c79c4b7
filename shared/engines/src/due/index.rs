//! The index of due items: one partition key for each hour and part. What is due is found without a scan of all items
//! that wait.

use std::collections::HashMap;

use fanfold_core::limits::DUE_QUERY_ROWS;
use fanfold_core::{DueEntry, DueItem, DuePart, Hour, Time};
use fanfold_engines::table::transact::{CommitResult, Transaction};
use fanfold_engines::table::{ItemKind, Pk, Stored, key, number, read, read_key, text};
use fanfold_runtime::error::StoreError;
use serde::{Deserialize, Serialize};

use super::scheduled::scheduled_pk;
use super::timers::timers_pk;
use super::{DueStore, entry_pk};

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
    /// The entries that this version knows.
    pub entries: Vec<Indexed>,
    /// Rows that this version does not know, for example entries of a newer kind. They stay where they are.
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
struct Row {
    sk: String,
    #[serde(default)]
    announced: bool,
}

impl DueStore {
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
            let Row { sk, announced: is_announced } = read_key(doing, item)?;
            match sk.parse() {
                Ok(entry) => found.entries.push(Indexed { entry, is_announced }),
                Err(_) => found.unknown += 1,
            }
        }
        if found.unknown > 0 {
            tracing::warn!(%part, %hour, unknown = found.unknown, "the index has unknown entries");
        }
        if let Some(last) = page.next {
            let sk = read_key::<Row>(doing, last)?.sk;
            let at = sk.split('#').next().and_then(|at| at.parse().ok()).unwrap_or_default();
            found.next = Some(EntryPlace { sk, at: Time::from_ms(at) });
        }
        Ok(found)
    }

    /// Removes an entry whose item is gone, or has another time, or was done. Its item is compared in the same transaction,
    /// because it may move back. Returns whether there was such an entry.
    pub async fn remove_stray(&self, entry: &DueEntry) -> Result<bool, StoreError> {
        let doing = "removing an entry without its item";
        let row = self.table.get(doing, key(&entry_pk(entry), entry)).await?;
        if row.is_none() {
            return Ok(false);
        }
        let check = match &entry.item {
            DueItem::Post(id) => self
                .table
                .check(key(&scheduled_pk(id.author()), id))
                .condition("attribute_not_exists(pk) OR #state <> :waiting OR publish_at_ms <> :at")
                .name("#state", "state")
                .value(":waiting", text("waiting")),
            DueItem::Timer(owner, name) => self
                .table
                .check(key(&timers_pk(*owner), name))
                .condition("attribute_not_exists(pk) OR due_at_ms <> :at"),
        };
        let check = check.value(":at", number(entry.at));
        let mut transaction = Transaction::new(doing);
        // mutation: stray-checked
        transaction.add((), check);
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

fn hour_pk(hour: Hour, part: DuePart) -> Pk {
    ItemKind::Due.pk(format_args!("{hour}#{part}"))
}

fn checked_pk() -> Pk {
    ItemKind::DueChecked.pk("")
}
