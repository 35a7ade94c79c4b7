//! Ranks of members, pages, ranges and percentiles. Each read is one call of a script, so its answer shows one state.

use fanfold_core::limits::BOARD_BATCH_MAX;
use fanfold_core::{Board, MemberName, Scores};
use fanfold_runtime::error::StoreError;
use redis::{RedisResult, Value};

use super::answer::{BoardAnswer, Fields};
use super::put::{kind, misused};
use crate::valkey::{Valkey, failed, scripts};

/// Scores and ranks of some members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standings {
    /// The number of members of the board.
    pub members: u64,
    /// The standing of each member that was asked for, in the same order. `None`: the member is not on the board.
    pub standings: Vec<Option<Standing>>,
}

/// The scores and the rank of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// The revision of the scores.
    pub revision: u64,
    /// The scores.
    pub scores: Scores,
    /// The rank, of the board's kind.
    pub rank: u64,
    /// The number of members with better scores.
    pub better: u64,
}

impl Standing {
    /// The percentile: the share of members whose scores are worse or equal, the member included. A fraction of the
    /// number of such members and the number of all.
    pub fn percentile(&self, members: u64) -> (u64, u64) {
        (members.saturating_sub(self.better), members)
    }
}

/// A member on a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankedMember {
    /// The rank, of the board's kind.
    pub rank: u64,
    /// The member.
    pub member: MemberName,
    /// The scores.
    pub scores: Scores,
}

/// Members that follow each other, best first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoardPage {
    /// The number of members of the board.
    pub members: u64,
    /// The number of members in the range that was asked for. Without a range, all.
    pub in_range: u64,
    /// The position of the first row, from 1. `None` without rows.
    pub position: Option<u64>,
    /// The rows.
    pub rows: Vec<RankedMember>,
}

/// What a page shows.
#[derive(Debug, Clone, Copy)]
pub enum PageOf<'a> {
    /// Members from the first one on that has this rank (from 1) or a greater one.
    Rank { from: u64, limit: u64 },
    /// A member, and so many members above and below it.
    Around { member: &'a MemberName, above: u64, below: u64 },
    /// Members whose first score is one of these two or between them, without the first `skip` of them.
    Between { scores: (i64, i64), skip: u64, limit: u64 },
    /// The member at a percentile in hundredths of a percent (0 to 10,000), by nearest rank: with `n` members, the one at
    /// the place `percentile * n` from the worst, rounded up; for 0, the worst.
    Percentile(u64),
}

/// What a page shows, or that its member is not on the board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ranked {
    /// The page.
    Page(BoardPage),
    /// The member of [`PageOf::Around`] is not on the board.
    Unknown,
}

impl Ranked {
    /// The page.
    pub fn page(self) -> Option<BoardPage> {
        match self {
            Self::Page(page) => Some(page),
            Self::Unknown => None,
        }
    }
}

impl Valkey {
    /// The scores and ranks of members, at most [`BOARD_BATCH_MAX`].
    pub async fn board_standings(
        &self,
        board: &Board,
        members: &[MemberName],
    ) -> Result<BoardAnswer<Standings>, StoreError> {
        let doing = "reading ranks";
        if members.len() > BOARD_BATCH_MAX {
            return Err(failed(doing)(misused("too many members in one call")));
        }
        let mut script = self.board_call(&scripts::BOARD_RANKS, board);
        script.arg(kind(board));
        for member in members {
            script.arg(member.as_str());
        }
        let answer: Vec<Value> = script.run(&self.link, doing).await?;
        parse_standings(board, members.len(), answer).map_err(failed(doing))
    }

    /// A page of a board, with at most [`BOARD_BATCH_MAX`] members.
    pub async fn board_page(
        &self,
        board: &Board,
        page: PageOf<'_>,
    ) -> Result<BoardAnswer<Ranked>, StoreError> {
        let (most, at_most) = (page.most(), BOARD_BATCH_MAX as u64);
        if most > at_most {
            return Err(failed(PAGE)(misused("too many members on a page")));
        }
        let mut script = self.board_call(&scripts::BOARD_PAGE, board);
        script.arg(kind(board)).arg(board.orders.width());
        match page {
            PageOf::Rank { from, limit } => {
                // scripts calculate with doubles; no rank is so great
                script.arg("rank").arg(from.clamp(1, 1 << 50)).arg(limit);
            }
            PageOf::Around { member, above, below } => {
                script.arg("around").arg(member.as_str()).arg(above).arg(below);
            }
            PageOf::Between { scores: (one, two), skip, limit } => {
                let (from, to) = board.orders.range(one, two);
                script.arg("between").arg(from).arg(to).arg(skip.min(1 << 50)).arg(limit);
            }
            PageOf::Percentile(percentile) => {
                script.arg("percentile").arg(percentile.min(10_000));
            }
        }
        let answer: Vec<Value> = script.run(&self.link, PAGE).await?;
        parse_page(board, answer).map_err(failed(PAGE))
    }
}

const PAGE: &str = "reading a page of a board";

impl PageOf<'_> {
    fn most(&self) -> u64 {
        match self {
            Self::Rank { limit, .. } | Self::Between { limit, .. } => *limit,
            Self::Around { above, below, .. } => above.saturating_add(*below).saturating_add(1),
            Self::Percentile(_) => 1,
        }
    }
}

fn parse_standings(
    board: &Board,
    asked: usize,
    answer: Vec<Value>,
) -> RedisResult<BoardAnswer<Standings>> {
    let mut fields = match Fields::of_ready(answer)? {
        BoardAnswer::Ready(fields) => fields,
        BoardAnswer::Missing => return Ok(BoardAnswer::Missing),
        BoardAnswer::Building => return Ok(BoardAnswer::Building),
    };
    let members = fields.number()?;
    let mut standings = Vec::with_capacity(asked);
    for _ in 0..asked {
        let (revision, scores) = fields.value(board)?;
        let (rank, place) = (fields.number()?, fields.number()?);
        let better = place.saturating_sub(1);
        standings.push(scores.map(|scores| Standing { revision, scores, rank, better }));
    }
    Ok(BoardAnswer::Ready(Standings { members, standings }))
}

fn parse_page(board: &Board, answer: Vec<Value>) -> RedisResult<BoardAnswer<Ranked>> {
    let mut fields = match Fields::of(answer)? {
        BoardAnswer::Ready((word, fields)) => match word.as_str() {
            "ready" => fields,
            "unknown" => return Ok(BoardAnswer::Ready(Ranked::Unknown)),
            other => return Err(crate::valkey::scripts::unknown(other)),
        },
        BoardAnswer::Missing => return Ok(BoardAnswer::Missing),
        BoardAnswer::Building => return Ok(BoardAnswer::Building),
    };
    let (members, in_range) = (fields.number()?, fields.number()?);
    let (first, mut rank, mut list) = (fields.number()?, fields.number()?, fields.list()?);
    let mut rows: Vec<RankedMember> = Vec::new();
    while !list.is_empty() {
        let (member, scores) = list.scored(board)?;
        if let Some(before) = rows.last() {
            let position = first + rows.len() as u64;
            rank = board.ranks.next(rank, before.scores == scores, position);
        }
        rows.push(RankedMember { rank, member, scores });
    }
    let position = (first > 0).then_some(first);
    let page = BoardPage { members, in_range, position, rows };
    Ok(BoardAnswer::Ready(Ranked::Page(page)))
}
