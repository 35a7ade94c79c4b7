//! What the owner of a board chooses.

use serde::{Deserialize, Serialize};

use super::id::RoundId;
use super::names::BoardName;
use super::period::{Day, Period, Round, Zone};
use super::scores::{Board, MergeBy, Orders, Ranks};
use crate::{Second, Time, UserId};

/// The settings of a board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BoardSettings {
    /// The orders of the scores. They are fixed when the board is made.
    pub orders: Orders,
    /// The kind of ranks.
    pub ranks: Ranks,
    /// The most members of a round. The worst ones fall out. `None`: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// How often the board begins again. It is fixed when the board is made.
    pub period: Period,
    /// The time zone of the periods. It is fixed when the board is made.
    pub zone: Zone,
    /// For how many days a round is kept after its end.
    pub kept_days: u16,
    /// Whether everybody may change the scores.
    pub open: bool,
    /// Users who may change the scores, beside the owner.
    pub writers: Vec<UserId>,
    /// The boards that this one is merged from. Nobody changes the scores of a merged board. They are fixed when the
    /// board is made. `None`: a board with scores of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge: Option<MergeOf>,
}

/// What a board is merged from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MergeOf {
    /// How scores of one member are merged.
    pub by: MergeBy,
    /// The boards.
    pub boards: Vec<MergeSource>,
}

/// A board that another one is merged from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MergeSource {
    /// The owner.
    pub owner: UserId,
    /// The name.
    pub name: BoardName,
    /// A day of the period whose round is merged. `None`: the present round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub day: Option<Day>,
}

impl BoardSettings {
    /// The round at a point in time.
    pub fn round(&self, now: Time) -> Round {
        self.period.round(self.zone.day(now))
    }

    /// The round that contains a day. `None`: it is not kept any more, or has not begun.
    pub fn round_of(&self, day: Day, now: Time) -> Option<Round> {
        let round = self.period.round(day);
        let is_kept =
            round <= self.round(now) && self.kept_until(round).is_none_or(|until| until > now);
        is_kept.then_some(round)
    }

    /// The beginning and the end of a round. `None`: a round without them.
    pub fn span(&self, round: Round) -> Option<(Time, Time)> {
        let (first, next) = (round.first()?, self.period.next(round)?.first()?);
        Some((self.zone.begin(first), self.zone.begin(next)))
    }

    /// Until when a round is kept. `None`: for as long as the board exists.
    pub fn kept_until(&self, round: Round) -> Option<Time> {
        let next = self.period.next(round)?.first()?;
        Some(self.zone.begin(next.plus_days(self.kept_days)))
    }

    /// When the rows of a round expire.
    pub fn rows_expire(&self, round: Round) -> Option<Second> {
        self.kept_until(round).map(Time::second)
    }

    /// Whether these settings may follow the others on one board.
    pub fn can_follow(&self, old: &Self) -> bool {
        self.orders == old.orders
            && self.period == old.period
            && self.zone == old.zone
            && self.merge == old.merge
    }

    /// Whether a copy of a round made for the others does not fit these settings.
    pub fn need_another_copy(&self, old: &Self) -> bool {
        self.ranks != old.ranks || self.limit != old.limit
    }

    /// The board that the scripts of Valkey know under this id.
    pub fn copy(&self, id: RoundId) -> Board {
        Board { id, orders: self.orders.clone(), ranks: self.ranks, limit: self.limit }
    }
}
