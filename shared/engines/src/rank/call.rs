//! Calls copies.

use std::time::Duration;

use fanfold_core::{Board, Time};
use fanfold_runtime::log::Chain;
use fanfold_runtime::{StoreError, clock};

use super::copied::{Copied, Copier, Made};
use super::make::make;
use crate::valkey::{BoardAnswer, Valkey, Versions};

/// One use of a copy in this many makes Valkey keep it for longer.
const BOARD_KEEP_IN: u64 = 64;

/// The waits of a caller who looks again for a copy that another function is making, in ms.
pub const WAITS_MS: [u64; 10] = [10, 20, 40, 80, 150, 200, 250, 250, 250, 250];
/// The waits of a reader if messages make the copy.
const WAITS_QUEUED: usize = 6;

/// Calls a copy, and makes it first if Valkey does not have it. While a version is being made, no other one is begun, and the
/// newest one that is ready answers. `None`: the copy is being made, and did not become ready in time.
///
/// Also returns the version of the copy that answered.
pub async fn call<
    S: Sync,
    C: Copied<S>,
    T,
    F: Future<Output = Result<BoardAnswer<T>, StoreError>>,
>(
    copier: Copier<'_, S>,
    target: C,
    now: Time,
    call: impl Fn(Board) -> F,
) -> Result<Option<(C, T)>, StoreError> {
    let copy = target.board();
    for looked in 0..=WAITS_MS.len() {
        if let BoardAnswer::Ready(answer) = call(copy.clone()).await? {
            keep_at_times(copier.valkey, &target, &copy, now).await;
            return Ok(Some((target, answer)));
        }
        let versions = match target.version() {
            Some(version) => copier.valkey.board_versions(version.of).await?,
            None => Versions::default(),
        };
        let made = match is_other_under_way(copier, &target, versions, now, &call).await? {
            true => Made::Queued,
            // a function that was making it may have died
            // mutation: board-dead-copy
            false => make(copier, &target, now).await?,
        };
        if !matches!(made, Made::Ready(_)) {
            if let Some(ready) = versions.ready.map(|version| target.with_version(version))
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
    S: Sync,
    C: Copied<S>,
    T,
    F: Future<Output = Result<BoardAnswer<T>, StoreError>>,
>(
    copier: Copier<'_, S>,
    target: &C,
    versions: Versions,
    now: Time,
    call: impl Fn(Board) -> F,
) -> Result<bool, StoreError> {
    let present = target.version().map(|version| version.number);
    let Some(other) = versions.begun.filter(|begun| Some(*begun) != present) else {
        return Ok(false);
    };
    let other = target.with_version(other).board();
    let is_built = matches!(call(other.clone()).await?, BoardAnswer::Building);
    // the function that made it may have died
    Ok(is_built && copier.valkey.has_board_lease(&other, now).await?)
}

/// Makes Valkey keep a copy for longer, once in many calls. If this fails, the copy is made again some day.
pub async fn keep_at_times<S: Sync>(
    valkey: &Valkey,
    target: &dyn Copied<S>,
    copy: &Board,
    now: Time,
) {
    if !clock::random().is_multiple_of(BOARD_KEEP_IN) {
        return;
    }
    if let Err(error) = valkey.keep_board(copy, target.named().as_deref(), target.kept(), now).await
    {
        tracing::warn!(error = %Chain(&error), "a board is not kept for longer");
    }
}
