//! Make, change, list and delete a board.

use std::collections::HashSet;

use fanfold_core::board::{BoardSettings, MergeOf, Period, Round};
use fanfold_core::id::Identity;
use fanfold_core::kinds::LimitKind;
use fanfold_core::limits::{
    BOARD_KEPT_DAYS_MAX, BOARD_LIMIT_MAX, BOARD_MERGE_MAX, BOARD_WRITERS_MAX, BOARDS_MAX, TRIES_MAX,
};
use fanfold_core::{BoardId, BoardName, Time, UserId};
use fanfold_engines::card::changed;
use fanfold_engines::outbox::announced_after;
use fanfold_engines::valkey::CardId;
use fanfold_runtime::retry::pause;
use fanfold_runtime::{StoreError, clock};

use super::BoardRef;
use super::items::{BoardEnd, BoardPut, StoredBoard};
use crate::boards::messages::BoardChanged;
use crate::limit::within_limit;
use crate::people::must_belong_to;
use crate::{App, Error};

/// Makes a board of the caller, or changes the settings of the one with this name. Also returns whether it is new.
///
/// Fails with [`Error::BoardSettings`] if a setting is not allowed, with [`Error::BoardFixed`] if a setting cannot change,
/// with [`Error::BoardsLimit`] if the caller has too many boards, and with [`Error::ProfileMissing`],
/// [`Error::IdentityClash`] or [`Error::TooManyRequests`].
pub async fn put(
    app: &App,
    caller: &Identity,
    name: &BoardName,
    settings: BoardSettings,
    now: Time,
) -> Result<(StoredBoard, bool), Error> {
    let id = BoardId::of(caller.user(), name);
    check(&settings)?;
    let reads =
        async { futures::try_join!(app.users.profile(caller.user()), app.boards.board(id)) };
    let reads =
        within_limit(&app.valkey, app.limits.of(LimitKind::Board), caller.user(), now, reads);
    let (profile, mut old) = reads.await?;
    must_belong_to(&profile.ok_or(Error::ProfileMissing)?, caller)?;
    if let (None, Some(merge)) = (&old, &settings.merge) {
        check_sources(app, merge, settings.orders.as_slice().len(), now).await?;
    }
    for tried in 0..TRIES_MAX {
        let new = match &old {
            Some(old) if old.name != *name => {
                return Err(Error::BoardSettings(
                    "this name clashes with another board; choose another name",
                ));
            }
            Some(old) if !settings.can_follow(&old.settings) => return Err(Error::BoardFixed),
            // a repeated request
            Some(old) if old.settings == settings => {
                changed(&app.valkey, &[CardId::board(id)]).await;
                return Ok((old.clone(), false));
            }
            Some(old) => old.with(settings.clone()),
            None => {
                let token = format!("{:016x}", clock::random());
                StoredBoard::new(caller, name.clone(), settings.clone(), token, now)
            }
        };
        let commit = |sent| app.boards.put_board(sent, &app.users, caller, old.as_ref(), &new);
        match announced_after(&app.outbox, &event(&new), app.settings.event_delay, commit).await? {
            BoardPut::Done => {
                changed(&app.valkey, &[CardId::board(id)]).await;
                tracing::info!(board = %id, revision = new.revision, "board put");
                return Ok((new, old.is_none()));
            }
            BoardPut::Raced => pause(tried).await,
            BoardPut::Refused => {
                let profile = app.users.profile(caller.user()).await?;
                must_belong_to(&profile.ok_or(Error::ProfileMissing)?, caller)?;
                return Err(Error::BoardsLimit { max: BOARDS_MAX });
            }
        }
        old = app.boards.board(id).await?;
    }
    Err(StoreError::Unsettled { what: "the board" }.into())
}

/// The event of a change of a board. Its handler looks for rounds that are not older than any that the board may have.
pub(crate) fn event(board: &StoredBoard) -> BoardChanged {
    let first = board.settings.round(board.created_at);
    BoardChanged {
        board: board.id,
        token: board.token.clone(),
        period: board.settings.period,
        first,
        layout: board.layout,
    }
}

/// The boards of a user, by name.
pub async fn list(app: &App, owner: UserId) -> Result<Vec<StoredBoard>, Error> {
    Ok(app.boards.of_owner(owner).await?)
}

/// Deletes a board of the caller. Its scores are removed later. Fails with [`Error::NoSuchBoard`] if there is none.
pub async fn delete(
    app: &App,
    caller: &Identity,
    name: &BoardName,
    now: Time,
) -> Result<(), Error> {
    let board = BoardRef { owner: caller.user(), name: name.clone(), day: None };
    let id = BoardId::of(board.owner, name);
    let read = app.boards.board(id);
    let read = within_limit(&app.valkey, app.limits.of(LimitKind::Board), caller.user(), now, read);
    let mut old = read.await?;
    for tried in 0..TRIES_MAX {
        let found = old.filter(|old| old.name == *name).ok_or_else(|| board.missing())?;
        if !found.is_of(caller) {
            return Err(Error::IdentityClash);
        }
        let commit = |sent| app.boards.end_board(sent, &found, BoardEnd::Deleted(&app.users));
        match announced_after(&app.outbox, &event(&found), app.settings.event_delay, commit).await?
        {
            BoardPut::Done => {
                changed(&app.valkey, &[CardId::board(id)]).await;
                tracing::info!(board = %id, "board deleted");
                return Ok(());
            }
            BoardPut::Raced => pause(tried).await,
            // the caller is being dropped, which removes the boards
            BoardPut::Refused => return Err(Error::ProfileMissing),
        }
        old = app.boards.board(id).await?;
    }
    Err(StoreError::Unsettled { what: "the board" }.into())
}

/// Checks the bounds of settings.
fn check(settings: &BoardSettings) -> Result<(), Error> {
    let refused = |text| Err(Error::BoardSettings(text));
    let writers: HashSet<&UserId> = settings.writers.iter().collect();
    if settings.limit.is_some_and(|limit| !(1..=BOARD_LIMIT_MAX).contains(&limit)) {
        return refused("limit must be from 1 to 10000000");
    }
    if settings.kept_days > BOARD_KEPT_DAYS_MAX {
        return refused("kept_days must be from 0 to 400");
    }
    if settings.writers.len() > BOARD_WRITERS_MAX || writers.len() < settings.writers.len() {
        return refused("writers must be at most 100 different users");
    }
    let Some(merge) = &settings.merge else { return Ok(()) };
    if merge.boards.is_empty() || merge.boards.len() > BOARD_MERGE_MAX {
        return refused("a board is merged from 1 to 10 boards");
    }
    if settings.period != Period::All || settings.open || !settings.writers.is_empty() {
        return refused("a merged board has no period and no writers");
    }
    Ok(())
}

/// Checks that the boards to merge exist and have the same number of scores.
async fn check_sources(app: &App, merge: &MergeOf, scores: usize, now: Time) -> Result<(), Error> {
    let found = app.boards.sources(merge).await?;
    let mut rounds: Vec<(BoardId, Option<Round>)> = Vec::new();
    for (source, found) in merge.boards.iter().zip(found) {
        let Some(found) = found else {
            return Err(Error::NoSuchBoard { owner: source.owner, name: source.name.clone() });
        };
        if found.settings.merge.is_some() {
            return Err(Error::BoardSettings("a merged board cannot be merged again"));
        }
        if found.settings.orders.as_slice().len() != scores {
            return Err(Error::BoardSettings(
                "all merged boards must have the same number of scores",
            ));
        }
        // two days of one period name one round, and without periods each day does
        let round = source.day.map(|day| found.settings.period.round(day));
        let round = round.filter(|round| *round != Round::ALL);
        // without a day, it is the present round, which will be each later one
        let present = found.settings.round(now);
        let is_named = |(id, other): &(BoardId, Option<Round>)| {
            let later = round.max(*other).is_some_and(|later| later >= present);
            *id == found.id && (round == *other || round.min(*other).is_none() && later)
        };
        if rounds.iter().any(is_named) {
            return Err(Error::BoardSettings("merge must name each period of a board once"));
        }
        rounds.push((found.id, round));
    }
    Ok(())
}
