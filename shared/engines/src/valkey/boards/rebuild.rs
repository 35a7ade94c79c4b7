//! Loading a board from DynamoDB. A rebuild begins, reads all members of the board consistently, loads them, and commits.
//! Writers add their changes to the board from the beginning on, so no change is missing.

use std::time::Duration;

use fanfold_core::limits::{
    BOARD_BATCH_MAX, BOARD_COPY_KEPT, BOARD_LEASE, BOARD_LOAD_ROWS, BOARD_QUEUED,
    BOARD_REBUILD_KEPT, BOARD_REST_QUEUED,
};
use fanfold_core::time::millis;
use fanfold_core::{Board, Bucket, MemberName, Scores, Time};
use fanfold_runtime::error::StoreError;
use redis::{RedisResult, Value};

use super::answer::{BoardAnswer, Fields};
use super::put::{BoardChange, add_changes, kind, limit, misused};
use crate::valkey::scripts::{self, Word, unknown};
use crate::valkey::{Valkey, failed};

/// The answer to the beginning of a rebuild.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoardBegun {
    /// The rebuild has begun, with an empty board.
    Begun,
    /// A request builds the board, so it is soon ready.
    Busy,
    /// Messages build the board.
    Queued,
    /// The board is complete.
    Ready,
}

impl Word for BoardBegun {
    fn of(word: &str) -> Option<Self> {
        match word {
            "begun" => Some(Self::Begun),
            "busy" => Some(Self::Busy),
            "queued" => Some(Self::Queued),
            "ready" => Some(Self::Ready),
            _ => None,
        }
    }
}

/// The result of adding rows to a board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoardLoaded {
    /// The rows are there.
    Done,
    /// The server lost its data, or another rebuild has taken over.
    Lost,
}

impl Word for BoardLoaded {
    fn of(word: &str) -> Option<Self> {
        match word {
            "done" => Some(Self::Done),
            "lost" => Some(Self::Lost),
            _ => None,
        }
    }
}

/// The result of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BoardCommit {
    /// The board is ready. These members fell out because of the limit, best first. A repeated commit names none.
    Done(Vec<(MemberName, Scores)>),
    /// These members fell out, the worst of all, and others are above the limit. The call must be repeated.
    More(Vec<(MemberName, Scores)>),
    /// The server lost its data, or another rebuild has taken over.
    Lost,
}

impl Valkey {
    /// Begins to rebuild a board. `token` must be unique to this rebuild. If the next call takes longer than
    /// [`BOARD_LEASE`], another rebuild may take over. Without another call, Valkey keeps the board for
    /// [`BOARD_REBUILD_KEPT`].
    pub async fn begin_board(
        &self,
        board: &Board,
        token: &str,
        now: Time,
    ) -> Result<BoardBegun, StoreError> {
        self.begin_or_take(board, token, "", now).await
    }

    /// The same, for an order that has waited in its queue. It also takes over from a rebuild whose order waits there, so the
    /// first order that arrives is carried out.
    pub async fn take_board(
        &self,
        board: &Board,
        token: &str,
        now: Time,
    ) -> Result<BoardBegun, StoreError> {
        self.begin_or_take(board, token, "order", now).await
    }

    async fn begin_or_take(
        &self,
        board: &Board,
        token: &str,
        who: &str,
        now: Time,
    ) -> Result<BoardBegun, StoreError> {
        let mut script = self.board_call(&scripts::BOARD_BEGIN, board);
        script.arg(token).arg(now.ms()).arg((now + BOARD_LEASE).ms());
        script.arg(millis(BOARD_REBUILD_KEPT)).arg(who);
        script.run_for_word(&self.link, "beginning to rebuild a board").await
    }

    /// Adds rows that were read from DynamoDB after the rebuild began, at most [`BOARD_LOAD_ROWS`]. Rows of removed
    /// members belong to them: without them, a change that is older than a removal and arrives late would bring the
    /// member back.
    pub async fn load_board(
        &self,
        board: &Board,
        token: &str,
        rows: &[BoardChange],
        now: Time,
    ) -> Result<BoardLoaded, StoreError> {
        self.load(board, token, rows, "", now).await
    }

    /// Notes that the order to load the rows, or the rest of them, waits in a queue. `is_first`: no rows were loaded.
    pub async fn queue_board(
        &self,
        board: &Board,
        token: &str,
        is_first: bool,
        now: Time,
    ) -> Result<BoardLoaded, StoreError> {
        match is_first {
            true => self.load(board, token, &[], "Q", now + BOARD_QUEUED).await,
            false => self.load(board, token, &[], "M", now + BOARD_REST_QUEUED).await,
        }
    }

    async fn load(
        &self,
        board: &Board,
        token: &str,
        rows: &[BoardChange],
        who: &str,
        now: Time,
    ) -> Result<BoardLoaded, StoreError> {
        let doing = "loading a board";
        if rows.len() > BOARD_LOAD_ROWS {
            return Err(failed(doing)(misused("too many rows in one call")));
        }
        let mut script = self.board_call(&scripts::BOARD_LOAD, board);
        script.arg(token).arg(now.ms()).arg((now + BOARD_LEASE).ms());
        script.arg(millis(BOARD_REBUILD_KEPT)).arg(who).arg(kind(board));
        add_changes(&mut script, board, rows).map_err(failed(doing))?;
        self.or_drop(board, script.run_for_word(&self.link, doing).await).await
    }

    /// Makes a board ready, after all rows were loaded. Removes a bounded number of members above the limit.
    pub async fn commit_board(
        &self,
        board: &Board,
        token: &str,
        now: Time,
    ) -> Result<BoardCommit, StoreError> {
        let doing = "committing the rebuild of a board";
        let mut script = self.board_call(&scripts::BOARD_COMMIT, board);
        script.arg(token).arg(now.ms()).arg((now + BOARD_LEASE).ms());
        script.arg(kind(board)).arg(limit(board)).arg(TRIMMED_AT_ONCE).arg(board.orders.width());
        let answer: Vec<Value> = self.or_drop(board, script.run(&self.link, doing).await).await?;
        parse(board, answer).map_err(failed(doing))
    }

    /// Makes Valkey keep a board for this long from now on, and notes it in the list of its bucket by a name. Without a name,
    /// it is not noted.
    pub async fn keep_board(
        &self,
        board: &Board,
        named: Option<&str>,
        kept: Duration,
        now: Time,
    ) -> Result<(), StoreError> {
        let doing = "keeping a board";
        let mut script = self.board_call(&scripts::BOARD_KEEP, board);
        script.key(self.keys.boards(board.id.bucket(self.keys.buckets())));
        script
            .arg(millis(kept))
            .arg(named.unwrap_or_default())
            .arg(now.ms())
            .arg(millis(BOARD_COPY_KEPT));
        let _done: String = script.run(&self.link, doing).await?;
        Ok(())
    }

    /// The names of some boards of a bucket that Valkey may have, chosen at random.
    pub async fn sample_boards(
        &self,
        bucket: Bucket,
        count: usize,
    ) -> Result<Vec<String>, StoreError> {
        let mut command = self.keys.boards(bucket).command("ZRANDMEMBER");
        command.arg(count);
        let sample = command.query_async(&mut self.link.clone()).await;
        sample.map_err(failed("choosing boards"))
    }
}

/// The most members that one call of a commit removes.
const TRIMMED_AT_ONCE: usize = 10 * BOARD_BATCH_MAX;

fn parse(board: &Board, answer: Vec<Value>) -> RedisResult<BoardCommit> {
    let BoardAnswer::Ready((word, mut fields)) = Fields::of(answer)? else {
        return Err(unknown("missing or building"));
    };
    let mut out = Vec::new();
    while !fields.is_empty() {
        out.push(fields.scored(board)?);
    }
    match word.as_str() {
        "done" => Ok(BoardCommit::Done(out)),
        "more" => Ok(BoardCommit::More(out)),
        "lost" => Ok(BoardCommit::Lost),
        other => Err(unknown(other)),
    }
}
