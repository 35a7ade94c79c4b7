//! The check for entries that are past their time, in DynamoDB.

use std::time::Duration;

use fanfold_core::limits::DUE_OVERDUE_AFTER;
use fanfold_core::{DueEntry, DuePart, Hour, Time};
use fanfold_runtime::StoreError;

use super::look::Look;

/// Past hours that each look-ahead checks for overdue items, also if an earlier one found none. The clock of that one
/// may have been wrong.
const DUE_CHECK_BACK: Duration = Duration::from_secs(3_600);
/// How far ahead the clock of a look-ahead may be, so that no entry is forgotten. It notes that hours are empty which are
/// not over; so hours later than this are noted one at a time.
const DUE_CLOCK_AHEAD_MAX: Duration = Duration::from_secs(7 * 24 * 3600);
/// Overdue entries of a part that a look-ahead reads, or one query more. The others come when these are done.
const DUE_OVERDUE_READ: u64 = 10_000;
/// How long an hour of the index must be over before it is checked for the last time. Every request that could add an
/// item to it has ended.
const DUE_HOUR_SETTLES: Duration = Duration::from_secs(600);
/// How far back the first look-ahead of a deployment checks.
const DUE_FIRST_CHECK: Duration = Duration::from_secs(24 * 3600);

/// What was found past its time.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Overdue {
    pub entries: u64,
    pub oldest: Option<Time>,
}

/// The hour with which a check of a part begins.
pub(super) fn first_hour(checked: Option<Hour>, now: Time) -> Hour {
    match checked {
        // the clock of an earlier look-ahead may have been ahead; then it noted one hour too many
        Some(hour) => (hour.start() - DUE_CHECK_BACK).hour().min((now - DUE_CHECK_BACK).hour()),
        None => (now - DUE_FIRST_CHECK).hour(),
    }
}

/// Looks in DynamoDB for entries of a part that are past their time: Valkey lost them, or their writer died before it
/// added them, or the functions are behind. Makes Valkey know them. Hours that are over and empty are not asked again.
///
/// Also returns what was found before an error. Without Valkey, all are counted.
pub(super) async fn check(
    look: Look<'_>,
    part: DuePart,
    checked: Option<Hour>,
    now: Time,
    is_over: impl Fn() -> bool,
) -> (Overdue, Result<(), StoreError>) {
    let mut found = Overdue::default();
    let result = check_hours(look, part, checked, now, is_over, &mut found).await;
    (found, result)
}

async fn check_hours(
    look: Look<'_>,
    part: DuePart,
    checked: Option<Hour>,
    now: Time,
    is_over: impl Fn() -> bool,
    found: &mut Overdue,
) -> Result<(), StoreError> {
    let due = look.due;
    let first = first_hour(checked, now);
    let (mut empty_before, mut is_empty_so_far, mut added) = (first, true, Ok(()));
    for hour in first.to(now.hour()) {
        let (until, mut after, mut is_empty) = (now - DUE_OVERDUE_AFTER, None, true);
        loop {
            if found.entries >= DUE_OVERDUE_READ || is_over() {
                return added;
            }
            let page = look.entries((part, hour), (Time::EPOCH, until), after).await?;
            is_empty &= page.entries.is_empty() && page.unknown == 0;
            let entries: Vec<DueEntry> = page.entries.into_iter().map(|row| row.entry).collect();
            if let Some(entry) = entries.first() {
                found.oldest = Some(found.oldest.map_or(entry.at, |old| old.min(entry.at)));
            }
            found.entries += entries.len() as u64 + page.unknown;
            if added.is_ok() {
                // mutation: due-overdue
                added = due.valkey.add_overdue(part, &entries, now).await;
            }
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        let is_settled = hour.next().start() + DUE_HOUR_SETTLES < now;
        is_empty_so_far &= is_empty && is_settled;
        if is_empty_so_far {
            empty_before = hour.next();
        }
    }
    // an hour at a time: the clock of this look-ahead may be ahead
    let most = |old: Hour| old.next().max((now - DUE_CLOCK_AHEAD_MAX).hour());
    let empty_before = checked.map_or(empty_before, |old| empty_before.min(most(old)));
    // one that was noted too early goes back
    if checked != Some(empty_before) {
        due.index.set_checked(part, empty_before).await?;
    }
    added
}
