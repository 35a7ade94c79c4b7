//! Compares copies of rounds with their rows, for the audit.

use std::collections::{BTreeSet, HashMap};

use fanfold_core::limits::{BOARD_BATCH_MAX, BOARD_OUT_ROUNDS_MAX, BOARD_PARTS};
use fanfold_core::{MemberName, Scores, Time};
use fanfold_engines::valkey::{BoardAnswer, PageOf, Ranked};
use fanfold_runtime::{StoreError, clock};

use super::fallen::{has_fallen, place};
use super::round::BoardRound;
use crate::App;

/// The scores of a member that differ: those of the copy, and those of the rows.
pub type Difference = (Option<Scores>, Option<Scores>);

/// Compares some members of a random part of the rows and some of a random place of the copy. Returns those that differ
/// now; changes that are under way may be among them. `None`: Valkey does not have the copy, or it is being made.
pub async fn differing(
    app: &App,
    target: &BoardRound,
    now: Time,
) -> Result<Option<HashMap<MemberName, Difference>>, StoreError> {
    // first removes members from DynamoDB who fell out, if a function died before it did so
    for _ in 0..BOARD_OUT_ROUNDS_MAX {
        if !has_fallen(app, target, now).await? {
            break;
        }
    }
    let BoardAnswer::Ready(done) = place(app, target, Vec::new(), now).await? else {
        return Ok(None);
    };
    let part = (clock::random() % u64::from(BOARD_PARTS)) as u8;
    let limit = BOARD_BATCH_MAX / 2;
    let rows = app.boards.page(target.rows().id, part, None, Some(limit as i32)).await?.rows;
    let from = 1 + clock::random() % done.members.max(1);
    let page = PageOf::Rank { from, limit: limit as u64 };
    let BoardAnswer::Ready(Ranked::Page(page)) =
        app.valkey.board_page(&target.copy(), page).await?
    else {
        return Ok(None);
    };
    let shown = page.rows.into_iter().map(|row| row.member);
    let wanted: BTreeSet<MemberName> =
        rows.into_iter().map(|row| row.member).chain(shown).collect();
    members(app, target, &wanted.into_iter().collect::<Vec<_>>()).await
}

/// Compares these members, at most [`BOARD_BATCH_MAX`]. Returns those that differ now.
pub async fn members(
    app: &App,
    target: &BoardRound,
    members: &[MemberName],
) -> Result<Option<HashMap<MemberName, Difference>>, StoreError> {
    if members.is_empty() {
        return Ok(Some(HashMap::new()));
    }
    let BoardAnswer::Ready(shown) = app.valkey.board_standings(&target.copy(), members).await?
    else {
        return Ok(None);
    };
    let rows = app.boards.rows_of(target.rows(), members).await?;
    let pairs = members.iter().zip(shown.standings).zip(rows);
    let differing = pairs.filter_map(|((member, standing), row)| {
        let difference = (standing.map(|standing| standing.scores), row.and_then(|row| row.scores));
        (difference.0 != difference.1).then(|| (member.clone(), difference))
    });
    Ok(Some(differing.collect()))
}
