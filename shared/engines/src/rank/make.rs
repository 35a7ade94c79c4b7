//! Makes copies.

use std::time::Duration;

use fanfold_core::limits::{
    BOARD_BATCH_MAX, BOARD_LOAD_ROWS, BOARD_OUT_ROUNDS_MAX, BOARD_PARTS, BOARD_REBUILD_KEPT,
    BOARD_TIME_LEFT_MIN,
};
use fanfold_core::{Board, MemberName, Scores, Time};
use fanfold_runtime::StoreError;
use fanfold_runtime::clock::{self, Deadline, Stopwatch};
use futures::future::try_join_all;

use super::copied::{Copied, Copier, Made, Place, RowSource};
use crate::valkey::{BoardBegun, BoardChange, BoardCommit, BoardLoaded, Valkey};

/// Makes a copy, unless another function is making it.
pub async fn make<S: Sync>(
    copier: Copier<'_, S>,
    target: &dyn Copied<S>,
    now: Time,
) -> Result<Made, StoreError> {
    let (copy, lease) = (target.board(), format!("{:016x}", clock::random()));
    match copier.valkey.begin_board(&copy, &lease, now).await? {
        BoardBegun::Ready => return Ok(Made::Ready(Vec::new())),
        BoardBegun::Busy => return Ok(Made::Soon),
        BoardBegun::Queued => return Ok(Made::Queued),
        BoardBegun::Begun => {}
    }
    if let Some(version) = target.version() {
        copier.valkey.note_begun(version.of, version.number).await?;
    }
    if let Some(named) = target.named() {
        copier.valkey.keep_board(&copy, Some(&named), BOARD_REBUILD_KEPT, now).await?;
    }
    let Some(rows) = few_rows(copier, &*target.rows(copier.source, now).await?).await? else {
        queue(copier, target, Place::FIRST, &lease, true, now).await?;
        return Ok(Made::Queued);
    };
    if load(copier.valkey, &copy, &lease, &rows, now).await? == BoardLoaded::Lost {
        return Ok(Made::Soon);
    }
    let Some(out) = commit(copier, target, &copy, &lease, now, Deadline::NONE).await? else {
        return Ok(Made::Soon);
    };
    clear(copier, target, &lease, now, 1, Deadline::NONE).await?;
    Ok(Made::Ready(out))
}

/// Sends the order to make a copy, or the rest of it, with a lease for as long as the order may wait.
async fn queue<S: Sync>(
    copier: Copier<'_, S>,
    target: &dyn Copied<S>,
    from: Place,
    lease: &str,
    is_first: bool,
    now: Time,
) -> Result<(), StoreError> {
    match copier.valkey.queue_board(&target.board(), lease, is_first, now).await? {
        BoardLoaded::Done => target.send_order(copier.source, from, lease).await,
        BoardLoaded::Lost => Ok(()),
    }
}

/// Continues to make a copy from a place on, with a lease, as far as the deadline allows. Another message does the rest.
pub async fn continue_copy<S: Sync>(
    copier: Copier<'_, S>,
    target: &dyn Copied<S>,
    from: Place,
    lease: &str,
    now: Time,
    deadline: Deadline,
) -> Result<(), StoreError> {
    let copy = target.board();
    // the first message alone: a later one must not begin with an empty copy
    // mutation: board-continues
    if from == Place::FIRST {
        match copier.valkey.take_board(&copy, lease, now).await? {
            BoardBegun::Begun => {}
            BoardBegun::Busy | BoardBegun::Queued => return Ok(()),
            BoardBegun::Ready => return clear_all(copier, target, lease, now, deadline).await,
        }
    }
    let rows = target.rows(copier.source, now).await?;
    let (mut place, mut longest) = (from, Duration::ZERO);
    loop {
        let step = Stopwatch::start();
        let next = match load_some(copier, &copy, &*rows, &place, lease, now).await? {
            Gathered::Lost => {
                tracing::info!(copy = %copy.id, part = place.part, "the copy of a board was lost");
                // or a function that died has made it ready
                return clear_all(copier, target, lease, now, deadline).await;
            }
            Gathered::UpTo(member) => Place { part: place.part, after: Some(member) },
            Gathered::Part if place.part + 1 == BOARD_PARTS => break,
            Gathered::Part => Place { part: place.part + 1, after: None },
        };
        place = next;
        longest = longest.max(step.elapsed());
        // a function that is stopped in the middle would repeat the same work in vain
        if deadline.is_within(BOARD_TIME_LEFT_MIN.max(2 * longest)) {
            return queue(copier, target, place, lease, false, now).await;
        }
    }
    match commit(copier, target, &copy, lease, now, deadline).await? {
        Some(_) => clear_all(copier, target, lease, now, deadline).await,
        // the next message loads the last page again, and continues to remove members
        None => queue(copier, target, place, lease, false, now).await,
    }
}

/// Makes a copy ready. Returns the best ones of the members that fell out. `None`: somebody else is making the copy, or the
/// deadline is near and members above the limit are left.
async fn commit<S: Sync>(
    copier: Copier<'_, S>,
    target: &dyn Copied<S>,
    copy: &Board,
    lease: &str,
    now: Time,
    deadline: Deadline,
) -> Result<Option<Vec<(MemberName, Scores)>>, StoreError> {
    let mut out = Vec::new();
    loop {
        let (mut fallen, is_done) = match copier.valkey.commit_board(copy, lease, now).await? {
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
    copier.valkey.keep_board(copy, named.as_deref(), target.kept(), now).await?;
    if let Some(version) = target.version() {
        copier.valkey.note_ready(version.of, version.number, target.kept()).await?;
    }
    Ok(Some(out))
}

/// Removes the rows of members who fell out of a copy, as far as the deadline allows. Another message does the rest.
async fn clear_all<S: Sync>(
    copier: Copier<'_, S>,
    target: &dyn Copied<S>,
    lease: &str,
    now: Time,
    deadline: Deadline,
) -> Result<(), StoreError> {
    clear(copier, target, lease, now, BOARD_OUT_ROUNDS_MAX, deadline).await
}

/// Removes the rows of members who fell out of a copy, in at most this many rounds. The order to make the copy, which is ready,
/// does the rest.
async fn clear<S: Sync>(
    copier: Copier<'_, S>,
    target: &dyn Copied<S>,
    lease: &str,
    now: Time,
    rounds: u32,
    deadline: Deadline,
) -> Result<(), StoreError> {
    for _ in 0..rounds {
        if !target.remove_out(copier.source, now).await? {
            return Ok(());
        }
        if deadline.is_within(BOARD_TIME_LEFT_MIN) {
            break;
        }
    }
    target.send_order(copier.source, Place::FIRST, lease).await
}

/// All rows of a small copy. `None`: a part has too many rows for a request.
async fn few_rows<S: Sync>(
    copier: Copier<'_, S>,
    rows: &dyn RowSource<S>,
) -> Result<Option<Vec<BoardChange>>, StoreError> {
    let limit = (copier.rows_in_request / rows.queries().max(1) as i32).max(1);
    let parts = (0..BOARD_PARTS).map(|part| rows.part(copier.source, part, Some(limit)));
    let parts: Option<Vec<_>> = try_join_all(parts).await?.into_iter().collect();
    Ok(parts.map(|parts| parts.into_iter().flatten().collect()))
}

/// What was loaded of a part.
enum Gathered {
    /// The rest of it.
    Part,
    /// The rows up to this member.
    UpTo(MemberName),
    /// Nothing: Valkey has lost the copy, or somebody else has the lease.
    Lost,
}

/// Loads a page of a part of a round into a copy, or a whole part of what is computed from several rows.
async fn load_some<S: Sync>(
    copier: Copier<'_, S>,
    copy: &Board,
    rows: &dyn RowSource<S>,
    from: &Place,
    lease: &str,
    now: Time,
) -> Result<Gathered, StoreError> {
    let (rows, up_to) = rows.page(copier.source, from).await?;
    if load(copier.valkey, copy, lease, &rows, now).await? == BoardLoaded::Lost {
        return Ok(Gathered::Lost);
    }
    Ok(up_to.map_or(Gathered::Part, Gathered::UpTo))
}

async fn load(
    valkey: &Valkey,
    copy: &Board,
    lease: &str,
    rows: &[BoardChange],
    now: Time,
) -> Result<BoardLoaded, StoreError> {
    for rows in rows.chunks(BOARD_LOAD_ROWS) {
        if valkey.load_board(copy, lease, rows, now).await? == BoardLoaded::Lost {
            return Ok(BoardLoaded::Lost);
        }
    }
    Ok(BoardLoaded::Done)
}
