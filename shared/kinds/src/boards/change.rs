//! Set, add to and remove scores.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use fanfold_core::board::{BoardError, Round};
use fanfold_core::id::Identity;
use fanfold_core::kinds::LimitKind;
use fanfold_core::limits::{BOARD_BATCH_MAX, BOARD_WRITES_AT_ONCE};
use fanfold_core::{MemberName, Scores, Time};
use fanfold_engines::outbox::announced_after;
use fanfold_engines::rank::{self, WAITS_MS, make};
use fanfold_engines::valkey::BoardAnswer;
use fanfold_runtime::log::Chain;
use fanfold_runtime::sqs::Announced;
use fanfold_runtime::{StoreError, clock};
use futures::future::{try_join, try_join_all};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};

use super::fallen::place;
use super::items::{Added, Addition, Row, ScoreKey, StoredBoard};
use super::round::BoardRound;
use super::{BoardRef, find};
use crate::boards::messages::ScoresChanged;
use crate::limit::all_within_limit;
use crate::people::must_belong_to;
use crate::{App, Error};

/// A change of the scores of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScoreChange {
    /// The member.
    pub member: MemberName,
    /// What changes.
    pub what: What,
}

/// What changes of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// It has these scores.
    Set(Scores),
    /// It has these scores if they are better than the present ones.
    SetIfBetter(Scores),
    /// Its scores grow by these. A new member begins with zeros.
    Add(Scores),
    /// It is removed.
    Remove,
}

impl What {
    fn scores(&self) -> Option<&Scores> {
        match self {
            Self::Set(scores) | Self::SetIfBetter(scores) | Self::Add(scores) => Some(scores),
            Self::Remove => None,
        }
    }
}

/// The result of the change of one member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScoreOutcome {
    /// The scores of the member after all changes, and its rank if it is known.
    Placed { scores: Scores, rank: Option<u64> },
    /// The member is not on the board: it was removed, or it fell out because of the limit.
    Gone,
    /// The member to remove was not on the board.
    Unknown,
    /// A sum would not be a 64-bit integer. The scores are unchanged.
    Overflow,
    /// The `Idempotency-Key` was used for another addition. The scores are unchanged.
    KeyReused,
}

/// The result of changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// The round. An addition that is repeated with its `Idempotency-Key` can have an earlier one.
    pub target: BoardRound,
    /// The result for each member, in the order of the changes.
    pub outcomes: Vec<(MemberName, ScoreOutcome)>,
    /// The number of members. `None`: the ranks are not known now. The changes are made.
    pub members: Option<u64>,
    /// The members that fell out because of the limit.
    pub out: Vec<MemberName>,
}

/// Changes the scores of at most [`BOARD_BATCH_MAX`] different members of the present round. Each change is made or not, by
/// itself. If a function dies meanwhile, the event of the changes corrects the ranks.
///
/// Fails with [`Error::NoSuchBoard`], with [`Error::NotAWriter`] if the caller may not change the scores, with
/// [`Error::BoardMerged`], with [`Error::Scores`] if a change has another number of scores than the board, with
/// [`Error::ProfileMissing`], [`Error::IdentityClash`] or [`Error::TooManyRequests`].
pub async fn change(
    app: &App,
    caller: &Identity,
    board: &BoardRef,
    changes: &[ScoreChange],
    key: Option<&str>,
    now: Time,
) -> Result<Changed, Error> {
    let members: HashSet<&MemberName> = changes.iter().map(|change| &change.member).collect();
    if changes.is_empty() || changes.len() > BOARD_BATCH_MAX || members.len() < changes.len() {
        return Err(Error::Members { max: BOARD_BATCH_MAX });
    }
    let found = find(app, board, now);
    let (valkey, count) = (&app.valkey, changes.len() as u64);
    let limited =
        all_within_limit(valkey, app.limits.of(LimitKind::Board), caller.user(), count, now, found);
    let found = limited.await?;
    may_write(app, caller, &found).await?;
    let width = found.settings.orders.as_slice().len();
    let fits =
        |change: &ScoreChange| change.what.scores().is_none_or(|own| own.as_slice().len() == width);
    if !changes.iter().all(fits) {
        return Err(Error::Scores(BoardError::Scores));
    }
    let round = found.settings.round(now);
    let target = BoardRound::new(found, round, now);
    let members: Vec<MemberName> = changes.iter().map(|change| change.member.clone()).collect();
    let event = event(&target, members.clone());
    let commit = |sent| commit(app, caller, &target, changes, key, sent, now);
    let made = announced_after(&app.outbox, &event, app.settings.event_delay, commit).await?;
    let mut all = of_rounds(app, board, &target, &members, &made, now).await?;
    let mut outcomes = Vec::new();
    for (member, made) in members.into_iter().zip(made) {
        let found = all.iter_mut().find_map(|changed| changed.outcomes.remove(&member));
        let outcome = match made {
            Written::Refused(outcome) => outcome,
            Written::In(_) => found.unwrap_or(ScoreOutcome::Gone),
        };
        outcomes.push((member, outcome));
    }
    let members = match all.iter().all(|changed| changed.members.is_some()) {
        true => all.last().and_then(|changed| changed.members),
        false => None,
    };
    let out = all.iter_mut().flat_map(|changed| std::mem::take(&mut changed.out)).collect();
    let target = all.pop().map_or(target, |changed| changed.target);
    Ok(Changed { target, outcomes, members, out })
}

/// What was made of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Written {
    /// It is made, in this round. With an `Idempotency-Key`, an earlier request may have made it.
    In(Round),
    /// It is not made.
    Refused(ScoreOutcome),
}

/// Places the changed members of each round on its copy: nearly always those of the present round alone, which is the last.
async fn of_rounds(
    app: &App,
    board: &BoardRef,
    target: &BoardRound,
    members: &[MemberName],
    made: &[Written],
    now: Time,
) -> Result<Vec<InRound>, Error> {
    let round = |made: &Written| match made {
        Written::In(round) => *round,
        Written::Refused(_) => target.round,
    };
    let mut by_round: BTreeMap<Round, Vec<MemberName>> = BTreeMap::new();
    for (member, made) in members.iter().zip(made) {
        by_round.entry(round(made)).or_default().push(member.clone());
    }
    let rows = try_join_all(by_round.into_iter().map(async |(round, members)| {
        let rows = app.boards.rows_of(target.board.rows(round), &members).await?;
        Ok::<_, Error>((round, members, rows))
    }));
    // the settings may have changed since the first call, and readers may have made another copy
    // mutation: board-layout-again
    let (rows, found) = try_join(rows, find(app, board, now)).await?;
    if found.token != target.board.token {
        return Err(board.missing());
    }
    let mut all = Vec::new();
    for (round, members, rows) in rows {
        let target = BoardRound::new(found.clone(), round, now);
        all.push(placed(app, target, members, rows, now).await);
    }
    Ok(all)
}

/// The result of the changes of one round.
struct InRound {
    target: BoardRound,
    outcomes: HashMap<MemberName, ScoreOutcome>,
    /// The number of members. `None`: the ranks are not known now.
    members: Option<u64>,
    out: Vec<MemberName>,
}

/// The event of a change of these members.
fn event(target: &BoardRound, members: Vec<MemberName>) -> ScoresChanged {
    let StoredBoard { id, token, .. } = &target.board;
    ScoresChanged { board: *id, token: token.clone(), round: target.round, members }
}

/// Fails if the caller may not change the scores of a board.
async fn may_write(app: &App, caller: &Identity, board: &StoredBoard) -> Result<(), Error> {
    if board.settings.merge.is_some() {
        return Err(Error::BoardMerged);
    }
    // the board has the owner's identity, so that a server of a game does not read its profile with each request
    if board.is_of(caller) {
        return Ok(());
    }
    if board.id.owner == caller.user() {
        return Err(Error::IdentityClash);
    }
    // mutation: board-writers
    if !board.settings.open && !board.settings.writers.contains(&caller.user()) {
        return Err(Error::NotAWriter);
    }
    let profile = app.users.profile(caller.user()).await?;
    must_belong_to(&profile.ok_or(Error::ProfileMissing)?, caller)
}

/// Makes the changes, each by itself. Returns what was made of each.
async fn commit(
    app: &App,
    caller: &Identity,
    target: &BoardRound,
    changes: &[ScoreChange],
    key: Option<&str>,
    sent: Announced<ScoresChanged>,
    now: Time,
) -> Result<Vec<Written>, StoreError> {
    let (boards, rows, sent) = (&app.boards, target.rows(), &sent);
    let orders = &target.board.settings.orders;
    let commits = changes.iter().map(|ScoreChange { member, what }| async move {
        match what {
            What::Set(scores) => {
                boards.set_scores(sent, rows, member, scores, None, now).await?;
            }
            What::SetIfBetter(scores) => {
                boards.set_scores(sent, rows, member, scores, Some(orders), now).await?;
            }
            What::Add(by) => {
                let key = key.map(|key| {
                    ScoreKey::new(caller.user(), key, &target.board, target.round, member)
                });
                let addition = Addition { member, by: *by, key };
                match boards.add_scores(sent, rows, &addition, now).await? {
                    Added::Done => {}
                    Added::Earlier(round) => return Ok(Written::In(round)),
                    Added::Overflow => return Ok(Written::Refused(ScoreOutcome::Overflow)),
                    Added::KeyReused => return Ok(Written::Refused(ScoreOutcome::KeyReused)),
                }
            }
            What::Remove => {
                if !boards.remove_scores(sent, rows, member, now).await? {
                    return Ok(Written::Refused(ScoreOutcome::Unknown));
                }
            }
        }
        Ok(Written::In(target.round))
    });
    let commits: Vec<_> = commits.collect();
    stream::iter(commits).buffered(BOARD_WRITES_AT_ONCE).try_collect().await
}

/// Places changed members on the copy in Valkey, which is made if Valkey does not have it. If Valkey does not answer, the
/// event of the changes places them later, so this is not an error.
async fn placed(
    app: &App,
    target: BoardRound,
    members: Vec<MemberName>,
    rows: Vec<Option<Row>>,
    now: Time,
) -> InRound {
    let of_rows = |row: &Option<Row>| match row.as_ref().and_then(|row| row.scores) {
        Some(scores) => ScoreOutcome::Placed { scores, rank: None },
        None => ScoreOutcome::Gone,
    };
    let outcomes: Vec<ScoreOutcome> = rows.iter().map(of_rows).collect();
    let done = match ranked(app, &target, rows.iter().flatten().cloned().collect(), now).await {
        Ok(done) => done,
        Err(error) => {
            tracing::warn!(error = %Chain(&error), "scores are ranked later: their event does it");
            None
        }
    };
    let Some(done) = done else {
        let outcomes = members.into_iter().zip(outcomes).collect();
        return InRound { target, outcomes, members: None, out: Vec::new() };
    };
    let mut ranked = done.placed.into_iter();
    let outcomes = members.into_iter().zip(rows).map(|(member, row)| {
        // only members with a row were placed
        let place = row.and_then(|_| ranked.next()).and_then(|placed| placed.place);
        let placed = |(scores, rank)| ScoreOutcome::Placed { scores, rank: Some(rank) };
        (member, place.map_or(ScoreOutcome::Gone, placed))
    });
    let outcomes = outcomes.collect();
    let out = done.out.into_iter().map(|(member, _)| member).collect();
    InRound { target, outcomes, members: Some(done.members), out }
}

/// Places rows on the copy. If another request is making the copy, they are placed again and again until it is ready, which
/// changes nothing if they are there. `None`: messages make the copy, or it takes too long.
async fn ranked(
    app: &App,
    target: &BoardRound,
    rows: Vec<Row>,
    now: Time,
) -> Result<Option<fanfold_engines::valkey::PutDone>, StoreError> {
    let (mut waits, mut fallen) = (WAITS_MS.iter(), Vec::new());
    loop {
        let placed = place(app, target, rows.clone(), now).await?;
        if let BoardAnswer::Ready(mut done) = placed {
            // if this call made the copy, it was made of the rows, with these changes
            done.out.splice(0..0, fallen);
            return Ok(Some(done));
        }
        let made = make(app.copier(), target, now).await?;
        let Some(wait) = waits.next() else { return Ok(None) };
        match made {
            rank::Made::Ready(out) => fallen = out,
            rank::Made::Soon => clock::sleep(Duration::from_millis(*wait)).await,
            rank::Made::Queued => return Ok(None),
        }
    }
}
