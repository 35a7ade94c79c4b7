//! Copies of rounds in Valkey: makes them from the rows in DynamoDB, and calls them.
//!
//! A copy is made in three steps: it begins empty, the rows are read and loaded, and then it is ready. Writers add their
//! changes to it from the beginning on, and rows are read after that, so it misses no change. A small round is copied within
//! a request. A large one is copied by messages, part by part.

use std::collections::HashMap;
use std::time::Duration;

use fanfold_core::board::{BoardSettings, MergeOf, MergeSource, Round};
use fanfold_core::limits::{
    BOARD_COPY_KEPT, BOARD_KEEP_IN, BOARD_LOAD_ROWS, BOARD_MERGED_EVERY, BOARD_OUT_ROUNDS_MAX,
    BOARD_PARTS, BOARD_QUEUED, BOARD_REBUILD_KEPT, BOARD_TIME_LEFT_MIN, BOARD_WRITES_AT_ONCE,
};
use fanfold_core::message::{RebuildBoard, RebuildOrder};
use fanfold_core::time::millis;
use fanfold_core::{Board, BoardId, MemberName, RoundId, Scores, Time};
use fanfold_runtime::clock::Deadline;
use fanfold_runtime::log::Chain;
use fanfold_runtime::sqs::Queue;
use fanfold_runtime::{StoreError, clock};
use fanfold_store::dynamo::BoardStore;
use fanfold_store::dynamo::boards::{Row, Rows, StoredBoard};
use fanfold_store::valkey::{
    BoardAnswer, BoardBegun, BoardChange, BoardCommit, BoardLoaded, PutDone, Valkey,
};
use futures::future::try_join_all;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};

/// The stores of boards, and the queue for copies of large rounds.
#[derive(Clone)]
pub struct Copies {
    pub boards: BoardStore,
    pub valkey: Valkey,
    pub rebuilds: Queue<RebuildOrder>,
    /// Rows of a part that a request reads to make a copy; see [`BOARD_ROWS_IN_REQUEST`](fanfold_core::limits::BOARD_ROWS_IN_REQUEST).
    pub rows_in_request: i32,
}

/// The stores of the rows and of their copies.
#[derive(Clone, Copy)]
pub struct Stores<'a> {
    pub boards: &'a BoardStore,
    pub valkey: &'a Valkey,
}

impl Copies {
    /// The stores.
    pub fn stores(&self) -> Stores<'_> {
        Stores { boards: &self.boards, valkey: &self.valkey }
    }
}

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

    /// The rows in DynamoDB. A merged board has none.
    pub fn rows(&self) -> Rows {
        self.board.rows(self.round)
    }

    /// The copy in Valkey.
    pub fn copy(&self) -> Board {
        let StoredBoard { id, token, layout, settings, .. } = &self.board;
        settings.copy(RoundId::of_copy(*id, token, self.round, *layout, self.version))
    }

    /// The earlier version of a merged board.
    fn earlier(&self) -> Option<Self> {
        let version = self.version.checked_sub(1)?;
        self.board.settings.merge.as_ref().map(|_| Self { version, ..self.clone() })
    }

    /// When the version of the copy of a merged board was begun. `None`: the copy has every change.
    pub fn merged_at(&self) -> Option<Time> {
        let every = millis(BOARD_MERGED_EVERY);
        self.board.settings.merge.as_ref().map(|_| Time::from_ms(self.version * every))
    }

    /// How long Valkey keeps the copy after its last use.
    fn kept(&self) -> Duration {
        match self.board.settings.merge {
            // the next version replaces it
            Some(_) => 3 * BOARD_MERGED_EVERY,
            None => BOARD_COPY_KEPT,
        }
    }

    /// The name of the copy in the list of its bucket, for the audit. The copies of merged boards have none.
    fn named(&self) -> Option<String> {
        self.board.settings.merge.is_none().then(|| named(self.board.id, self.round))
    }

    /// The board and the round of a name in the list of a bucket. `None` for other texts.
    pub fn parts(named: &str) -> Option<(BoardId, Round)> {
        let (board, round) = named.split_once(' ')?;
        Some((board.parse().ok()?, round.parse().ok()?))
    }
}

/// The name of the copy of a round in the list of its bucket.
pub(super) fn named(board: BoardId, round: Round) -> String {
    format!("{board} {round}")
}

/// Whether a copy was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Made {
    /// It is ready. These members fell out, if this call made it.
    Ready(Vec<(MemberName, Scores)>),
    /// Another function is making it, or a message has been sent.
    UnderWay,
}

/// What a copy is made from.
struct Sources {
    rounds: Vec<RoundId>,
    merge: Option<MergeOf>,
}

/// Times that a caller looks for a copy that another function is making, 10 to 320 ms apart.
const LOOKS: u32 = 6;

/// Calls a copy, and makes it first if Valkey does not have it. `None`: it is being made, and did not become ready in time.
///
/// Also returns the target with the version of the copy that answered.
pub async fn call<T, F: Future<Output = Result<BoardAnswer<T>, StoreError>>>(
    app: &Copies,
    target: Target,
    now: Time,
    call: impl Fn(Board) -> F,
) -> Result<Option<(Target, T)>, StoreError> {
    let copy = target.copy();
    for looked in 0..=LOOKS {
        let made = match call(copy.clone()).await? {
            BoardAnswer::Ready(answer) => {
                keep_at_times(&app.valkey, &target, &copy, now).await;
                return Ok(Some((target, answer)));
            }
            // a function that was making it may have died
            // mutation: board-dead-copy
            BoardAnswer::Missing | BoardAnswer::Building => make(app, &target, now).await?,
        };
        if made == Made::UnderWay {
            if let Some(earlier) = target.earlier()
                && let BoardAnswer::Ready(answer) = call(earlier.copy()).await?
            {
                return Ok(Some((earlier, answer)));
            }
            if looked < LOOKS {
                clock::sleep(Duration::from_millis(10 << looked)).await;
            }
        }
    }
    Ok(None)
}

/// Makes Valkey keep a copy for longer, once in many calls. If this fails, the copy is made again some day.
async fn keep_at_times(valkey: &Valkey, target: &Target, copy: &Board, now: Time) {
    if !clock::random().is_multiple_of(BOARD_KEEP_IN) {
        return;
    }
    if let Err(error) = valkey.keep_board(copy, target.named().as_deref(), target.kept(), now).await
    {
        tracing::warn!(error = %Chain(&error), "a board is not kept for longer");
    }
}

/// Makes a copy, unless another function is making it.
pub async fn make(app: &Copies, target: &Target, now: Time) -> Result<Made, StoreError> {
    let (copy, lease) = (target.copy(), format!("{:016x}", clock::random()));
    match app.valkey.begin_board(&copy, &lease, now).await? {
        BoardBegun::Ready => return Ok(Made::Ready(Vec::new())),
        BoardBegun::Busy => return Ok(Made::UnderWay),
        BoardBegun::Begun => {}
    }
    app.valkey.keep_board(&copy, target.named().as_deref(), BOARD_REBUILD_KEPT, now).await?;
    let sources = sources(app, target, now).await?;
    let Some(rows) = few_rows(app, &sources).await? else {
        let StoredBoard { id, token, .. } = target.board.clone();
        let order = RebuildBoard::new(id, token, target.round, target.version, lease);
        queue(app, &copy, order, now).await?;
        return Ok(Made::UnderWay);
    };
    let rows = changes(sources.merge.as_ref(), rows);
    if load(app, &copy, &lease, &rows, now).await? == BoardLoaded::Lost {
        return Ok(Made::UnderWay);
    }
    commit(app, target, &copy, &lease, now).await
}

/// Sends the order to make a copy, or the rest of it, with a lease for as long as the order may wait.
async fn queue(
    app: &Copies,
    copy: &Board,
    order: RebuildBoard,
    now: Time,
) -> Result<(), StoreError> {
    app.valkey.load_board(copy, &order.lease, &[], now + BOARD_QUEUED).await?;
    app.rebuilds.send(&order.into()).await
}

/// Continues to make a copy of a large round, as far as the deadline allows. Another message does the rest.
pub async fn continue_copy(
    app: &Copies,
    order: &RebuildBoard,
    now: Time,
    deadline: Deadline,
) -> Result<(), StoreError> {
    let board = app.boards.board(order.board).await?;
    let Some(board) = board.filter(|board| board.token == order.token) else { return Ok(()) };
    let target = Target { board, round: order.round, version: order.version };
    let (copy, lease) = (target.copy(), order.lease.as_str());
    // the first message alone: a later one must not begin with an empty copy
    // mutation: board-continues
    if order.part == 0 && app.valkey.begin_board(&copy, lease, now).await? != BoardBegun::Begun {
        return Ok(());
    }
    let sources = sources(app, &target, now).await?;
    for part in order.part..BOARD_PARTS {
        if load_part(app, &copy, &sources, part, lease, now).await? == BoardLoaded::Lost {
            tracing::info!(board = %order.board, part, "the copy of a board was lost");
            return Ok(());
        }
        if deadline.is_within(BOARD_TIME_LEFT_MIN) && part + 1 < BOARD_PARTS {
            let rest = RebuildBoard { part: part + 1, ..order.clone() };
            return queue(app, &copy, rest, now).await;
        }
    }
    commit(app, &target, &copy, lease, now).await.map(drop)
}

async fn commit(
    app: &Copies,
    target: &Target,
    copy: &Board,
    lease: &str,
    now: Time,
) -> Result<Made, StoreError> {
    let out = match app.valkey.commit_board(copy, lease, now).await? {
        BoardCommit::Done(out) => out,
        BoardCommit::Lost => return Ok(Made::UnderWay),
    };
    tracing::info!(board = %target.board.id, round = %target.round, "copied a board");
    app.valkey.keep_board(copy, target.named().as_deref(), target.kept(), now).await?;
    if target.board.settings.merge.is_none()
        && let BoardAnswer::Ready(done) = app.valkey.put_on_board(copy, &[], now).await?
    {
        remove_fallen(app.stores(), target, done.fallen, now).await?;
    }
    Ok(Made::Ready(out))
}

/// The rows that a copy is made from. A board to merge that is gone, or has another number of scores, is left out.
async fn sources(app: &Copies, target: &Target, now: Time) -> Result<Sources, StoreError> {
    let Some(merge) = &target.board.settings.merge else {
        return Ok(Sources { rounds: vec![target.rows().id], merge: None });
    };
    let found = app.boards.sources(merge).await?;
    let scores = |settings: &BoardSettings| settings.orders.as_slice().len();
    let round = |(source, board): (&MergeSource, Option<StoredBoard>)| {
        let board = board?;
        let is_same = scores(&board.settings) == scores(&target.board.settings)
            && board.settings.merge.is_none();
        let round = match source.day {
            None => Some(board.settings.round(now)),
            Some(day) => board.settings.round_of(day, now),
        };
        round.filter(|_| is_same).map(|round| board.rows(round).id)
    };
    let rounds = merge.boards.iter().zip(found).filter_map(round).collect();
    Ok(Sources { rounds, merge: Some(merge.clone()) })
}

/// All rows of a small round. `None`: a part has too many rows for a request.
async fn few_rows(app: &Copies, sources: &Sources) -> Result<Option<Vec<Vec<Row>>>, StoreError> {
    let limit = Some(app.rows_in_request);
    let read = sources.rounds.iter().map(|rows| async move {
        let parts = (0..BOARD_PARTS).map(|part| app.boards.page(*rows, part, None, limit));
        let pages = try_join_all(parts).await?;
        let is_all = pages.iter().all(|page| page.next_after.is_none());
        let rows: Vec<Row> = pages.into_iter().flat_map(|page| page.rows).collect();
        Ok::<_, StoreError>(is_all.then_some(rows))
    });
    Ok(try_join_all(read).await?.into_iter().collect())
}

/// Loads the rows of one part into a copy.
async fn load_part(
    app: &Copies,
    copy: &Board,
    sources: &Sources,
    part: u8,
    lease: &str,
    now: Time,
) -> Result<BoardLoaded, StoreError> {
    let mut all = Vec::new();
    for rows in &sources.rounds {
        let (mut of_round, mut after) = (Vec::new(), None);
        loop {
            let page = app.boards.page(*rows, part, after.as_ref(), None).await?;
            after = page.next_after;
            match sources.merge {
                // a member is on several boards, so all of its rows are needed
                Some(_) => of_round.extend(page.rows),
                None => {
                    let rows = changes(None, vec![page.rows]);
                    if load(app, copy, lease, &rows, now).await? == BoardLoaded::Lost {
                        return Ok(BoardLoaded::Lost);
                    }
                }
            }
            if after.is_none() {
                break;
            }
        }
        all.push(of_round);
    }
    load(app, copy, lease, &changes(sources.merge.as_ref(), all), now).await
}

async fn load(
    app: &Copies,
    copy: &Board,
    lease: &str,
    rows: &[BoardChange],
    now: Time,
) -> Result<BoardLoaded, StoreError> {
    for rows in rows.chunks(BOARD_LOAD_ROWS) {
        if app.valkey.load_board(copy, lease, rows, now).await? == BoardLoaded::Lost {
            return Ok(BoardLoaded::Lost);
        }
    }
    Ok(BoardLoaded::Done)
}

/// The changes that load rows of several rounds. Without `merge`, there is one round.
fn changes(merge: Option<&MergeOf>, rounds: Vec<Vec<Row>>) -> Vec<BoardChange> {
    let rows = rounds.into_iter().flatten();
    let Some(merge) = merge else {
        return rows.map(change).collect();
    };
    let mut merged: HashMap<MemberName, Scores> = HashMap::new();
    for Row { member, scores, .. } in rows {
        let Some(scores) = scores else { continue };
        // mutation: board-merge
        let scores = match merged.get(&member) {
            Some(known) => merge.by.merge(known, &scores),
            None => scores,
        };
        merged.insert(member, scores);
    }
    // nobody changes a merged board
    let change = |(member, scores)| BoardChange { member, revision: 1, scores: Some(scores) };
    merged.into_iter().map(change).collect()
}

/// A row as a change of a copy.
fn change(row: Row) -> BoardChange {
    BoardChange { member: row.member, revision: row.revision, scores: row.scores }
}

/// Makes a copy equal to the rows of these members. Also removes members from DynamoDB who fell out of the copy.
pub async fn place(
    stores: Stores<'_>,
    target: &Target,
    rows: Vec<Row>,
    now: Time,
) -> Result<BoardAnswer<PutDone>, StoreError> {
    let changes: Vec<BoardChange> = rows.into_iter().map(change).collect();
    let copy = target.copy();
    let answer = stores.valkey.put_on_board(&copy, &changes, now).await?;
    if let BoardAnswer::Ready(done) = &answer {
        keep_at_times(stores.valkey, target, &copy, now).await;
        remove_fallen(stores, target, done.fallen.clone(), now).await?;
    }
    Ok(answer)
}

/// Removes members from DynamoDB who fell out of a copy. The copy names them until it has their removal, so that a function
/// that dies here leaves nothing behind.
async fn remove_fallen(
    Stores { boards, valkey }: Stores<'_>,
    target: &Target,
    mut fallen: Vec<(MemberName, u64)>,
    now: Time,
) -> Result<(), StoreError> {
    let rows = target.rows();
    for _ in 0..BOARD_OUT_ROUNDS_MAX {
        if fallen.is_empty() {
            return Ok(());
        }
        let removals = fallen
            .iter()
            .map(|(member, revision)| boards.remove_fallen(rows, member, *revision, now));
        let removals: Vec<_> = removals.collect();
        let removed: Vec<bool> =
            stream::iter(removals).buffered(BOARD_WRITES_AT_ONCE).try_collect().await?;
        tracing::info!(
            board = %target.board.id,
            members = removed.iter().filter(|removed| **removed).count(),
            "members fell out of a board"
        );
        let members: Vec<MemberName> = fallen.iter().map(|(member, _)| member.clone()).collect();
        let present = boards.rows_of(rows, &members).await?;
        let changes = fallen.iter().zip(present).map(|((member, revision), row)| match row {
            Some(row) => change(row),
            // the tombstone has expired
            None => BoardChange { member: member.clone(), revision: revision + 1, scores: None },
        });
        let changes: Vec<BoardChange> = changes.collect();
        match valkey.put_on_board(&target.copy(), &changes, now).await? {
            BoardAnswer::Ready(next) => fallen = next.fallen,
            BoardAnswer::Missing | BoardAnswer::Building => return Ok(()),
        }
    }
    Ok(())
}
