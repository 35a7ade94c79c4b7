//! Days, periods and time zones. A board by period has a round for each day, week or month.

use std::fmt;
use std::str::FromStr;

use jiff::civil::{Date, Weekday};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use serde::{Deserialize, Serialize};

use super::names::BoardError;
use crate::Time;

/// A day of the calendar, without a time zone. Text form: `2030-01-31`. The year has four digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Day(Date);

impl Day {
    /// The day that is this many days later. The last day that can be expressed stays.
    pub fn plus_days(self, days: u16) -> Self {
        Self(self.0.saturating_add(i32::from(days).days()))
    }

    /// The day that is this many days earlier. The first day that can be expressed stays.
    pub fn minus_days(self, days: u16) -> Self {
        Self(self.0.saturating_sub(i32::from(days).days()))
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Day {
    type Err = BoardError;

    fn from_str(text: &str) -> Result<Self, BoardError> {
        let day = text.parse().ok().map(Self).ok_or(BoardError::Day)?;
        // one spelling for each day
        if day.to_string() == text { Ok(day) } else { Err(BoardError::Day) }
    }
}

impl TryFrom<String> for Day {
    type Error = BoardError;

    fn try_from(text: String) -> Result<Self, BoardError> {
        text.parse()
    }
}

impl From<Day> for String {
    fn from(day: Day) -> Self {
        day.to_string()
    }
}

/// How often a board begins again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Period {
    /// Never: there is one round.
    All,
    /// Each day.
    Day,
    /// Each Monday.
    Week,
    /// On the first day of each month.
    Month,
}

impl Period {
    /// All periods.
    pub const ALL: [Self; 4] = [Self::All, Self::Day, Self::Week, Self::Month];

    /// The round that contains a day.
    pub fn round(self, day: Day) -> Round {
        let Day(day) = day;
        let first = match self {
            Self::All => return Round::ALL,
            Self::Day => day,
            Self::Week => {
                day.saturating_sub(i32::from(day.weekday().since(Weekday::Monday)).days())
            }
            Self::Month => day.first_of_month(),
        };
        Round(Some(Day(first)))
    }

    /// The round that follows a round. `None`: there is no other round.
    pub fn next(self, round: Round) -> Option<Round> {
        let Day(first) = round.0?;
        let next = match self {
            Self::All => return None,
            Self::Day => first.checked_add(1.day()),
            Self::Week => first.checked_add(1.week()),
            Self::Month => first.checked_add(1.month()),
        };
        Some(Round(Some(Day(next.ok()?))))
    }
}

/// The contents of a board for one period, named by its first day. Text form: that day, or `all`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Round(Option<Day>);

impl Round {
    /// The only round of a board without periods.
    pub const ALL: Self = Self(None);

    /// The first day. `None`: the only round of a board without periods.
    pub fn first(self) -> Option<Day> {
        self.0
    }
}

impl From<Day> for Round {
    fn from(first: Day) -> Self {
        Self(Some(first))
    }
}

impl fmt::Display for Round {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(first) => first.fmt(f),
            None => f.write_str("all"),
        }
    }
}

impl FromStr for Round {
    type Err = BoardError;

    fn from_str(text: &str) -> Result<Self, BoardError> {
        match text {
            "all" => Ok(Self::ALL),
            _ => text.parse().map(|first| Self(Some(first))),
        }
    }
}

impl TryFrom<String> for Round {
    type Error = BoardError;

    fn try_from(text: String) -> Result<Self, BoardError> {
        text.parse()
    }
}

impl From<Round> for String {
    fn from(round: Round) -> Self {
        round.to_string()
    }
}

/// A time zone of the IANA database, by its name. The database is part of the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Zone(String);

impl Zone {
    /// Coordinated Universal Time.
    pub fn utc() -> Self {
        Self("UTC".to_owned())
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn zone(&self) -> TimeZone {
        // the name was found before; a database that has lost it would be that of another program
        TimeZone::get(&self.0).unwrap_or(TimeZone::UTC)
    }

    /// The day at a point in time.
    pub fn day(&self, at: Time) -> Day {
        let ms = i64::try_from(at.ms()).unwrap_or(i64::MAX);
        let at = Timestamp::from_millisecond(ms).unwrap_or(Timestamp::MAX);
        Day(at.to_zoned(self.zone()).date())
    }

    /// The beginning of a day. Where a change of clocks skips midnight, the first moment after it.
    pub fn begin(&self, day: Day) -> Time {
        let begin = day.0.to_zoned(self.zone()).map(|at| at.timestamp().as_millisecond());
        Time::from_ms(begin.ok().and_then(|ms| u64::try_from(ms).ok()).unwrap_or_default())
    }
}

impl FromStr for Zone {
    type Err = BoardError;

    fn from_str(text: &str) -> Result<Self, BoardError> {
        let zone = TimeZone::get(text).map_err(|_| BoardError::Zone)?;
        // the spelling of the database
        let name = zone.iana_name().ok_or(BoardError::Zone)?;
        Ok(Self(name.to_owned()))
    }
}

impl TryFrom<String> for Zone {
    type Error = BoardError;

    fn try_from(text: String) -> Result<Self, BoardError> {
        text.parse()
    }
}

impl From<Zone> for String {
    fn from(zone: Zone) -> Self {
        zone.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> Day {
        text.parse().unwrap()
    }

    #[test]
    fn a_period_begins_on_its_first_day() {
        for (period, of, first, next) in [
            (Period::Day, "2028-02-28", "2028-02-28", "2028-02-29"),
            (Period::Week, "2028-01-02", "2027-12-27", "2028-01-03"),
            (Period::Week, "2028-01-03", "2028-01-03", "2028-01-10"),
            (Period::Month, "2027-12-31", "2027-12-01", "2028-01-01"),
            (Period::Month, "2028-02-29", "2028-02-01", "2028-03-01"),
        ] {
            let round = period.round(day(of));
            assert_eq!(round, Round::from(day(first)));
            assert_eq!(period.next(round), Some(Round::from(day(next))));
            assert_eq!(period.round(round.first().unwrap()), round);
            assert_eq!(round.to_string().parse(), Ok(round));
        }
        assert_eq!(Period::All.round(day("2028-02-29")), Round::ALL);
        assert_eq!((Period::All.next(Round::ALL), "all".parse()), (None, Ok(Round::ALL)));
    }

    #[test]
    fn a_day_begins_by_the_clocks_of_its_zone() {
        let at = |text| Time::parse_rfc3339(text).unwrap();
        for (zone, of, begin) in [
            ("UTC", "2030-01-31", "2030-01-31T00:00:00Z"),
            ("Europe/Berlin", "2030-01-31", "2030-01-30T23:00:00Z"),
            ("Europe/Berlin", "2030-07-31", "2030-07-30T22:00:00Z"),
            ("Asia/Kathmandu", "2030-01-31", "2030-01-30T18:15:00Z"),
            ("Pacific/Kiritimati", "2030-01-31", "2030-01-30T10:00:00Z"),
            // midnight does not exist there on this day
            ("Africa/Cairo", "2024-04-26", "2024-04-25T22:00:00Z"),
        ] {
            let zone: Zone = zone.parse().unwrap();
            let begin = at(begin);
            assert_eq!(zone.begin(day(of)), begin, "{zone:?}");
            assert_eq!(zone.day(begin), day(of));
            assert_eq!(zone.day(Time::from_ms(begin.ms() - 1)), day(of).minus_days(1));
        }
    }

    #[test]
    fn days_and_zones_have_one_spelling() {
        for bad in
            ["", "2030-1-31", "2030-02-30", "20300131", "2030-01-31T00:00", "x", "-2030-01-01"]
        {
            assert_eq!(bad.parse::<Day>(), Err(BoardError::Day), "{bad}");
        }
        for bad in ["", "Mars/Base", "+02:00", "../UTC"] {
            assert_eq!(bad.parse::<Zone>(), Err(BoardError::Zone), "{bad}");
        }
        assert_eq!("europe/berlin".parse::<Zone>().unwrap().as_str(), "Europe/Berlin");
        assert_eq!("UTC".parse(), Ok(Zone::utc()));
    }
}
