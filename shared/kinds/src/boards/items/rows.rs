//! Rows under a partition key of the boards table, page by page, and all rows of a round, part by part.

use fanfold_core::kinds::Pk;
use fanfold_core::limits::BOARD_PARTS;
use fanfold_core::{MemberName, RoundId};
use fanfold_engines::table::{Item, key, read, read_key};
use fanfold_runtime::error::StoreError;
use serde::Deserialize;

use super::{BoardStore, Row, ScoreItem, scores_pk};

/// Rows that a removal of scores reads and deletes at once.
const BOARD_REMOVED_PAGE: i32 = 500;

/// Some rows of a partition key, by their sort keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowPage<T> {
    /// The rows.
    pub rows: Vec<T>,
    /// The sort key after which the next page begins. `None`: this is the last one.
    pub next_after: Option<String>,
}

/// The sort key of a row.
#[derive(Deserialize)]
struct SortKey {
    sk: String,
}

/// The rows of all pages. `None`: a page with at most `limit` rows is not the last one.
pub async fn all_rows<T, F: Future<Output = Result<RowPage<T>, StoreError>>>(
    page: impl Fn(Option<String>) -> F,
    limit: Option<i32>,
) -> Result<Option<Vec<T>>, StoreError> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let RowPage { rows, next_after } = page(after).await?;
        all.extend(rows);
        match next_after {
            None => return Ok(Some(all)),
            Some(_) if limit.is_some() => return Ok(None),
            next => after = next,
        }
    }
}

impl BoardStore {
    /// Some rows of a partition key, after a sort key, strongly consistent. Without `limit`, as many as DynamoDB returns at
    /// once.
    pub(crate) async fn page_of<T>(
        &self,
        doing: &'static str,
        pk: &Pk,
        after: Option<String>,
        limit: Option<i32>,
        row: impl Fn(Item) -> Result<T, StoreError>,
    ) -> Result<RowPage<T>, StoreError> {
        let rows = self.table.rows(doing, pk);
        let page = rows.page(after.map(|after| key(pk, after)), limit).await?;
        let last = page.next.map(|last| read_key::<SortKey>(doing, last)).transpose()?;
        let rows = page.rows.into_iter().map(row).collect::<Result<_, StoreError>>()?;
        Ok(RowPage { rows, next_after: last.map(|last| last.sk) })
    }

    /// Some rows of a part of a round, by name, with those of removed members.
    pub async fn page(
        &self,
        rows: RoundId,
        part: u8,
        after: Option<String>,
        limit: Option<i32>,
    ) -> Result<RowPage<Row>, StoreError> {
        let doing = "reading the scores of a board";
        let row = |item| Ok(Row::from(read::<ScoreItem>(doing, item)?));
        self.page_of(doing, &scores_pk(rows, part), after, limit, row).await
    }

    /// Deletes some rows of a round whose board is gone. Returns their number; 0: none are left.
    pub async fn delete_some(&self, rows: RoundId) -> Result<usize, StoreError> {
        let doing = "deleting the scores of a board";
        for part in 0..BOARD_PARTS {
            let pk = scores_pk(rows, part);
            let some = self.table.rows(doing, &pk);
            let some = some.first(None, BOARD_REMOVED_PAGE as usize).await?.into_iter();
            // a row of a newer function is left to that
            let keys =
                some.map(|row| Ok(key(&pk, Row::from(read::<ScoreItem>(doing, row)?).member)));
            let keys = keys.collect::<Result<Vec<_>, StoreError>>()?;
            if !keys.is_empty() {
                let deleted = keys.len();
                self.table.delete_all(doing, keys).await?;
                return Ok(deleted);
            }
        }
        Ok(0)
    }

    /// Deletes the rows of members of a round whose board is gone.
    pub async fn delete_rows(
        &self,
        rows: RoundId,
        members: &[MemberName],
    ) -> Result<(), StoreError> {
        let keys = members.iter().map(|member| key(&scores_pk(rows, super::part(member)), member));
        let doing = "deleting the scores of a board";
        self.table.delete_all(doing, keys.collect()).await
    }
}
