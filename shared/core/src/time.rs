//! Points in time. A length of time is a [`Duration`].

use std::fmt;
use std::ops::{Add, AddAssign, Sub};
use std::time::Duration;

use serde::{Deserialize, Serialize};

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
