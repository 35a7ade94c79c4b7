//! Ranks, pages, ranges and percentiles of a round. Each answer shows one state of the copy in Valkey.

use std::collections::HashSet;

use fanfold_core::limits::BOARD_BATCH_MAX;
use fanfold_core::{Board, MemberName, Scores, Time};
use fanfold_engines::rank::call;
use fanfold_engines::valkey::{BoardPage, PageOf, Ranked, Standing};

use super::round::BoardRound;
use super::{BoardRef, meant};
use crate::{App, Error};

/// A page of a round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoundPage {
    /// The round.
    pub target: BoardRound,
    /// The page.
    pub page: BoardPage,
}

/// Some members of a round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoundStandings {
    /// The round.
    pub target: BoardRound,
    /// The number of members of the round.
    pub members: u64,
    /// The standing of each member that was asked for. `None`: the member is not on the board.
    pub standings: Vec<(MemberName, Option<MemberStanding>)>,
}

/// The standing of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemberStanding {
    /// The scores.
    pub scores: Scores,
    /// The rank among all members.
    pub rank: u64,
    /// The rank among the members that were asked for.
    pub rank_among: u64,
    /// The number of members with worse or equal scores, the member included.
    pub not_better: u64,
}

/// Reads a page. Fails with [`Error::NoSuchBoard`], [`Error::NoSuchRound`], with [`Error::NoSuchMember`] if the page is around
/// a member who is not on the board, and with [`Error::BoardBuilding`] while the board is being copied.
pub async fn page(
    app: &App,
    board: &BoardRef,
    page: PageOf<'_>,
    now: Time,
) -> Result<RoundPage, Error> {
    let target = meant(app, board, now).await?;
    let valkey = &app.valkey;
    let ask = |copy: Board| async move { valkey.board_page(&copy, page).await };
    let answer = call(app.copier(), target, now, ask).await?;
    let (target, shown) = answer.ok_or(Error::BoardBuilding)?;
    match shown {
        Ranked::Page(page) => Ok(RoundPage { target, page }),
        Ranked::Unknown => match page {
            PageOf::Around { member, .. } => Err(Error::NoSuchMember(member.clone())),
            _ => Err(Error::BoardBuilding),
        },
    }
}

/// Reads the standings of at most [`BOARD_BATCH_MAX`] different members. Fails with [`Error::NoSuchBoard`], [`Error::NoSuchRound`], and
/// with [`Error::BoardBuilding`] while the board is being copied.
pub async fn standings(
    app: &App,
    board: &BoardRef,
    members: &[MemberName],
    now: Time,
) -> Result<RoundStandings, Error> {
    let different: HashSet<&MemberName> = members.iter().collect();
    if members.is_empty() || members.len() > BOARD_BATCH_MAX || different.len() < members.len() {
        return Err(Error::Members { max: BOARD_BATCH_MAX });
    }
    let target = meant(app, board, now).await?;
    let valkey = &app.valkey;
    let ask = |copy: Board| async move { valkey.board_standings(&copy, members).await };
    let answer = call(app.copier(), target, now, ask).await?;
    let (target, found) = answer.ok_or(Error::BoardBuilding)?;
    let on_board = members.iter().zip(&found.standings);
    let on_board =
        on_board.filter_map(|(member, standing)| Some((member.clone(), (*standing)?.scores)));
    let on_board: Vec<(MemberName, Scores)> = on_board.collect();
    let mut among = target.copy().ranks_among(&on_board).into_iter();
    let of = |standing: Standing, rank_among| MemberStanding {
        scores: standing.scores,
        rank: standing.rank,
        rank_among,
        not_better: standing.percentile(found.members).0,
    };
    let standings = members.iter().zip(&found.standings).map(|(member, standing)| {
        let standing = standing.map(|standing| of(standing, among.next().unwrap_or_default()));
        (member.clone(), standing)
    });
    let standings = standings.collect();
    Ok(RoundStandings { members: found.members, standings, target })
}
