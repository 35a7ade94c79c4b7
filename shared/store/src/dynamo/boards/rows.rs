//! All rows of a round, part by part.

use fanfold_core::limits::{BOARD_PARTS, BOARD_REMOVED_PAGE};
use fanfold_core::{MemberName, RoundId};
use fanfold_runtime::error::StoreError;

use super::super::{batch, key, read};
use super::{BoardStore, Row, ScoreItem, scores_pk};

/// Some rows of a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowPage {
    /// The rows, by name, with those of removed members.
    pub rows: Vec<Row>,
    /// The name after which the next page begins. `None`: this is the last one.
    pub next_after: Option<MemberName>,
}

impl BoardStore {
    /// Some rows of a part, after a name, strongly consistent. Without `limit`, as many as DynamoDB returns at once.
    pub async fn page(
        &self,
        rows: RoundId,
        part: u8,
        after: Option<&MemberName>,
        limit: Option<i32>,
    ) -> Result<RowPage, StoreError> {
        let doing = "reading the scores of a board";
        let pk = scores_pk(rows, part);
        let page = self
            .client
            .query()
            .table_name(&self.table)
            .key_condition_expression("pk = :pk")
            .expression_attribute_values(":pk", pk.value())
            .consistent_read(true)
            .set_limit(limit)
            .set_exclusive_start_key(after.map(|after| key(&pk, after)))
            .send()
            .await
            .map_err(StoreError::dynamo(doing))?;
        let more = page.last_evaluated_key.is_some();
        let rows = page.items.unwrap_or_default().into_iter();
        let rows = rows.map(|item| Ok(Row::from(read::<ScoreItem>(doing, item)?)));
        let rows: Vec<Row> = rows.collect::<Result<_, StoreError>>()?;
        let next_after = rows.last().map(|row| row.member.clone()).filter(|_| more);
        Ok(RowPage { rows, next_after })
    }

    /// Deletes some rows of a round whose board is gone. Returns their number; 0: none are left.
    pub async fn delete_some(&self, rows: RoundId) -> Result<usize, StoreError> {
        let doing = "deleting the scores of a board";
        for part in 0..BOARD_PARTS {
            let page = self.page(rows, part, None, Some(BOARD_REMOVED_PAGE)).await?;
            if !page.rows.is_empty() {
                let pk = scores_pk(rows, part);
                let keys: Vec<_> = page.rows.iter().map(|row| key(&pk, &row.member)).collect();
                let deleted = keys.len();
                batch::delete_all(&self.client, &self.table, doing, keys).await?;
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
        batch::delete_all(&self.client, &self.table, doing, keys.collect()).await
    }
}
