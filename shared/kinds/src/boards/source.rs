//! What the copies of boards are made from.

use std::collections::HashMap;

use fanfold_core::board::{BoardError, MergeBy, Merged};
use fanfold_core::{MemberName, RoundId};
use fanfold_engines::rank::{Place, RowSource, RowsPage};
use fanfold_engines::valkey::BoardChange;
use fanfold_runtime::StoreError;
use futures::future::{BoxFuture, try_join_all};

use super::items::{Row, all_rows};
use crate::App;

/// The rows of a round.
pub struct RoundRows(pub RoundId);

/// The rows of several rounds. Those of one member are merged.
pub struct MergedRows {
    pub rounds: Vec<RoundId>,
    pub by: MergeBy,
}

impl RowSource<App> for RoundRows {
    fn part<'a>(
        &'a self,
        app: &'a App,
        part: u8,
        limit: Option<i32>,
    ) -> BoxFuture<'a, Result<Option<Vec<BoardChange>>, StoreError>> {
        Box::pin(async move {
            let rows = rows_of(app, self.0, part, limit).await?;
            Ok(rows.map(|rows| rows.into_iter().map(change).collect()))
        })
    }

    fn page<'a>(
        &'a self,
        app: &'a App,
        Place { part, after }: &'a Place,
    ) -> BoxFuture<'a, Result<RowsPage, StoreError>> {
        Box::pin(async move {
            let after = after.as_ref().map(|member| member.to_string());
            let page = app.boards.page(self.0, *part, after, None).await?;
            let unread = |error: BoardError| StoreError::Item {
                doing: "reading the scores of a board",
                source: error.into(),
            };
            let up_to = page.next_after.map(|member| member.parse().map_err(unread)).transpose()?;
            Ok((page.rows.into_iter().map(change).collect(), up_to))
        })
    }
}

impl RowSource<App> for MergedRows {
    fn queries(&self) -> usize {
        self.rounds.len()
    }

    fn part<'a>(
        &'a self,
        app: &'a App,
        part: u8,
        limit: Option<i32>,
    ) -> BoxFuture<'a, Result<Option<Vec<BoardChange>>, StoreError>> {
        Box::pin(merged(app, &self.rounds, self.by, part, limit))
    }
}

/// The merged scores of the members of one part of several rounds. A member is in the same part of all of them. `None`: a
/// round has more rows in this part than `limit`.
async fn merged(
    app: &App,
    rounds: &[RoundId],
    by: MergeBy,
    part: u8,
    limit: Option<i32>,
) -> Result<Option<Vec<BoardChange>>, StoreError> {
    let rows = rounds.iter().map(|round| rows_of(app, *round, part, limit));
    let rows: Option<Vec<Vec<Row>>> = try_join_all(rows).await?.into_iter().collect();
    let Some(rows) = rows else { return Ok(None) };
    let mut merged: HashMap<MemberName, Merged> = HashMap::new();
    for Row { member, scores, .. } in rows.into_iter().flatten() {
        let Some(scores) = scores else { continue };
        // mutation: board-merge
        match merged.get_mut(&member) {
            Some(known) => known.add(&scores),
            None => drop(merged.insert(member, Merged::new(by, &scores))),
        }
    }
    let change = |(member, merged): (_, Merged)| BoardChange::fixed(member, merged.scores());
    Ok(Some(merged.into_iter().map(change).collect()))
}

/// All rows of one part of a round. `None`: there are more than `limit`.
async fn rows_of(
    app: &App,
    round: RoundId,
    part: u8,
    limit: Option<i32>,
) -> Result<Option<Vec<Row>>, StoreError> {
    all_rows(|after| app.boards.page(round, part, after, limit), limit).await
}

/// A row as a change of a copy.
pub(super) fn change(row: Row) -> BoardChange {
    BoardChange { member: row.member, revision: row.revision, scores: row.scores }
}
