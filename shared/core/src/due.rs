//! Items with a time of their own, such as scheduled posts and timers. An item is due once its time has come.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::limits::{DUE_PARTS, EVERY_MAX, EVERY_MIN, TIMER_NAME_CHARS_MAX};
use crate::time::{Hour, millis};
use crate::{IdError, ListPlace, PostId, Time, UserId};

/// The id of a scheduled post. It has the form of a post id: the time at which it was scheduled, 16 bits that make it
/// unique, and the author. The post gets another id, whose time is that of its publication.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ScheduledId(pub PostId);

impl ScheduledId {
    /// Builds an id.
    pub fn new(now: Time, unique: u16, author: UserId) -> Self {
        Self(PostId::new(now, unique, author))
    }

    /// The user who scheduled the post.
    pub fn author(self) -> UserId {
        self.0.author()
    }
}

impl fmt::Display for ScheduledId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for ScheduledId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        text.parse().map(Self)
    }
}

impl ListPlace for ScheduledId {
    const BYTES: usize = PostId::BYTES;

    fn encode(&self, to: &mut Vec<u8>) {
        self.0.encode(to);
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        PostId::decode(bytes).map(Self)
    }
}

/// The reason why a text is not part of a timer, or not an entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DueError {
    /// Not the name of a timer.
    #[error(
        "a timer's name has 1 to {TIMER_NAME_CHARS_MAX} characters of A-Z, a-z, 0-9, -, _ and ., and is not . or .."
    )]
    Name,
    /// Not a duration, or one without a fixed length.
    #[error(
        "every must be an ISO 8601 duration of weeks, days, hours, minutes and seconds, such as PT15M or P1DT12H; years and months have no fixed length"
    )]
    Every,
    /// A duration that is too short or too long.
    #[error("every must be at least a minute (PT1M) and at most 366 days (P366D)")]
    EveryRange,
    /// Not an entry of the index of due items.
    #[error("not an entry of the index of due items")]
    Entry,
}

/// The name of a timer, unique among those of its owner.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TimerName(String);

impl ListPlace for TimerName {
    const BYTES: usize = TIMER_NAME_CHARS_MAX;

    /// Filled up, so that all cursors of the list have the same length.
    fn encode(&self, to: &mut Vec<u8>) {
        to.extend(self.0.bytes());
        to.extend(std::iter::repeat_n(0, Self::BYTES.saturating_sub(self.0.len())));
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let name = bytes.split(|byte| *byte == 0).next()?;
        std::str::from_utf8(name).ok()?.parse().ok()
    }
}

impl TimerName {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TimerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for TimerName {
    type Error = DueError;

    fn try_from(text: String) -> Result<Self, DueError> {
        let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
        // clients and proxies remove . and .. from a path
        let is_path = matches!(text.as_str(), "." | "..");
        let fits = text.bytes().all(fits) && !is_path;
        if fits && (1..=TIMER_NAME_CHARS_MAX).contains(&text.len()) {
            Ok(Self(text))
        } else {
            Err(DueError::Name)
        }
    }
}

impl FromStr for TimerName {
    type Err = DueError;

    fn from_str(text: &str) -> Result<Self, DueError> {
        text.to_owned().try_into()
    }
}

impl From<TimerName> for String {
    fn from(name: TimerName) -> Self {
        name.0
    }
}

/// The time between two occurrences of a timer: a whole number of seconds, from [`EVERY_MIN`] to [`EVERY_MAX`].
/// Text form: an ISO 8601 duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Every(Duration);

impl Every {
    /// The length.
    pub fn length(self) -> Duration {
        self.0
    }

    /// The first occurrence after `due` that is later than `now`, and the number of earlier ones that were missed.
    /// Occurrences are computed from the due time, so a late run moves none of them.
    pub fn next(self, due: Time, now: Time) -> (Time, u64) {
        let length_ms = millis(self.0).max(1);
        let missed = millis(now.since(due)) / length_ms;
        (due + Duration::from_millis(length_ms.saturating_mul(missed + 1)), missed)
    }
}

impl FromStr for Every {
    type Err = DueError;

    fn from_str(text: &str) -> Result<Self, DueError> {
        // only the standard's own form: the library also accepts signs, lower case and spaces
        let is_form = text.starts_with('P')
            && text.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
        let span: jiff::Span = text.parse().ok().filter(|_| is_form).ok_or(DueError::Every)?;
        if span.get_years() != 0 || span.get_months() != 0 {
            return Err(DueError::Every);
        }
        let length = span
            .to_duration(jiff::SpanRelativeTo::days_are_24_hours())
            .ok()
            .and_then(|length| Duration::try_from(length).ok())
            .ok_or(DueError::Every)?;
        if (EVERY_MIN..=EVERY_MAX).contains(&length) {
            Ok(Self(length))
        } else {
            Err(DueError::EveryRange)
        }
    }
}

impl TryFrom<String> for Every {
    type Error = DueError;

    fn try_from(text: String) -> Result<Self, DueError> {
        text.parse()
    }
}

impl From<Every> for String {
    fn from(every: Every) -> Self {
        every.to_string()
    }
}

impl fmt::Display for Every {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        let (days, hours, minutes, seconds) =
            (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
        f.write_str("P")?;
        if days > 0 {
            write!(f, "{days}D")?;
        }
        if hours + minutes + seconds > 0 {
            f.write_str("T")?;
        }
        for (number, unit) in [(hours, "H"), (minutes, "M"), (seconds, "S")] {
            if number > 0 {
                write!(f, "{number}{unit}")?;
            }
        }
        Ok(())
    }
}

/// An item that falls due. Text form: `<tag>#<owner>#<key>`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DueItem {
    /// The kind of the item.
    pub tag: String,
    /// The user to whom the item belongs.
    pub owner: UserId,
    /// Names the item among those of its kind and owner.
    pub key: String,
}

impl fmt::Display for DueItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tag, owner, key } = self;
        write!(f, "{tag}#{owner}#{key}")
    }
}

impl FromStr for DueItem {
    type Err = DueError;

    fn from_str(text: &str) -> Result<Self, DueError> {
        let mut parts = text.splitn(3, '#');
        let mut next = || parts.next().filter(|part| !part.is_empty()).ok_or(DueError::Entry);
        let (tag, owner, key) = (next()?, next()?, next()?);
        let owner = owner.parse().map_err(|_| DueError::Entry)?;
        Ok(Self { tag: tag.to_owned(), owner, key: key.to_owned() })
    }
}

/// An item with its time, as the index of due items has it. Another time is another entry. Text form: the time with 15
/// digits, `#` and the item, so entries sort by time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DueEntry {
    /// The time from which the item is due.
    pub at: Time,
    /// The item.
    pub item: DueItem,
}

impl DueEntry {
    /// The part of the index that has the entry.
    pub fn part(&self) -> DuePart {
        DuePart((self.item.owner.0 % u64::from(DUE_PARTS)) as u16)
    }

    /// The hour of its time.
    pub fn hour(&self) -> Hour {
        self.at.hour()
    }
}

impl fmt::Display for DueEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:015}#{}", self.at.ms(), self.item)
    }
}

impl FromStr for DueEntry {
    type Err = DueError;

    fn from_str(text: &str) -> Result<Self, DueError> {
        let (at, item) = text.split_once('#').ok_or(DueError::Entry)?;
        if at.len() != 15 || !at.bytes().all(|b| b.is_ascii_digit()) {
            return Err(DueError::Entry);
        }
        let at = at.parse().map_err(|_| DueError::Entry)?;
        Ok(Self { at: Time::from_ms(at), item: item.parse()? })
    }
}

impl TryFrom<String> for DueEntry {
    type Error = DueError;

    fn try_from(text: String) -> Result<Self, DueError> {
        text.parse()
    }
}

impl From<DueEntry> for String {
    fn from(entry: DueEntry) -> Self {
        entry.to_string()
    }
}

/// A part of the index of due items. All items of a user are in one part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DuePart(pub u16);

impl DuePart {
    /// All parts.
    pub fn all() -> impl Iterator<Item = Self> + Clone {
        (0..DUE_PARTS).map(Self)
    }
}

impl fmt::Display for DuePart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn durations_have_a_fixed_length() {
        for (text, seconds) in [
            ("PT1M", 60),
            ("PT90S", 90),
            ("P1D", 86_400),
            ("P1W", 604_800),
            ("P1DT12H", 129_600),
            ("PT1H30M15S", 5_415),
            ("P366D", 366 * 86_400),
        ] {
            let every: Every = text.parse().unwrap();
            assert_eq!(every.length(), Duration::from_secs(seconds), "{text}");
            assert_eq!(every.to_string().parse(), Ok(every), "{text}");
        }
        for bad in ["", "P", "PT", "P1M", "P1Y", "1h", "pt1m", "-PT1M", "P1D ", "PT1.5.1S", "PT"] {
            assert_eq!(bad.parse::<Every>(), Err(DueError::Every), "{bad}");
        }
        for bad in ["PT59S", "PT0S", "P367D", "P60W"] {
            assert_eq!(bad.parse::<Every>(), Err(DueError::EveryRange), "{bad}");
        }
    }

    #[test]
    fn the_next_occurrence_depends_on_the_due_time_alone() {
        let every: Every = "PT1M".parse().unwrap();
        let due = Time::from_ms(1_000_000);
        let next = |late_ms| every.next(due, due + Duration::from_millis(late_ms));
        assert_eq!(next(0), (Time::from_ms(1_060_000), 0));
        assert_eq!(next(59_999), (Time::from_ms(1_060_000), 0));
        // occurrences that nobody ran are skipped and counted
        assert_eq!(next(60_000), (Time::from_ms(1_120_000), 1));
        assert_eq!(next(185_000), (Time::from_ms(1_240_000), 3));
    }

    #[test]
    fn names_of_timers_are_short_and_plain() {
        let longest = "n".repeat(TIMER_NAME_CHARS_MAX);
        for name in ["a", "renew-2026.03", "A_b", "...", ".a", longest.as_str()] {
            assert!(name.parse::<TimerName>().is_ok(), "{name}");
        }
        let too_long = format!("{longest}n");
        for name in ["", ".", "..", "a b", "a#b", "ä", "a/b", "{1}", too_long.as_str()] {
            assert_eq!(name.parse::<TimerName>(), Err(DueError::Name), "{name}");
        }
    }

    proptest! {
        #[test]
        fn entries_round_trip_and_sort_by_time(
            at in 0u64..1 << 48,
            other in 0u64..1 << 48,
            owner: u64,
            tag in "[a-z]{1,8}",
            key in "[ -~]{1,128}",
        ) {
            let item = DueItem { tag, owner: UserId(owner), key };
            let entry = DueEntry { at: Time::from_ms(at), item };
            prop_assert_eq!(entry.to_string().parse(), Ok(entry.clone()));
            let later = DueEntry { at: Time::from_ms(other), ..entry.clone() };
            prop_assert_eq!(entry.to_string().cmp(&later.to_string()), at.cmp(&other));
        }

        #[test]
        fn other_texts_are_not_entries(text in ".{0,40}") {
            prop_assert!(text.parse::<DueEntry>().is_err());
        }
    }
}
