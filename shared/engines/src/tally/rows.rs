//! The rows that count.

use fanfold_core::kinds::Pk;
use fanfold_runtime::StoreError;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use serde::Deserialize;

use crate::table::{Item, Stored, Table, Write, check, number, read};

/// A row: a part of a number.
#[derive(Deserialize)]
struct CountRow {
    /// The sum of what changes added, which may be negative.
    counted: i64,
    /// The number of changes.
    changes: u64,
}

impl Stored for CountRow {
    const V: u32 = 1;
}

/// The sum of rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tallied {
    pub number: u64,
    /// The number of changes that it includes. Of two sums, the one with more changes is newer.
    pub changes: u64,
}

impl Table {
    /// The write that adds to a row.
    pub fn add(&self, row: Item, by: i64) -> Write {
        self.update(row)
            .expression("ADD counted :by, changes :one SET v = :v")
            .condition("attribute_not_exists(v) OR v <= :v")
            .value(":by", number(by))
            .value(":one", number(1))
            .value(":v", number(CountRow::V))
    }

    /// Fails if a row has a newer version, which explains why its write was refused.
    pub async fn check_row(&self, doing: &'static str, row: Item) -> Result<(), StoreError> {
        let row = self.get(doing, row).await?;
        row.map_or(Ok(()), |row| check(doing, &row, CountRow::V))
    }

    /// Adds up the rows under these partition keys, and reads some of them at the same time.
    pub async fn tally(
        &self,
        doing: &'static str,
        pks: impl IntoIterator<Item = Pk>,
        at_once: usize,
    ) -> Result<Tallied, StoreError> {
        let rows = self.parts(doing, pks, "counted, changes, v", at_once).await?;
        let (mut number, mut changes) = (0, 0u64);
        for row in rows {
            let row: CountRow = read(doing, row)?;
            number += row.counted;
            changes += row.changes;
        }
        // the rows are read at different times, so a change may be counted without an earlier one that it takes back
        Ok(Tallied { number: i64::max(number, 0) as u64, changes })
    }

    /// Removes the rows under these partition keys.
    pub async fn forget_tally(
        &self,
        doing: &'static str,
        pks: impl IntoIterator<Item = Pk>,
        at_once: usize,
    ) -> Result<(), StoreError> {
        let rows = self.parts(doing, pks, "pk, sk", at_once).await?;
        self.delete_all(doing, rows).await
    }

    async fn parts(
        &self,
        doing: &'static str,
        pks: impl IntoIterator<Item = Pk>,
        attributes: &'static str,
        at_once: usize,
    ) -> Result<Vec<Item>, StoreError> {
        let parts = pks
            .into_iter()
            .map(|pk| async move { self.rows(doing, &pk).only(attributes).all(None).await });
        let parts: Vec<_> = parts.collect();
        stream::iter(parts).buffer_unordered(at_once).try_concat().await
    }
}
