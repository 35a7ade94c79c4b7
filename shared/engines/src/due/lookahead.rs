//! The look-ahead finds what is due within two minutes, and hands it on to SQS.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fanfold_core::limits::{CONCURRENCY, DUE_LOOK_AHEAD, DUE_OVERDUE_AFTER, DUE_PARTS};
use fanfold_core::registry::DUE_ITEMS;
use fanfold_core::time::millis;
use fanfold_core::{DueEntry, DuePart, Hour, Time};
use fanfold_engines::valkey::{Loaded, Taken};
use fanfold_runtime::clock::{self, Deadline, Stopwatch};
use fanfold_runtime::log::Chain;
use fanfold_runtime::{StoreError, metrics};
use futures::stream::{self, StreamExt as _};
use serde::Serialize;

use super::delay_until;
use super::items::Indexed;
use super::rounds::rounds;
use crate::App;
use crate::due::messages::ItemDue;

/// How far ahead Valkey knows all due items, at least.
const DUE_HORIZON: Duration = Duration::from_secs(3_600);
/// Entries of a part that a look-ahead hands on from DynamoDB while Valkey does not answer, or one query more. At 500 due
/// items a second, two minutes of a part have 3,750.
const DUE_WITHOUT_VALKEY: u64 = 4_000;
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
/// The remaining time below which a look-ahead ends.
const DUE_TIME_LEFT_MIN: Duration = Duration::from_secs(5);

/// The result of a look-ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LookedAhead {
    /// Items that were handed on.
    pub handed_on: u64,
    /// Entries in DynamoDB that are past their time.
    pub overdue: u64,
    /// How long the oldest of them has been due, in ms.
    pub oldest_ms: u64,
    /// Parts whose entries were loaded from DynamoDB.
    pub loaded: u64,
}

/// What was found past its time.
#[derive(Debug, Clone, Copy, Default)]
struct Overdue {
    entries: u64,
    oldest: Option<Time>,
}

/// What was done for a part after its known items were handed on.
struct Prepared {
    part: DuePart,
    /// Whether entries were loaded from DynamoDB.
    loaded: Result<bool, StoreError>,
    found: Overdue,
    checked: Result<(), StoreError>,
}

/// Whether an item that nobody has noted is handed on again by a look-ahead at this time: before its time and in the first
/// minute after it, unless its writer sent the message, and then in one minute of four. So an outage does not fill the queue.
fn is_sent_again(Indexed { entry, is_announced }: &Indexed, now: Time) -> bool {
    let minutes = now.since(entry.at).as_secs() / 60;
    match minutes {
        0 => !is_announced,
        // items of different users in different minutes
        _ => (minutes + entry.item.owner().0 / u64::from(DUE_PARTS)).is_multiple_of(4),
    }
}

/// The hour with which a check of a part begins.
fn first_hour(checked: Option<Hour>, now: Time) -> Hour {
    match checked {
        // the clock of an earlier look-ahead may have been ahead; then it noted one hour too many
        Some(hour) => (hour.start() - DUE_CHECK_BACK).hour().min((now - DUE_CHECK_BACK).hour()),
        None => (now - DUE_FIRST_CHECK).hour(),
    }
}

/// Whether Valkey knows all that a look-ahead hands on.
fn is_enough(known: Option<Time>, now: Time) -> bool {
    known.is_some_and(|known| known >= now + DUE_LOOK_AHEAD)
}

/// What a look-ahead has done so far.
struct Run {
    handed_on: u64,
    /// Parts that Valkey did not answer for, or refused to change.
    without_valkey: BTreeSet<DuePart>,
    /// The first error.
    failed: Result<(), StoreError>,
}

impl Run {
    fn note(&mut self, errors: impl IntoIterator<Item = (DuePart, StoreError)>) {
        for (part, error) in errors {
            // after an error of SQS, the leases end, and the next look-ahead goes on
            if error.is_valkey() {
                self.without_valkey.insert(part);
            }
            self.fail(error);
        }
    }

    fn fail(&mut self, error: StoreError) {
        if self.failed.is_ok() {
            self.failed = Err(error);
        }
    }
}

/// Hands on what is due within [`DUE_LOOK_AHEAD`]. What Valkey knows goes first, without DynamoDB. A part that Valkey does not
/// answer for is handed on from DynamoDB. An error is returned after all parts were tried; the next run goes on.
pub async fn look_ahead(
    app: &App,
    now: Time,
    deadline: Deadline,
) -> Result<LookedAhead, StoreError> {
    let watch = Stopwatch::start();
    // mutation: due-deadline
    let is_over = || deadline.is_within(DUE_TIME_LEFT_MIN);
    let take = async |part, size| hand_on(app, part, size, now + watch.elapsed()).await;
    let mut run = Run { handed_on: 0, without_valkey: BTreeSet::new(), failed: Ok(()) };
    let (mut known, mut silent) = (BTreeMap::new(), Vec::new());
    for (part, answer) in known_of_all(app, now).await {
        match answer {
            Ok(complete) => drop(known.insert(part, complete)),
            Err(error) => silent.push((part, error)),
        }
    }
    run.note(silent);
    let enough = known.iter().filter(|(_, complete)| is_enough(**complete, now));
    // mutation: due-known-first
    let enough: Vec<DuePart> = enough.map(|(part, _)| *part).collect();
    let (count, errors) = rounds(enough, (app.settings.due_batch, u64::MAX), is_over, take).await;
    run.handed_on += count;
    run.note(errors);

    let checked = match app.due.checked().await {
        Ok(checked) => Some(checked),
        Err(error) => {
            run.fail(error);
            None
        }
    };
    // an hour that is ahead was noted by a look-ahead whose clock was far ahead
    let checked_of = |part: DuePart| {
        let hour = checked.as_ref().and_then(|checked| checked.get(&part)).copied();
        hour.filter(|hour| *hour <= now.hour())
    };
    let (mut overdue, mut loaded_parts) = (Overdue::default(), 0);
    let parts = DuePart::all().filter(|_| checked.is_some());
    let prepared: Vec<_> = parts
        .map(|part| {
            let (known, checked) = (known.get(&part).copied(), checked_of(part));
            async move {
                let loaded = match known {
                    Some(known) => load(app, part, known, now).await,
                    None => Ok(false),
                };
                let (found, checked) = check(app, part, checked, now, is_over).await;
                Prepared { part, loaded, found, checked }
            }
        })
        .collect();
    let mut prepared = stream::iter(prepared).buffer_unordered(CONCURRENCY);
    while let Some(Prepared { part, loaded, found, checked }) = prepared.next().await {
        match loaded {
            Ok(loaded) => loaded_parts += u64::from(loaded),
            Err(error) => run.note([(part, error)]),
        }
        overdue.entries += found.entries;
        overdue.oldest = overdue.oldest.into_iter().chain(found.oldest).min();
        if let Err(error) = checked {
            run.fail(error);
        }
    }

    let answered = known.keys().filter(|part| !run.without_valkey.contains(part));
    let answered: Vec<DuePart> = answered.copied().collect();
    let (count, errors) = rounds(answered, (app.settings.due_batch, u64::MAX), is_over, take).await;
    run.handed_on += count;
    run.note(errors);
    let direct: Vec<_> = run
        .without_valkey
        .iter()
        .map(|part| {
            let first = first_hour(checked_of(*part), now);
            hand_on_without_valkey(app, *part, first, (now, watch), is_over)
        })
        .collect();
    let mut direct = stream::iter(direct).buffer_unordered(CONCURRENCY);
    while let Some(count) = direct.next().await {
        match count {
            Ok(count) => run.handed_on += count,
            Err(error) => run.fail(error),
        }
    }
    let Run { handed_on, failed, .. } = run;
    metrics::looked_ahead(handed_on, overdue.entries);
    let oldest_ms = overdue.oldest.map_or(0, |oldest| millis(now.since(oldest)));
    let looked =
        LookedAhead { handed_on, overdue: overdue.entries, oldest_ms, loaded: loaded_parts };
    tracing::info!(
        handed_on,
        overdue = overdue.entries,
        oldest_ms,
        loaded = loaded_parts,
        "looked ahead"
    );
    if let Err(error) = &failed {
        tracing::warn!(error = %Chain(error), "the look-ahead is not complete");
    }
    failed.map(|()| looked)
}

/// The time up to which Valkey knows all entries of each part.
async fn known_of_all(app: &App, now: Time) -> Vec<(DuePart, Result<Option<Time>, StoreError>)> {
    let asked: Vec<_> = DuePart::all()
        .map(async |part| {
            let taken = app.valkey.take_due(part, 0, now).await;
            (part, taken.map(|taken| taken.complete))
        })
        .collect();
    stream::iter(asked).buffer_unordered(CONCURRENCY).collect().await
}

/// Loads the entries of a part, if Valkey does not know all that is due within [`DUE_HORIZON`]. Returns whether it
/// loaded any hour.
async fn load(
    app: &App,
    part: DuePart,
    known: Option<Time>,
    now: Time,
) -> Result<bool, StoreError> {
    // mutation: due-load
    if known.is_some_and(|known| known >= now + DUE_HORIZON) {
        return Ok(false);
    }
    // to the end of an hour, so that most look-aheads need not load
    let until = (now + DUE_HORIZON).hour().next().start();
    let token = format!("{:016x}", clock::random());
    let load = app.valkey.begin_due(part, &token, until).await?;
    // earlier entries are overdue, so they are found by the check
    let from = load.complete.max(now.hour().start());
    for hour in from.hour().to((until - Duration::from_millis(1)).hour()) {
        let mut after = None;
        loop {
            let page = app.due.entries(part, hour, (from, Time::MAX), after).await?;
            // later entries of the same millisecond may follow
            let complete = page.next.as_ref().map_or(hour.next().start(), |next| next.at);
            // mutation: due-load-announced
            let entries = page.entries.iter().map(|row| (&row.entry, row.is_announced));
            let of = (part, load.token.as_str());
            let loaded = app.valkey.load_due(of, entries, complete, now);
            if loaded.await? == Loaded::Lost {
                return Ok(true);
            }
            after = page.next;
            if after.is_none() {
                break;
            }
        }
    }
    Ok(true)
}

/// Looks in DynamoDB for entries of a part that are past their time: Valkey lost them, or their writer died before it
/// added them, or the functions are behind. Makes Valkey know them. Hours that are over and empty are not asked again.
///
/// Also returns what was found before an error. Without Valkey, all are counted.
async fn check(
    app: &App,
    part: DuePart,
    checked: Option<Hour>,
    now: Time,
    is_over: impl Fn() -> bool,
) -> (Overdue, Result<(), StoreError>) {
    let mut found = Overdue::default();
    let result = check_hours(app, part, checked, now, is_over, &mut found).await;
    (found, result)
}

async fn check_hours(
    app: &App,
    part: DuePart,
    checked: Option<Hour>,
    now: Time,
    is_over: impl Fn() -> bool,
    found: &mut Overdue,
) -> Result<(), StoreError> {
    let first = first_hour(checked, now);
    let (mut empty_before, mut is_empty_so_far, mut added) = (first, true, Ok(()));
    for hour in first.to(now.hour()) {
        let (until, mut after, mut is_empty) = (now - DUE_OVERDUE_AFTER, None, true);
        loop {
            if found.entries >= DUE_OVERDUE_READ || is_over() {
                return added;
            }
            let page = app.due.entries(part, hour, (Time::EPOCH, until), after).await?;
            is_empty &= page.entries.is_empty() && page.unknown == 0;
            let entries: Vec<DueEntry> = page.entries.into_iter().map(|row| row.entry).collect();
            if let Some(entry) = entries.first() {
                found.oldest = Some(found.oldest.map_or(entry.at, |old| old.min(entry.at)));
            }
            found.entries += entries.len() as u64 + page.unknown;
            if added.is_ok() {
                // mutation: due-overdue
                added = app.valkey.add_overdue(part, &entries, now).await;
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
    // mutation: due-hour-by-hour
    let most = |old: Hour| old.next().max((now - DUE_CLOCK_AHEAD_MAX).hour());
    let empty_before = checked.map_or(empty_before, |old| empty_before.min(most(old)));
    // one that was noted too early goes back
    // mutation: due-checked
    if checked != Some(empty_before) {
        app.due.set_checked(part, empty_before).await?;
    }
    added
}

/// Takes a batch of a part and hands it on. Returns the size of the batch.
async fn hand_on(app: &App, part: DuePart, batch: usize, now: Time) -> Result<u64, StoreError> {
    let Taken { entries: taken, lease, .. } = app.valkey.take_due(part, batch, now).await?;
    if taken.is_empty() {
        return Ok(0);
    }
    let messages: Vec<ItemDue> = taken.iter().cloned().map(ItemDue::new).collect();
    let watch = Stopwatch::start();
    let delay = |one: &ItemDue| delay_until(one.entry.at, now + watch.elapsed());
    app.outbox.send_all_after_on(DUE_ITEMS, messages.iter().map(|one| (one, delay(one)))).await?;
    // mutation: due-handed-on
    app.valkey.due_handed_on(part, (lease, &taken), now).await?;
    Ok(taken.len() as u64)
}

/// Hands on what DynamoDB has of a part, soonest first, without Valkey. Nobody notes this, so the next look-aheads hand
/// on the same items again, which leads to nothing.
async fn hand_on_without_valkey(
    app: &App,
    part: DuePart,
    first: Hour,
    (now, watch): (Time, Stopwatch),
    is_over: impl Fn() -> bool,
) -> Result<u64, StoreError> {
    let (until, mut handed_on) = (now + DUE_LOOK_AHEAD, 0);
    for hour in first.to(until.hour()) {
        let mut after = None;
        while handed_on < DUE_WITHOUT_VALKEY && !is_over() {
            let page = app.due.entries(part, hour, (Time::EPOCH, until), after).await?;
            let now = || now + watch.elapsed();
            // mutation: due-sent-again
            let sent = page.entries.into_iter().filter(|row| is_sent_again(row, now()));
            let messages: Vec<ItemDue> = sent.map(|row| ItemDue::new(row.entry)).collect();
            let delayed = messages.iter().map(|one| (one, delay_until(one.entry.at, now())));
            // mutation: due-without-valkey
            app.outbox.send_all_after_on(DUE_ITEMS, delayed).await?;
            handed_on += messages.len() as u64;
            after = page.next;
            if after.is_none() {
                break;
            }
        }
    }
    Ok(handed_on)
}
