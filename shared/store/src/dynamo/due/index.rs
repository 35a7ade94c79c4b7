//! The index of due items: one partition key for each hour and part. What is due is found without a scan of all items
//! that wait.

use std::collections::HashMap;

use fanfold_core::limits::DUE_QUERY_ROWS;
use fanfold_core::{DueEntry, DuePart, Hour, Time};
use fanfold_runtime::error::StoreError;
use serde::{Deserialize, Serialize};

use super::super::{ItemKind, Pk, Stored, batch, changed, key, number, read, read_key, text};
use super::{DueStore, EntryRow};

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
    pub entries: Vec<DueEntry>,
    /// Whether there can be later ones within the bounds.
    pub more: bool,
}

impl DueStore {
    /// A page of the entries of an hour, soonest first: those after the entry `after`, with a time up to `until`.
    pub async fn entries(
        &self,
        part: DuePart,
        hour: Hour,
        after: Option<&DueEntry>,
        until: Time,
    ) -> Result<Entries, StoreError> {
        let doing = "reading due items";
        let pk = hour_pk(hour, part);
        let page = self
            .client
            .query()
            .table_name(&self.table)
            // the character after # in ASCII, so that every entry of the last millisecond is included
            .key_condition_expression("pk = :part AND sk BETWEEN :first AND :last")
            .expression_attribute_values(":part", pk.value())
            .expression_attribute_values(":first", text("0"))
            .expression_attribute_values(":last", text(format_args!("{:015}$", until.ms())))
            .set_exclusive_start_key(after.map(|after| key(&pk, after)))
            .consistent_read(true)
            .limit(DUE_QUERY_ROWS)
            .send()
            .await
            .map_err(StoreError::dynamo(doing))?;
        let items = page.items.unwrap_or_default().into_iter();
        let entries: Result<Vec<DueEntry>, StoreError> =
            items.map(|item| Ok(read_key::<EntryRow>(doing, item)?.sk)).collect();
        Ok(Entries { entries: entries?, more: page.last_evaluated_key.is_some() })
    }

    /// For each part, the hour before which the index has no entries. Parts that were never checked are left out.
    pub async fn checked(&self) -> Result<HashMap<DuePart, Hour>, StoreError> {
        let doing = "reading the hours up to which due items were checked";
        let keys = DuePart::all().map(|part| key(&checked_pk(), part)).collect();
        let mut checked = HashMap::new();
        for item in batch::get_all(&self.client, &self.table, doing, keys).await? {
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
            .client
            .update_item()
            .table_name(&self.table)
            .set_key(Some(key(&checked_pk(), part)))
            .update_expression("SET #hour = :hour, v = :v")
            .expression_attribute_names("#hour", "hour")
            .expression_attribute_values(":hour", number(hour));
        let doing = "noting the hour up to which due items were checked";
        changed(doing, CheckedItem::V, update).await.map(drop)
    }
}

fn hour_pk(hour: Hour, part: DuePart) -> Pk {
    ItemKind::Due.pk(format_args!("{hour}#{part}"))
}

fn checked_pk() -> Pk {
    ItemKind::DueChecked.pk("")
}
