//! Rankings: posts by the likes of the last day or week, authors by the likes of their posts, and tags by their authors.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::board::{Board, Day, Order, Orders, Ranks, RoundId, Zone};
use crate::limits::RANKING_PLACES_MAX;
use crate::time::millis;
use crate::{Hour, IdError, Time};

/// A ranking. Text form: `posts-day`, `posts-week`, `authors` or `tags-day`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ranking {
    /// Posts by the likes of the last 24 hours, the earlier post first on a tie.
    PostsDay,
    /// Posts by the likes of the last seven days, the earlier post first on a tie.
    PostsWeek,
    /// Authors by the likes that their posts have, then by their followers, then by their id.
    Authors,
    /// Tags by the authors who used them in the last 24 hours.
    TagsDay,
}

impl Ranking {
    /// All rankings.
    pub const ALL: [Self; 4] = [Self::PostsDay, Self::PostsWeek, Self::Authors, Self::TagsDay];

    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PostsDay => "posts-day",
            Self::PostsWeek => "posts-week",
            Self::Authors => "authors",
            Self::TagsDay => "tags-day",
        }
    }

    /// The hours whose likes or posts count, beside the present hour. `None`: those of all times count.
    pub const fn hours(self) -> Option<u64> {
        match self {
            Self::PostsDay | Self::TagsDay => Some(24),
            Self::PostsWeek => Some(7 * 24),
            Self::Authors => None,
        }
    }
}

impl fmt::Display for Ranking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Ranking {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        Self::ALL.into_iter().find(|ranking| ranking.name() == text).ok_or(IdError::Ranking)
    }
}

/// The state of a ranking at a point in time. Readers share it until the next one is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Snapshot {
    /// The ranking.
    pub ranking: Ranking,
    /// The time up to which hours count. Likes that are counted later than this, but before the snapshot is made, are in it.
    pub at: Time,
}

impl Snapshot {
    /// The snapshot that readers share at this time. A new one begins after each `every`.
    pub fn of(ranking: Ranking, now: Time, every: Duration) -> Self {
        let every = millis(every).max(1);
        Self { ranking, at: Time::from_ms(now.ms() / every * every) }
    }

    /// The first hour whose likes count. The present hour is not complete, so the window is up to an hour longer than its
    /// name says. `None`: the likes of all times count.
    pub fn first_hour(self) -> Option<Hour> {
        // mutation: ranking-window
        self.ranking.hours().map(|hours| self.at.hour().minus(hours))
    }

    /// The days of the hours that count, the first one first.
    pub fn days(self) -> Vec<Day> {
        let Some(first) = self.first_hour() else { return Vec::new() };
        // with the next hour: likes may be counted in it while the snapshot is made
        let hours = first.to(self.at.hour().next());
        let mut days: Vec<Day> = hours.map(|hour| Zone::utc().day(hour.start())).collect();
        days.dedup();
        days
    }

    /// The board that holds the snapshot in Valkey.
    pub fn copy(self) -> Board {
        let scores = match self.ranking {
            Ranking::PostsDay | Ranking::PostsWeek | Ranking::TagsDay => 1,
            Ranking::Authors => 2,
        };
        Board {
            id: RoundId::of_ranking(self.ranking.name(), self.at),
            orders: Orders::all(Order::Descending, scores),
            // the name of a post begins with its time, so the earlier one is before the later one
            ranks: Ranks::Ordinal,
            limit: Some(RANKING_PLACES_MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(hours: u64) -> Time {
        Hour::nth(hours).start() + Duration::from_millis(1)
    }

    #[test]
    fn a_ranking_is_found_by_its_name() {
        for ranking in Ranking::ALL {
            assert_eq!(ranking.to_string().parse(), Ok(ranking));
            assert_eq!(serde_json::to_string(&ranking).unwrap(), format!("\"{ranking}\""));
        }
        for bad in ["", "posts", "POSTS-DAY", "posts-day "] {
            assert_eq!(bad.parse::<Ranking>(), Err(IdError::Ranking), "{bad}");
        }
    }

    #[test]
    fn readers_share_a_snapshot_until_the_next_one() {
        let every = Duration::from_secs(60);
        let of = |ms| Snapshot::of(Ranking::Authors, Time::from_ms(ms), every).at.ms();
        assert_eq!([of(0), of(59_999), of(60_000), of(120_001)], [0, 0, 60_000, 120_000]);
    }

    #[test]
    fn the_hours_and_days_of_a_window() {
        let snapshot = |ranking, hours| Snapshot { ranking, at: at(hours) };
        // 1970-01-11 05:00
        let hours = 10 * 24 + 5;
        let day = snapshot(Ranking::PostsDay, hours);
        assert_eq!(day.first_hour(), Some(Hour::nth(hours - 24)));
        let days =
            |snapshot: Snapshot| snapshot.days().iter().map(Day::to_string).collect::<Vec<_>>();
        assert_eq!(days(day), ["1970-01-10", "1970-01-11"]);
        let week = snapshot(Ranking::PostsWeek, hours);
        assert_eq!(days(week).first().map(String::as_str), Some("1970-01-04"));
        assert_eq!(days(week).len(), 8);
        // an hour before midnight, the next day may begin meanwhile
        assert_eq!(days(snapshot(Ranking::PostsDay, 10 * 24 - 1)).len(), 3);
        assert_eq!(days(snapshot(Ranking::Authors, hours)), Vec::<String>::new());
        assert_eq!(Hour::nth(hours).of_day(), 5);
    }

    #[test]
    fn each_snapshot_has_a_copy_of_its_own() {
        let mut ids = std::collections::BTreeSet::new();
        for ranking in Ranking::ALL {
            for hours in 0..5 {
                ids.insert(Snapshot { ranking, at: at(hours) }.copy().id);
            }
        }
        assert_eq!(ids.len(), 5 * Ranking::ALL.len());
    }
}
