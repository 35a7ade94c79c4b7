//! The look-ahead finds what is due within two minutes, and hands it on to SQS.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use fanfold_core::limits::{CONCURRENCY, DUE_LOOK_AHEAD, DUE_PARTS};
use fanfold_core::registry::DUE_ITEMS;
use fanfold_core::time::millis;
use fanfold_core::{DuePart, Hour, Time};
use fanfold_runtime::clock::{self, Deadline, Stopwatch};
use fanfold_runtime::log::Chain;
use fanfold_runtime::{StoreError, metrics};
use futures::stream::{self, StreamExt as _};
use serde::Serialize;

use super::check::{Overdue, check, first_hour};
use super::engine::{Due, delay_until};
use super::index::Indexed;
use super::look::Look;
use super::message::ItemDue;
use crate::rounds::rounds;
use crate::valkey::{Loaded, Taken};

/// How far ahead Valkey knows all due items, at least.
const DUE_HORIZON: Duration = Duration::from_secs(3_600);
/// Entries of a part that a look-ahead hands on from DynamoDB while Valkey does not answer, or one query more. At 500 due
/// items a second, two minutes of a part have 3,750.
const DUE_WITHOUT_VALKEY: u64 = 4_000;
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

/// Whether an item that nobody has noted is handed on again by a look-ahead at this time: before its time and in the first
/// minute after it, unless its writer sent the message, and then in one minute of four. So an outage does not fill the queue.
fn is_sent_again(Indexed { entry, is_announced }: &Indexed, now: Time) -> bool {
    let minutes = now.since(entry.at).as_secs() / 60;
    match minutes {
        0 => !is_announced,
        // items of different users in different minutes
        _ => (minutes + entry.item.owner.0 / u64::from(DUE_PARTS)).is_multiple_of(4),
    }
}

/// Whether so little time is left that the look-ahead ends.
fn is_over(deadline: Deadline) -> bool {
    deadline.is_within(DUE_TIME_LEFT_MIN)
}

/// Whether Valkey knows all that a look-ahead hands on.
fn is_enough(known: Option<Time>, now: Time) -> bool {
    known.is_some_and(|known| known >= now + DUE_LOOK_AHEAD)
}

/// A look-ahead, and what it has done so far.
struct Run<'a> {
    look: Look<'a>,
    now: Time,
    watch: Stopwatch,
    deadline: Deadline,
    /// The time up to which Valkey knows all entries, of each part that it answered for.
    known: BTreeMap<DuePart, Option<Time>>,
    /// Parts that Valkey did not answer for, or refused to change.
    without_valkey: BTreeSet<DuePart>,
    handed_on: u64,
    overdue: Overdue,
    loaded: u64,
    /// The first error.
    failed: Result<(), StoreError>,
}

/// Hands on what is due within [`DUE_LOOK_AHEAD`]. What Valkey knows goes first, without DynamoDB. A part that Valkey does not
/// answer for is handed on from DynamoDB. An error is returned after all parts were tried; the next run goes on. `tags` are those
/// of all kinds.
pub async fn look_ahead(
    due: Due<'_>,
    tags: &[&str],
    now: Time,
    deadline: Deadline,
) -> Result<LookedAhead, StoreError> {
    let mut run = Run {
        look: Look { due, tags },
        now,
        watch: Stopwatch::start(),
        deadline,
        known: BTreeMap::new(),
        without_valkey: BTreeSet::new(),
        handed_on: 0,
        overdue: Overdue::default(),
        loaded: 0,
        failed: Ok(()),
    };
    run.ask_valkey().await;
    let enough = run.known.iter().filter(|(_, complete)| is_enough(**complete, now));
    let enough: Vec<DuePart> = enough.map(|(part, _)| *part).collect();
    run.hand_on_known(enough).await;
    let mut checked = HashMap::new();
    match due.index.checked().await {
        Ok(hours) => {
            checked = hours;
            // an hour that is ahead was noted by a look-ahead whose clock was far ahead
            checked.retain(|_, hour| *hour <= now.hour());
            run.prepare(&checked).await;
        }
        Err(error) => run.fail(error),
    }
    let answered = run.known.keys().filter(|part| !run.without_valkey.contains(part));
    run.hand_on_known(answered.copied().collect()).await;
    run.hand_on_others(&checked).await;
    run.result()
}

impl Run<'_> {
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

    /// Asks up to what time Valkey knows all entries of each part.
    async fn ask_valkey(&mut self) {
        let (valkey, now) = (self.look.due.valkey, self.now);
        let asked: Vec<_> =
            DuePart::all().map(async |part| (part, valkey.take_due(part, 0, now).await)).collect();
        let mut answers = stream::iter(asked).buffer_unordered(CONCURRENCY);
        while let Some((part, answer)) = answers.next().await {
            match answer {
                Ok(taken) => drop(self.known.insert(part, taken.complete)),
                Err(error) => self.note([(part, error)]),
            }
        }
    }

    /// Hands on what Valkey knows of these parts.
    async fn hand_on_known(&mut self, parts: Vec<DuePart>) {
        let Self { look, now, watch, deadline, .. } = *self;
        let take = async |part, size| hand_on(look, part, size, now + watch.elapsed()).await;
        let is_over = || is_over(deadline);
        let (count, errors) = rounds(parts, (look.due.batch, u64::MAX), is_over, take).await;
        self.handed_on += count;
        self.note(errors);
    }

    /// Loads what Valkey does not know, and checks for overdue entries.
    async fn prepare(&mut self, checked: &HashMap<DuePart, Hour>) {
        let Self { look, now, deadline, .. } = *self;
        let is_over = || is_over(deadline);
        let prepared: Vec<_> = DuePart::all()
            .map(|part| {
                let (known, checked) =
                    (self.known.get(&part).copied(), checked.get(&part).copied());
                async move {
                    let loaded = match known {
                        Some(known) => load(look, part, known, now).await,
                        None => Ok(false),
                    };
                    (part, loaded, check(look, part, checked, now, is_over).await)
                }
            })
            .collect();
        let mut prepared = stream::iter(prepared).buffer_unordered(CONCURRENCY);
        while let Some((part, loaded, (found, checked))) = prepared.next().await {
            match loaded {
                Ok(loaded) => self.loaded += u64::from(loaded),
                Err(error) => self.note([(part, error)]),
            }
            self.overdue.entries += found.entries;
            self.overdue.oldest = self.overdue.oldest.into_iter().chain(found.oldest).min();
            if let Err(error) = checked {
                self.fail(error);
            }
        }
    }

    /// Hands on the parts that Valkey did not answer for.
    async fn hand_on_others(&mut self, checked: &HashMap<DuePart, Hour>) {
        let Self { look, now, watch, deadline, .. } = *self;
        let is_over = || is_over(deadline);
        let direct = self.without_valkey.iter().map(|part| {
            let first = first_hour(checked.get(part).copied(), now);
            hand_on_without_valkey(look, *part, first, (now, watch), is_over)
        });
        let direct: Vec<_> = direct.collect();
        let mut direct = stream::iter(direct).buffer_unordered(CONCURRENCY);
        while let Some(count) = direct.next().await {
            match count {
                Ok(count) => self.handed_on += count,
                Err(error) => self.fail(error),
            }
        }
    }

    fn result(self) -> Result<LookedAhead, StoreError> {
        let Self { handed_on, overdue: Overdue { entries: overdue, oldest }, loaded, .. } = self;
        metrics::looked_ahead(handed_on, overdue);
        let oldest_ms = oldest.map_or(0, |oldest| millis(self.now.since(oldest)));
        tracing::info!(handed_on, overdue, oldest_ms, loaded, "looked ahead");
        if let Err(error) = &self.failed {
            tracing::warn!(error = %Chain(error), "the look-ahead is not complete");
        }
        self.failed.map(|()| LookedAhead { handed_on, overdue, oldest_ms, loaded })
    }
}

/// Loads the entries of a part, if Valkey does not know all that is due within [`DUE_HORIZON`]. Returns whether it
/// loaded any hour.
async fn load(
    look: Look<'_>,
    part: DuePart,
    known: Option<Time>,
    now: Time,
) -> Result<bool, StoreError> {
    let due = look.due;
    // mutation: due-load
    if known.is_some_and(|known| known >= now + DUE_HORIZON) {
        return Ok(false);
    }
    // to the end of an hour, so that most look-aheads need not load
    let until = (now + DUE_HORIZON).hour().next().start();
    let token = format!("{:016x}", clock::random());
    let load = due.valkey.begin_due(part, &token, until).await?;
    // earlier entries are overdue, so they are found by the check
    let from = load.complete.max(now.hour().start());
    for hour in from.hour().to((until - Duration::from_millis(1)).hour()) {
        let mut after = None;
        loop {
            let page = look.entries((part, hour), (from, Time::MAX), after).await?;
            // later entries of the same millisecond may follow
            let complete = page.next.as_ref().map_or(hour.next().start(), |next| next.at);
            // mutation: due-load-announced
            let entries = page.entries.iter().map(|row| (&row.entry, row.is_announced));
            let of = (part, load.token.as_str());
            let loaded = due.valkey.load_due(of, entries, complete, now);
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

/// Takes a batch of a part and hands it on. Returns the size of the batch.
async fn hand_on(
    look: Look<'_>,
    part: DuePart,
    batch: usize,
    now: Time,
) -> Result<u64, StoreError> {
    let due = look.due;
    let Taken { entries: mut taken, lease, .. } = due.valkey.take_due(part, batch, now).await?;
    // the leases of the others end
    taken.retain(|entry| look.knows(entry));
    if taken.is_empty() {
        return Ok(0);
    }
    let messages: Vec<ItemDue> = taken.iter().cloned().map(ItemDue::new).collect();
    let watch = Stopwatch::start();
    let delay = |one: &ItemDue| delay_until(one.entry.at, now + watch.elapsed());
    due.outbox.send_all_after_on(DUE_ITEMS, messages.iter().map(|one| (one, delay(one)))).await?;
    due.valkey.due_handed_on(part, (lease, &taken), now).await?;
    Ok(taken.len() as u64)
}

/// Hands on what DynamoDB has of a part, soonest first, without Valkey. Nobody notes this, so the next look-aheads hand
/// on the same items again, which leads to nothing.
async fn hand_on_without_valkey(
    look: Look<'_>,
    part: DuePart,
    first: Hour,
    (now, watch): (Time, Stopwatch),
    is_over: impl Fn() -> bool,
) -> Result<u64, StoreError> {
    let due = look.due;
    let (until, mut handed_on) = (now + DUE_LOOK_AHEAD, 0);
    for hour in first.to(until.hour()) {
        let mut after = None;
        while handed_on < DUE_WITHOUT_VALKEY && !is_over() {
            let page = look.entries((part, hour), (Time::EPOCH, until), after).await?;
            let now = || now + watch.elapsed();
            let sent = page.entries.into_iter().filter(|row| is_sent_again(row, now()));
            let messages: Vec<ItemDue> = sent.map(|row| ItemDue::new(row.entry)).collect();
            let delayed = messages.iter().map(|one| (one, delay_until(one.entry.at, now())));
            // mutation: due-without-valkey
            due.outbox.send_all_after_on(DUE_ITEMS, delayed).await?;
            handed_on += messages.len() as u64;
            after = page.next;
            if after.is_none() {
                break;
            }
        }
    }
    Ok(handed_on)
}
