//! How a round of a board is copied.

use std::time::Duration;

use fanfold_core::board::{BoardSettings, MergeSource};
use fanfold_core::limits::BOARD_COPY_KEPT;
use fanfold_core::{Board, RoundId, Time};
use fanfold_engines::rank::{Copied, Place, RowSource, RowsOf, Version};
use fanfold_runtime::StoreError;
use futures::future::BoxFuture;

use super::fallen::has_fallen;
use super::items::StoredBoard;
use super::messages::RebuildBoard;
use super::round::{BoardRound, named};
use super::source::{MergedRows, RoundRows};
use crate::App;

/// How long Valkey keeps a merge after it was made or used last. Readers get it while the next one is being made.
const BOARD_MERGED_KEPT: Duration = Duration::from_secs(15 * 60);

impl Copied<App> for BoardRound {
    fn board(&self) -> Board {
        self.copy()
    }

    fn kept(&self) -> Duration {
        match self.board.settings.merge {
            // later versions replace it
            Some(_) => BOARD_MERGED_KEPT,
            None => BOARD_COPY_KEPT,
        }
    }

    fn named(&self) -> Option<String> {
        self.board.settings.merge.is_none().then(|| named(self.board.id, self.round))
    }

    fn version(&self) -> Option<Version> {
        let StoredBoard { id, token, layout, settings, .. } = &self.board;
        settings.merge.as_ref()?;
        let of = RoundId::of_versions(*id, token, self.round, *layout);
        Some(Version { of, number: self.version })
    }

    fn with_version(&self, version: u64) -> Self {
        Self { version, ..self.clone() }
    }

    fn send_order<'a>(
        &'a self,
        app: &'a App,
        Place { part, after }: Place,
        lease: &'a str,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let order = RebuildBoard { part, after, ..self.order(lease) };
        Box::pin(async move { app.outbox.send(&order).await })
    }

    fn rows<'a>(&'a self, app: &'a App, now: Time) -> RowsOf<'a, App> {
        Box::pin(self.source(app, now))
    }

    fn remove_out<'a>(
        &'a self,
        app: &'a App,
        now: Time,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        // a merged board has no rows of its own
        let has_rows = self.board.settings.merge.is_none();
        Box::pin(async move { Ok(has_rows && has_fallen(app, self, now).await?) })
    }
}

impl BoardRound {
    /// The rows of the round, or of all rounds of a merged board. A board to merge that is gone, or has another number of
    /// scores, is left out.
    async fn source(&self, app: &App, now: Time) -> Result<Box<dyn RowSource<App>>, StoreError> {
        let Some(merge) = &self.board.settings.merge else {
            return Ok(Box::new(RoundRows(self.rows().id)));
        };
        let found = app.boards.sources(merge).await?;
        let scores = |settings: &BoardSettings| settings.orders.as_slice().len();
        let round = |(source, board): (&MergeSource, Option<StoredBoard>)| {
            let board = board?;
            let is_same = scores(&board.settings) == scores(&self.board.settings)
                && board.settings.merge.is_none();
            let round = match source.day {
                None => Some(board.settings.round(now)),
                Some(day) => board.settings.round_of(day, now),
            };
            round.filter(|_| is_same).map(|round| board.rows(round).id)
        };
        let rounds = merge.boards.iter().zip(found).filter_map(round).collect();
        Ok(Box::new(MergedRows { rounds, by: merge.by }))
    }
}
