//! A round of a board, with its copy in Valkey.

use std::time::Duration;

use fanfold_core::board::{BoardSettings, MergeSource, Round};
use fanfold_core::limits::{BOARD_COPY_KEPT, BOARD_MERGED_EVERY};
use fanfold_core::time::millis;
use fanfold_core::{Board, BoardId, RoundId, Time};
use fanfold_engines::rank::{Copied, Place, Rows as Source, RowsOf, Version};
use fanfold_runtime::StoreError;
use futures::future::BoxFuture;

use super::fallen::has_fallen;
use super::items::{Rows, StoredBoard};
use super::messages::RebuildBoard;
use super::source::{MergedRows, RoundRows};
use crate::App;

/// How long Valkey keeps a merge after it was made or used last. Readers get it while the next one is being made.
const BOARD_MERGED_KEPT: Duration = Duration::from_secs(15 * 60);

/// A round of a board, with its copy in Valkey.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The board.
    pub board: StoredBoard,
    /// The round.
    pub round: Round,
    /// The version of the copy. Only the copy of a merged board has several.
    version: u64,
}

impl Target {
    /// A round of a board, with the present version of its copy.
    pub fn new(board: StoredBoard, round: Round, now: Time) -> Self {
        let version = match board.settings.merge {
            Some(_) => now.ms() / millis(BOARD_MERGED_EVERY),
            None => 0,
        };
        Self { board, round, version }
    }

    /// The round with this version of its copy.
    pub(super) fn at(board: StoredBoard, round: Round, version: u64) -> Self {
        Self { board, round, version }
    }

    /// The rows in DynamoDB. A merged board has none.
    pub fn rows(&self) -> Rows {
        self.board.rows(self.round)
    }

    /// The copy in Valkey.
    pub fn copy(&self) -> Board {
        let StoredBoard { id, token, layout, settings, .. } = &self.board;
        settings.copy(RoundId::of_copy(*id, token, self.round, *layout, self.version))
    }

    /// When the version of the copy of a merged board was begun. `None`: the copy has every change.
    pub fn merged_at(&self) -> Option<Time> {
        let every = millis(BOARD_MERGED_EVERY);
        self.board.settings.merge.as_ref().map(|_| Time::from_ms(self.version * every))
    }

    /// The order to make the copy with a lease, from its first part on.
    pub fn order(&self, lease: &str) -> RebuildBoard {
        let StoredBoard { id: board, token, .. } = self.board.clone();
        let (round, version, lease) = (self.round, self.version, lease.to_owned());
        RebuildBoard { board, token, round, version, lease, part: 0, after: None }
    }

    /// The board and the round of a name in the list of a bucket. `None` for other texts.
    pub fn parts(named: &str) -> Option<(BoardId, Round)> {
        let (board, round) = named.split_once(' ')?;
        Some((board.parse().ok()?, round.parse().ok()?))
    }
}

impl Copied<App> for Target {
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

impl Target {
    /// The rows of the round, or of all rounds of a merged board. A board to merge that is gone, or has another number of
    /// scores, is left out.
    async fn source(&self, app: &App, now: Time) -> Result<Box<dyn Source<App>>, StoreError> {
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

/// The name of the copy of a round in the list of its bucket.
pub(crate) fn named(board: BoardId, round: Round) -> String {
    format!("{board} {round}")
}
