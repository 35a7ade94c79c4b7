//! Handles the events of boards: corrects copies after changes of scores, and removes the scores of boards that are gone.
//!
//! Both events are delivered later than their writer can live, so the commit has come or never will. The handlers read the
//! present state.

use fanfold_core::board::{Round, Zone};
use fanfold_core::limits::{BOARD_KEPT_DAYS_MAX, BOARD_OUT_ROUNDS_MAX, BOARD_TIME_LEFT_MIN};
use fanfold_core::{RoundId, Time};
use fanfold_engines::rank::{Place, continue_copy};
use fanfold_engines::valkey::CardId;
use fanfold_runtime::StoreError;
use fanfold_runtime::clock::Deadline;

use super::fallen::{has_fallen, place};
use super::messages::RebuildBoard;
use super::round::{BoardRound, named};
use crate::App;
use crate::boards::messages::{BoardChanged, ScoresChanged};

/// Layouts of a deleted board whose copies are removed at once. Copies of earlier ones expire.
const BOARD_LAYOUTS_REMOVED: u64 = 10;

/// Makes the copy of a round equal to the present scores of the members that changed. Valkey may have no copy: then there is
/// nothing to do, because a copy is made of the present rows. Also removes the rows of members who fell out, as far as the
/// deadline allows. Another message does the rest. If the board is gone, removes the rows.
pub async fn scores_changed(
    app: &App,
    event: &ScoresChanged,
    now: Time,
    deadline: Deadline,
) -> Result<(), StoreError> {
    let board = app.boards.board(event.board).await?;
    // mutation: board-late-scores
    let Some(board) = board.filter(|board| board.token == event.token) else {
        // the writer had read the board before it was deleted
        let rows = RoundId::of_rows(event.board, &event.token, event.round);
        return app.boards.delete_rows(rows, &event.members).await;
    };
    let target = BoardRound::new(board, event.round, now);
    let rows = app.boards.rows_of(target.rows(), &event.members).await?;
    let rows = rows.into_iter().flatten().collect();
    // mutation: board-event
    let placed = place(app, &target, rows, now).await?.ready();
    let mut is_left = placed.is_some_and(|done| !done.fallen.is_empty());
    for _ in 0..BOARD_OUT_ROUNDS_MAX {
        if !is_left {
            return Ok(());
        }
        if deadline.is_within(BOARD_TIME_LEFT_MIN) {
            break;
        }
        is_left = has_fallen(app, &target, now).await?;
    }
    app.outbox.send(&ScoresChanged { members: Vec::new(), ..event.clone() }).await
}

/// Marks the card of a board that was made, changed or deleted. If the board is gone, removes its scores, as far as the
/// deadline allows. Another message does the rest.
pub async fn board_changed(
    app: &App,
    event: &BoardChanged,
    now: Time,
    deadline: Deadline,
) -> Result<(), StoreError> {
    // mutation: board-card-again
    app.valkey.cards_changed(&[CardId::board(event.board)]).await?;
    let board = app.boards.board(event.board).await?;
    if board.is_some_and(|board| board.token == event.token) {
        return Ok(());
    }
    let (mut round, mut removed) = (Some(first_round(event, now)), 0);
    // in the zone that is ahead of all others
    let last = event.period.round(Zone::utc().day(now).plus_days(1));
    while let Some(this) = round.filter(|round| *round <= last) {
        let rows = RoundId::of_rows(event.board, &event.token, this);
        loop {
            let deleted = app.boards.delete_some(rows).await?;
            removed += deleted;
            if deleted == 0 {
                break;
            }
            if deadline.is_within(BOARD_TIME_LEFT_MIN) {
                return rest(app, event, this).await;
            }
        }
        for layout in event.layout.saturating_sub(BOARD_LAYOUTS_REMOVED)..=event.layout {
            let copy = RoundId::of_copy(event.board, &event.token, this, layout, 0);
            app.valkey.forget_board(copy, &named(event.board, this)).await?;
        }
        round = event.period.next(this);
        if deadline.is_within(BOARD_TIME_LEFT_MIN)
            && let Some(next) = round.filter(|next| *next <= last)
        {
            return rest(app, event, next).await;
        }
    }
    tracing::info!(board = %event.board, removed, "removed the scores of a board that is gone");
    Ok(())
}

/// The first round that may have rows. Rows of earlier ones have expired.
fn first_round(event: &BoardChanged, now: Time) -> Round {
    let oldest = Zone::utc().day(now).minus_days(BOARD_KEPT_DAYS_MAX + 62);
    event.first.max(event.period.round(oldest))
}

async fn rest(app: &App, event: &BoardChanged, first: Round) -> Result<(), StoreError> {
    let rest = BoardChanged { first, ..event.clone() };
    app.outbox.send(&rest).await
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
    let target = BoardRound::at(board, order.round, order.version);
    let from = Place { part: order.part, after: order.after.clone() };
    continue_copy(app.copier(), &target, from, &order.lease, now, deadline).await
}
