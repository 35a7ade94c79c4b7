//! Copies of rounds and rankings in Valkey: makes them from the rows in DynamoDB, and calls them.
//!
//! A copy is made in three steps: it begins empty, the rows are read and loaded, and then it is ready. Writers add their
//! changes to it from the beginning on, and rows are read after that, so it misses no change. A small round is copied within
//! a request. A large one is copied by messages, part by part.

use crate::App;
use std::collections::HashMap;
use std::time::Duration;

use super::items::{Row, Rows, StoredBoard, all_rows};
use crate::boards::messages::RebuildBoard;
use crate::rankings::messages::RebuildRanking;
use crate::rankings::rows;
use fanfold_core::board::{BoardError, BoardSettings, MergeBy, MergeSource, Merged, Round};
use fanfold_core::limits::{
    BOARD_BATCH_MAX, BOARD_COPY_KEPT, BOARD_LOAD_ROWS, BOARD_MERGED_EVERY, BOARD_OUT_ROUNDS_MAX,
    BOARD_PARTS, BOARD_REBUILD_KEPT, BOARD_TIME_LEFT_MIN, BOARD_WRITES_AT_ONCE,
};
use fanfold_core::time::millis;
use fanfold_core::{Board, BoardId, MemberName, RoundId, Scores, Snapshot, Time};
use fanfold_engines::valkey::{
    BoardAnswer, BoardBegun, BoardChange, BoardCommit, BoardLoaded, PutDone, Valkey, Versions,
};
use fanfold_runtime::StoreError;
use fanfold_runtime::clock::{self, Deadline, Stopwatch};
use fanfold_runtime::log::Chain;
use futures::future::{BoxFuture, ready, try_join_all};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};

/// How long Valkey keeps a merge after it was made or used last. Readers get it while the next one is being made.
const BOARD_MERGED_KEPT: Duration = Duration::from_secs(15 * 60);
/// One use of a copy in this many makes Valkey keep it for longer.
const BOARD_KEEP_IN: u64 = 64;

/// What Valkey has a copy of: a round of a board, or a snapshot of a ranking.
pub trait Copied: Send + Sync {
    /// The board in Valkey.
    fn board(&self) -> Board;
    /// How long Valkey keeps the copy after its last use.
    fn kept(&self) -> Duration;
    /// The name of the copy in the list of its bucket, for the audit. `None`: the audit does not compare it.
    fn named(&self) -> Option<String> {
        None
    }
    /// The version of a copy that is made again and again. `None`: the copy has every change.
    fn version(&self) -> Option<Version> {
        None
    }
    /// Another version of it.
    fn with_version(&self, version: u64) -> Self
    where
        Self: Sized;
    /// Sends the order to make the copy with a lease, from a place on.
    fn send_order<'a>(
        &'a self,
        app: &'a App,
        from: Place,
        lease: &'a str,
    ) -> BoxFuture<'a, Result<(), StoreError>>;
    /// What the copy is made from.
    fn sources<'a>(&'a self, app: &'a App, now: Time)
    -> BoxFuture<'a, Result<Sources, StoreError>>;
    /// Removes the rows of some members who fell out of the copy. Returns whether there are others.
    fn remove_out<'a>(&'a self, _: &'a App, _: Time) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(ready(Ok(false)))
    }
}

/// Where a copy continues: in a part, after a member of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The part.
    pub part: u8,
    /// The member after which it continues. `None`: at the beginning of the part.
    pub after: Option<MemberName>,
}

impl Place {
    const FIRST: Self = Self { part: 0, after: None };
}

/// A version of a copy that is made again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version {
    /// Names all versions together.
    pub of: RoundId,
    /// The number of this one. Later ones have greater numbers.
    pub number: u64,
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

impl Copied for Target {
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

    fn sources<'a>(
        &'a self,
        app: &'a App,
        now: Time,
    ) -> BoxFuture<'a, Result<Sources, StoreError>> {
        Box::pin(self.rounds(app, now))
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
    async fn rounds(&self, app: &App, now: Time) -> Result<Sources, StoreError> {
        let Some(merge) = &self.board.settings.merge else {
            return Ok(Sources::Round(self.rows().id));
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
        Ok(Sources::Merge { rounds, by: merge.by })
    }
}

/// The name of the copy of a round in the list of its bucket.
pub(super) fn named(board: BoardId, round: Round) -> String {
    format!("{board} {round}")
}

/// Whether a copy was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Made {
    /// It is ready. If this call made it, these are the best ones of the members that fell out.
    Ready(Vec<(MemberName, Scores)>),
    /// A request is making it, so it is soon ready.
    Soon,
    /// Messages make it.
    Queued,
}

/// What a copy is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sources {
    /// The rows of a round.
    Round(RoundId),
    /// The rows of several rounds. Those of one member are merged.
    Merge { rounds: Vec<RoundId>, by: MergeBy },
    /// The likes that a ranking counts.
    Ranking(Snapshot),
}

impl Sources {
    /// The number of queries that read a part.
    fn queries(&self) -> i32 {
        let queries = match self {
            Self::Round(_) => 1,
            Self::Merge { rounds, .. } => rounds.len(),
            Self::Ranking(snapshot) => snapshot.days().len(),
        };
        queries.max(1) as i32
    }
}

/// The waits of a caller who looks again for a copy that another function is making, in ms.
pub(super) const WAITS_MS: [u64; 10] = [10, 20, 40, 80, 150, 200, 250, 250, 250, 250];
/// The waits of a reader if messages make the copy.
const WAITS_QUEUED: usize = 6;

/// Calls a copy, and makes it first if Valkey does not have it. While a version is being made, no other one is begun, and the
/// newest one that is ready answers. `None`: the copy is being made, and did not become ready in time.
///
/// Also returns the version of the copy that answered.
pub async fn call<C: Copied, T, F: Future<Output = Result<BoardAnswer<T>, StoreError>>>(
    app: &App,
    target: C,
    now: Time,
    call: impl Fn(Board) -> F,
) -> Result<Option<(C, T)>, StoreError> {
    let copy = target.board();
    for looked in 0..=WAITS_MS.len() {
        if let BoardAnswer::Ready(answer) = call(copy.clone()).await? {
            keep_at_times(&app.valkey, &target, &copy, now).await;
            return Ok(Some((target, answer)));
        }
        let versions = match target.version() {
            Some(version) => app.valkey.board_versions(version.of).await?,
            None => Versions::default(),
        };
        let made = match is_other_under_way(app, &target, versions, now, &call).await? {
            true => Made::Queued,
            // a function that was making it may have died
            // mutation: board-dead-copy
            false => make(app, &target, now).await?,
        };
        if !matches!(made, Made::Ready(_)) {
            if let Some(ready) = versions.ready.map(|version| target.with_version(version))
                // mutation: board-merged-earlier
                && let BoardAnswer::Ready(answer) = call(ready.board()).await?
            {
                return Ok(Some((ready, answer)));
            }
            let waits = if made == Made::Queued { WAITS_QUEUED } else { WAITS_MS.len() };
            match WAITS_MS.iter().take(waits).nth(looked) {
                Some(wait) => clock::sleep(Duration::from_millis(*wait)).await,
                None => break,
            }
        }
    }
    Ok(None)
}

/// Whether another version of a copy is being made. If it takes longer than the time between two, each would slow the others.
async fn is_other_under_way<
    C: Copied,
    T,
    F: Future<Output = Result<BoardAnswer<T>, StoreError>>,
>(
    app: &App,
    target: &C,
    versions: Versions,
    now: Time,
    call: impl Fn(Board) -> F,
) -> Result<bool, StoreError> {
    let present = target.version().map(|version| version.number);
    // mutation: ranking-one-at-a-time
    let Some(other) = versions.begun.filter(|begun| Some(*begun) != present) else {
        return Ok(false);
    };
    let other = target.with_version(other).board();
    let is_built = matches!(call(other.clone()).await?, BoardAnswer::Building);
    // the function that made it may have died
    // mutation: board-version-lease
    Ok(is_built && app.valkey.has_board_lease(&other, now).await?)
}

/// Makes Valkey keep a copy for longer, once in many calls. If this fails, the copy is made again some day.
async fn keep_at_times(valkey: &Valkey, target: &dyn Copied, copy: &Board, now: Time) {
    if !clock::random().is_multiple_of(BOARD_KEEP_IN) {
        return;
    }
    if let Err(error) = valkey.keep_board(copy, target.named().as_deref(), target.kept(), now).await
    {
        tracing::warn!(error = %Chain(&error), "a board is not kept for longer");
    }
}

/// Makes a copy, unless another function is making it.
pub async fn make(app: &App, target: &dyn Copied, now: Time) -> Result<Made, StoreError> {
    let (copy, lease) = (target.board(), format!("{:016x}", clock::random()));
    match app.valkey.begin_board(&copy, &lease, now).await? {
        BoardBegun::Ready => return Ok(Made::Ready(Vec::new())),
        BoardBegun::Busy => return Ok(Made::Soon),
        BoardBegun::Queued => return Ok(Made::Queued),
        BoardBegun::Begun => {}
    }
    if let Some(version) = target.version() {
        app.valkey.note_begun(version.of, version.number).await?;
    }
    if let Some(named) = target.named() {
        app.valkey.keep_board(&copy, Some(&named), BOARD_REBUILD_KEPT, now).await?;
    }
    let Some(rows) = few_rows(app, &target.sources(app, now).await?).await? else {
        queue(app, target, Place::FIRST, &lease, true, now).await?;
        return Ok(Made::Queued);
    };
    if load(app, &copy, &lease, &rows, now).await? == BoardLoaded::Lost {
        return Ok(Made::Soon);
    }
    let Some(out) = commit(app, target, &copy, &lease, now, Deadline::NONE).await? else {
        return Ok(Made::Soon);
    };
    clear(app, target, &lease, now, 1, Deadline::NONE).await?;
    Ok(Made::Ready(out))
}

/// Sends the order to make a copy, or the rest of it, with a lease for as long as the order may wait.
async fn queue(
    app: &App,
    target: &dyn Copied,
    from: Place,
    lease: &str,
    is_first: bool,
    now: Time,
) -> Result<(), StoreError> {
    match app.valkey.queue_board(&target.board(), lease, is_first, now).await? {
        BoardLoaded::Done => target.send_order(app, from, lease).await,
        BoardLoaded::Lost => Ok(()),
    }
}

/// Continues to make the copy of a large round.
pub async fn continue_round(
    app: &App,
    order: &RebuildBoard,
    now: Time,
    deadline: Deadline,
) -> Result<(), StoreError> {
    let board = app.boards.board(order.board).await?;
    let Some(board) = board.filter(|board| board.token == order.token) else { return Ok(()) };
    let target = Target { board, round: order.round, version: order.version };
    let from = Place { part: order.part, after: order.after.clone() };
    continue_copy(app, &target, from, &order.lease, now, deadline).await
}

/// Continues to make the snapshot of a ranking of very many likes.
pub async fn continue_ranking(
    app: &App,
    order: &RebuildRanking,
    now: Time,
    deadline: Deadline,
) -> Result<(), StoreError> {
    let from = Place { part: order.part, after: None };
    continue_copy(app, &order.snapshot(), from, &order.lease, now, deadline).await
}

/// Continues to make a copy from a place on, with a lease, as far as the deadline allows. Another message does the rest.
async fn continue_copy(
    app: &App,
    target: &dyn Copied,
    from: Place,
    lease: &str,
    now: Time,
    deadline: Deadline,
) -> Result<(), StoreError> {
    let copy = target.board();
    // the first message alone: a later one must not begin with an empty copy
    // mutation: board-continues
    if from == Place::FIRST {
        match app.valkey.take_board(&copy, lease, now).await? {
            BoardBegun::Begun => {}
            BoardBegun::Busy | BoardBegun::Queued => return Ok(()),
            BoardBegun::Ready => return clear_all(app, target, lease, now, deadline).await,
        }
    }
    let sources = target.sources(app, now).await?;
    let (mut place, mut longest) = (from, Duration::ZERO);
    loop {
        let step = Stopwatch::start();
        let next = match load_some(app, &copy, &sources, &place, lease, now).await? {
            Loaded::Lost => {
                tracing::info!(copy = %copy.id, part = place.part, "the copy of a board was lost");
                // or a function that died has made it ready
                return clear_all(app, target, lease, now, deadline).await;
            }
            Loaded::UpTo(member) => Place { part: place.part, after: Some(member) },
            Loaded::Part if place.part + 1 == BOARD_PARTS => break,
            Loaded::Part => Place { part: place.part + 1, after: None },
        };
        place = next;
        longest = longest.max(step.elapsed());
        // a function that is stopped in the middle would repeat the same work in vain
        // mutation: board-time-left
        if deadline.is_within(BOARD_TIME_LEFT_MIN.max(2 * longest)) {
            return queue(app, target, place, lease, false, now).await;
        }
    }
    match commit(app, target, &copy, lease, now, deadline).await? {
        Some(_) => clear_all(app, target, lease, now, deadline).await,
        // the next message loads the last page again, and continues to remove members
        None => queue(app, target, place, lease, false, now).await,
    }
}

/// Makes a copy ready. Returns the best ones of the members that fell out. `None`: somebody else is making the copy, or the
/// deadline is near and members above the limit are left.
async fn commit(
    app: &App,
    target: &dyn Copied,
    copy: &Board,
    lease: &str,
    now: Time,
    deadline: Deadline,
) -> Result<Option<Vec<(MemberName, Scores)>>, StoreError> {
    let mut out = Vec::new();
    loop {
        let (mut fallen, is_done) = match app.valkey.commit_board(copy, lease, now).await? {
            BoardCommit::Done(fallen) => (fallen, true),
            BoardCommit::More(fallen) => (fallen, false),
            BoardCommit::Lost => return Ok(None),
        };
        // each call removes the worst members that are left
        fallen.append(&mut out);
        fallen.truncate(BOARD_BATCH_MAX);
        out = fallen;
        if is_done {
            break;
        }
        if deadline.is_within(BOARD_TIME_LEFT_MIN) {
            return Ok(None);
        }
    }
    let named = target.named();
    tracing::info!(copy = %copy.id, board = named, "copied a board");
    app.valkey.keep_board(copy, named.as_deref(), target.kept(), now).await?;
    if let Some(version) = target.version() {
        app.valkey.note_ready(version.of, version.number, target.kept()).await?;
    }
    Ok(Some(out))
}

/// Removes the rows of members who fell out of a copy, as far as the deadline allows. Another message does the rest.
async fn clear_all(
    app: &App,
    target: &dyn Copied,
    lease: &str,
    now: Time,
    deadline: Deadline,
) -> Result<(), StoreError> {
    clear(app, target, lease, now, BOARD_OUT_ROUNDS_MAX, deadline).await
}

/// Removes the rows of members who fell out of a copy, in at most this many rounds. The order to make the copy, which is ready,
/// does the rest.
async fn clear(
    app: &App,
    target: &dyn Copied,
    lease: &str,
    now: Time,
    rounds: u32,
    deadline: Deadline,
) -> Result<(), StoreError> {
    for _ in 0..rounds {
        if !target.remove_out(app, now).await? {
            return Ok(());
        }
        if deadline.is_within(BOARD_TIME_LEFT_MIN) {
            break;
        }
    }
    // mutation: board-out-rest
    target.send_order(app, Place::FIRST, lease).await
}

/// All rows of a small copy. `None`: a part has too many rows for a request.
async fn few_rows(app: &App, sources: &Sources) -> Result<Option<Vec<BoardChange>>, StoreError> {
    // mutation: board-rows-shared
    let limit = (app.settings.rows_in_request / sources.queries()).max(1);
    let parts = (0..BOARD_PARTS).map(|part| part_of(app, sources, part, Some(limit)));
    let parts: Option<Vec<_>> = try_join_all(parts).await?.into_iter().collect();
    Ok(parts.map(|parts| parts.into_iter().flatten().collect()))
}

/// The rows of one part of a copy. `None`: a page with at most `limit` rows is not the last one.
async fn part_of(
    app: &App,
    sources: &Sources,
    part: u8,
    limit: Option<i32>,
) -> Result<Option<Vec<BoardChange>>, StoreError> {
    match sources {
        Sources::Round(round) => {
            let rows = rows_of(app, *round, part, limit).await?;
            Ok(rows.map(|rows| rows.into_iter().map(change).collect()))
        }
        Sources::Merge { rounds, by } => merged(app, rounds, *by, part, limit).await,
        Sources::Ranking(snapshot) => {
            rows::part((&app.boards, &app.users), *snapshot, part, limit).await
        }
    }
}

/// What was loaded of a part.
enum Loaded {
    /// The rest of it.
    Part,
    /// The rows up to this member.
    UpTo(MemberName),
    /// Nothing: Valkey has lost the copy, or somebody else has the lease.
    Lost,
}

/// Loads a page of a part of a round into a copy, or a whole part of what is computed from several rows.
async fn load_some(
    app: &App,
    copy: &Board,
    sources: &Sources,
    Place { part, after }: &Place,
    lease: &str,
    now: Time,
) -> Result<Loaded, StoreError> {
    let (rows, up_to) = match sources {
        Sources::Round(round) => {
            let after = after.as_ref().map(|member| member.to_string());
            let page = app.boards.page(*round, *part, after, None).await?;
            let unread = |error: BoardError| StoreError::Item {
                doing: "reading the scores of a board",
                source: error.into(),
            };
            // mutation: board-pages
            let up_to = page.next_after.map(|member| member.parse().map_err(unread)).transpose()?;
            (page.rows.into_iter().map(change).collect(), up_to)
        }
        _ => (part_of(app, sources, *part, None).await?.unwrap_or_default(), None),
    };
    if load(app, copy, lease, &rows, now).await? == BoardLoaded::Lost {
        return Ok(Loaded::Lost);
    }
    Ok(up_to.map_or(Loaded::Part, Loaded::UpTo))
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

async fn load(
    app: &App,
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

/// A row as a change of a copy.
fn change(row: Row) -> BoardChange {
    BoardChange { member: row.member, revision: row.revision, scores: row.scores }
}

/// Makes a copy equal to the rows of these members. Also removes the rows of some members who fell out of the copy. The answer
/// names those that are left.
pub async fn place(
    app: &App,
    target: &Target,
    rows: Vec<Row>,
    now: Time,
) -> Result<BoardAnswer<PutDone>, StoreError> {
    let changes: Vec<BoardChange> = rows.into_iter().map(change).collect();
    let copy = target.copy();
    let mut answer = app.valkey.put_on_board(&copy, &changes, now).await?;
    if let BoardAnswer::Ready(done) = &mut answer {
        keep_at_times(&app.valkey, target, &copy, now).await;
        let fallen = std::mem::take(&mut done.fallen);
        done.fallen = remove_fallen(app, target, fallen, now).await?;
    }
    Ok(answer)
}

/// Removes the rows of some members who fell out of a copy. Returns whether there are others.
pub(super) async fn has_fallen(app: &App, target: &Target, now: Time) -> Result<bool, StoreError> {
    let done = app.valkey.put_on_board(&target.copy(), &[], now).await?.ready();
    let fallen = done.map(|done| done.fallen).unwrap_or_default();
    Ok(!remove_fallen(app, target, fallen, now).await?.is_empty())
}

/// Removes the rows of members who fell out of a copy. The copy names them until it has their removal, so that a function that
/// dies here leaves nothing behind. Returns other members who fell out.
async fn remove_fallen(
    app: &App,
    target: &Target,
    fallen: Vec<(MemberName, u64)>,
    now: Time,
) -> Result<Vec<(MemberName, u64)>, StoreError> {
    if fallen.is_empty() {
        return Ok(fallen);
    }
    let rows = target.rows();
    let removals = fallen
        .iter()
        .map(|(member, revision)| app.boards.remove_fallen(rows, member, *revision, now));
    let removals: Vec<_> = removals.collect();
    let removed: Vec<bool> =
        stream::iter(removals).buffered(BOARD_WRITES_AT_ONCE).try_collect().await?;
    tracing::info!(
        board = %target.board.id,
        members = removed.iter().filter(|removed| **removed).count(),
        "members fell out of a board"
    );
    let members: Vec<MemberName> = fallen.iter().map(|(member, _)| member.clone()).collect();
    let present = app.boards.rows_of(rows, &members).await?;
    let changes = fallen.into_iter().zip(present).map(|((member, revision), row)| match row {
        Some(row) => change(row),
        // the tombstone has expired
        None => BoardChange { member, revision: revision + 1, scores: None },
    });
    let changes: Vec<BoardChange> = changes.collect();
    let answer = app.valkey.put_on_board(&target.copy(), &changes, now).await?;
    Ok(answer.ready().map(|done| done.fallen).unwrap_or_default())
}
