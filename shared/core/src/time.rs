//! Points in time. A length of time is a [`Duration`].

use std::fmt;
use std::ops::{Add, AddAssign, Sub};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// A point in time, in milliseconds since 1970. Serialized and displayed as this number.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Time(u64);

impl Time {
    /// The beginning of 1970, before every post and change.
    pub const EPOCH: Time = Time(0);
    /// The last point in time.
    pub const MAX: Time = Time(u64::MAX);

    /// The point in time at this many milliseconds since 1970.
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms)
    }

    /// Milliseconds since 1970.
    pub const fn ms(self) -> u64 {
        self.0
    }

    /// The length of time since an earlier point. Zero, if that point is later.
    pub const fn since(self, earlier: Time) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }

    /// The whole second of this point in time.
    pub const fn second(self) -> Second {
        Second(self.0 / 1_000)
    }

    /// The hour of this point in time.
    pub const fn hour(self) -> Hour {
        Hour(self.0 / HOUR_MS)
    }

    /// The point in time as RFC 3339 in UTC, with three decimal digits. RFC 3339 cannot express times after the year
    /// 9999; they become the last millisecond of that year.
    pub fn rfc3339(self) -> String {
        let since_1970 = time::Duration::milliseconds(i64::try_from(self.0).unwrap_or(i64::MAX));
        let at = OffsetDateTime::UNIX_EPOCH.saturating_add(since_1970);
        let (year, month, day) = (at.year(), u8::from(at.month()), at.day());
        let (hour, minute, second, ms) = at.time().as_hms_milli();
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
    }

    /// The point in time that this text names: RFC 3339 with a zone. A part of a millisecond counts as a whole one, so that
    /// nothing is early. Times before 1970 become the start of 1970. `None` for other texts.
    pub fn parse_rfc3339(text: &str) -> Option<Self> {
        let at = OffsetDateTime::parse(text, &Rfc3339).ok()?;
        // digits beyond those of nanoseconds are cut
        let (_, fraction) = text.split_once('.').unwrap_or_default();
        let cut =
            fraction.bytes().take_while(u8::is_ascii_digit).skip(9).any(|digit| digit != b'0');
        let ms =
            (at.unix_timestamp_nanos() + i128::from(cut) + 999_999).div_euclid(1_000_000).max(0);
        u64::try_from(ms).ok().map(Self)
    }

    /// When an item expires that is kept for this long from now on.
    pub fn expires_after(self, kept: Duration) -> Second {
        (self + kept).second()
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Add<Duration> for Time {
    type Output = Time;

    fn add(self, length: Duration) -> Time {
        Time(self.0.saturating_add(millis(length)))
    }
}

impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, length: Duration) {
        *self = *self + length;
    }
}

/// Saturates at [`Time::EPOCH`].
impl Sub<Duration> for Time {
    type Output = Time;

    fn sub(self, length: Duration) -> Time {
        Time(self.0.saturating_sub(millis(length)))
    }
}

/// A point in time in whole seconds since 1970, the form in which DynamoDB reads when an item expires.
/// Serialized and displayed as this number. Only a [`Time`] makes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Second(u64);

impl fmt::Display for Second {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

const HOUR_MS: u64 = 3_600_000;

/// A whole hour, counted from the beginning of 1970 in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Hour(u64);

impl Hour {
    /// The hour with this number.
    pub const fn nth(number: u64) -> Self {
        Self(number)
    }

    /// The beginning of the hour.
    pub const fn start(self) -> Time {
        Time(self.0.saturating_mul(HOUR_MS))
    }

    /// The following hour.
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// The hour that is this many hours later.
    pub const fn plus(self, hours: u64) -> Self {
        Self(self.0.saturating_add(hours))
    }

    /// The hour that is this many hours earlier. The first hour stays.
    pub const fn minus(self, hours: u64) -> Self {
        Self(self.0.saturating_sub(hours))
    }

    /// The number of the hour in its day, from 0 to 23.
    pub const fn of_day(self) -> usize {
        (self.0 % 24) as usize
    }

    /// All hours from this one to `last`.
    pub fn to(self, last: Self) -> impl Iterator<Item = Self> {
        (self.0..=last.0).map(Self)
    }
}

impl fmt::Display for Hour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The whole milliseconds of a length of time.
pub const fn millis(length: Duration) -> u64 {
    length.as_millis() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_seconds_are_stored_as_numbers() {
        let now = Time::from_ms(1_800_000_000_999);
        assert_eq!(serde_json::to_string(&now).unwrap(), "1800000000999");
        assert_eq!(serde_json::from_str::<Time>("1800000000999").unwrap(), now);
        let expires_at = now.expires_after(Duration::from_secs(60));
        assert_eq!(serde_json::to_string(&expires_at).unwrap(), "1800000060");
        assert_eq!(
            (now.to_string(), expires_at.to_string()),
            (now.ms().to_string(), "1800000060".to_owned())
        );
    }

    #[test]
    fn times_are_utc_to_the_millisecond() {
        assert_eq!(Time::from_ms(1_763_723_423_042).rfc3339(), "2025-11-21T11:10:23.042Z");
        assert_eq!(Time::EPOCH.rfc3339(), "1970-01-01T00:00:00.000Z");
        assert_eq!(Time::from_ms(951_827_696_789).rfc3339(), "2000-02-29T12:34:56.789Z");
    }

    #[test]
    fn every_time_has_a_text() {
        for ms in [253_402_300_799_999, 253_402_300_800_000, (1 << 48) - 1, u64::MAX] {
            assert_eq!(Time::from_ms(ms).rfc3339(), "9999-12-31T23:59:59.999Z");
        }
    }

    #[test]
    fn a_time_needs_a_zone() {
        let at = Time::from_ms(1_763_723_423_042);
        for text in [
            "2025-11-21T11:10:23.042Z",
            "2025-11-21T11:10:23.0411Z",
            "2025-11-21T11:10:23.041000001Z",
            "2025-11-21T12:10:23.042+01:00",
            "2025-11-21t11:10:23.042z",
        ] {
            assert_eq!(Time::parse_rfc3339(text), Some(at), "{text}");
        }
        assert_eq!(Time::parse_rfc3339("1969-12-31T23:59:59Z"), Some(Time::EPOCH));
        for (text, ms) in [
            ("1970-01-01T00:00:59.9999Z", 60_000),
            ("1970-01-01T00:00:01.0000000001Z", 1_001),
            ("1970-01-01T00:00:01.0010000000001Z", 1_002),
            ("1970-01-01T00:00:01.0010000000000+00:00", 1_001),
        ] {
            assert_eq!(Time::parse_rfc3339(text), Some(Time::from_ms(ms)), "{text}");
        }
        for text in
            ["", "2025-11-21T11:10:23.042", "2025-11-21", "2025-02-30T11:10:23Z", "1763723423"]
        {
            assert_eq!(Time::parse_rfc3339(text), None, "{text}");
        }
    }

    #[test]
    fn an_hour_begins_with_its_first_millisecond() {
        let hour = Time::from_ms(7_199_999).hour();
        assert_eq!((hour, hour.start().ms()), (Hour::nth(1), 3_600_000));
        assert_eq!(Time::from_ms(7_200_000).hour(), hour.next());
        assert_eq!(hour.to(Hour::nth(3)).count(), 3);
    }

    #[test]
    fn differences_saturate() {
        let (early, late) = (Time::from_ms(5), Time::from_ms(8));
        assert_eq!(
            (late.since(early), early.since(late)),
            (Duration::from_millis(3), Duration::ZERO)
        );
        assert_eq!(early - Duration::from_secs(1), Time::EPOCH);
        assert_eq!(Time::MAX + Duration::from_secs(1), Time::MAX);
    }
}
