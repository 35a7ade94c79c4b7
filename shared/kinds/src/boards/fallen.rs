//! Places members on copies, and removes the rows of those who fell out.

use fanfold_core::limits::BOARD_WRITES_AT_ONCE;
use fanfold_core::{MemberName, Time};
use fanfold_engines::rank::keep_at_times;
use fanfold_engines::valkey::{BoardAnswer, BoardChange, PutDone};
use fanfold_runtime::StoreError;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};

use super::items::Row;
use super::round::BoardRound;
use super::source::change;
use crate::App;

/// Makes a copy equal to the rows of these members. Also removes the rows of some members who fell out of the copy. The answer
/// names those that are left.
pub async fn place(
    app: &App,
    target: &BoardRound,
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
pub(super) async fn has_fallen(
    app: &App,
    target: &BoardRound,
    now: Time,
) -> Result<bool, StoreError> {
    let done = app.valkey.put_on_board(&target.copy(), &[], now).await?.ready();
    let fallen = done.map(|done| done.fallen).unwrap_or_default();
    Ok(!remove_fallen(app, target, fallen, now).await?.is_empty())
}

/// Removes the rows of members who fell out of a copy. The copy names them until it has their removal, so that a function that
/// dies here leaves nothing behind. Returns other members who fell out.
async fn remove_fallen(
    app: &App,
    target: &BoardRound,
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
