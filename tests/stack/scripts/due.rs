//! Random sequences of the scripts and commands of due items, compared with a plain model.

use std::collections::BTreeMap;
use std::time::Duration;

use fanfold_core::limits::{CLOCKS_DIFFER, DUE_HANDED_ON_LEASE, DUE_LEASE, DUE_LOOK_AHEAD};
use fanfold_core::{DueEntry, DuePart, Time, UserId};
use fanfold_engines::valkey::{Loaded, Valkey};
use fanfold_kinds::timers::items::entry as timer_entry;
use fanfold_runtime::Config;
use fanfold_runtime::aws::SdkConfig;

use crate::harness::dice::Dice;
use crate::harness::valkeys::Node;

const PART: DuePart = DuePart(7);
const TOKENS: [&str; 3] = ["one", "two", "three"];

/// The expected data of a part.
#[derive(Debug, Default)]
struct Model {
    /// The token, the time up to which the part is complete, and the time up to which a load is under way. `None`: the
    /// server has no horizon, or that of another generation.
    horizon: Option<(String, Time, Time)>,
    scores: BTreeMap<DueEntry, Time>,
}

impl Model {
    fn begin(&mut self, token: &str, until: Time) -> (String, Time) {
        if self.horizon.is_none() {
            self.scores.clear();
        }
        let new = (token.to_owned(), Time::EPOCH, Time::EPOCH);
        let (token, complete, pending) = self.horizon.get_or_insert(new);
        *pending = until.max(*pending);
        (token.clone(), *complete)
    }

    fn load(
        &mut self,
        token: &str,
        entries: &[(DueEntry, bool)],
        until: Time,
        now: Time,
    ) -> Loaded {
        match &mut self.horizon {
            Some((known, complete, _)) if known == token => *complete = until.max(*complete),
            _ => return Loaded::Lost,
        }
        for (entry, is_handed_on) in entries {
            let handed_on = now + DUE_HANDED_ON_LEASE + DUE_LOOK_AHEAD;
            let score = if *is_handed_on { handed_on } else { entry.at };
            self.scores.entry(entry.clone()).or_insert(score);
        }
        Loaded::Done
    }

    fn add_missing(&mut self, entries: &[DueEntry]) {
        for entry in entries {
            self.scores.entry(entry.clone()).or_insert(entry.at);
        }
    }

    fn add_overdue(&mut self, entries: &[DueEntry], now: Time) {
        let latest = now + DUE_HANDED_ON_LEASE + DUE_LOOK_AHEAD + CLOCKS_DIFFER;
        self.scores.retain(|entry, score| *score <= latest || !entries.contains(entry));
        self.add_missing(entries);
    }

    /// Entries that were taken at `then`.
    fn note(&mut self, then: Time, entries: &[DueEntry], now: Time) {
        for entry in entries {
            match self.scores.get_mut(entry) {
                Some(score) if *score == then + DUE_LEASE + DUE_LOOK_AHEAD => {
                    *score = now + DUE_HANDED_ON_LEASE + DUE_LOOK_AHEAD;
                }
                _ => {}
            }
        }
    }

    fn add(&mut self, entry: &DueEntry, score: Time) {
        let Some((_, complete, pending)) = &self.horizon else { return };
        if entry.at < *complete.max(pending) {
            self.scores.entry(entry.clone()).or_insert(score);
        }
    }

    fn take(&mut self, count: usize, now: Time) -> (Option<Time>, Vec<DueEntry>) {
        let Some((_, complete, _)) = &self.horizon else { return (None, Vec::new()) };
        let due = self.scores.iter().filter(|(_, score)| **score <= now + DUE_LOOK_AHEAD);
        let mut due: Vec<(Time, String, DueEntry)> =
            due.map(|(entry, score)| (*score, entry.to_string(), entry.clone())).collect();
        due.sort_unstable();
        let taken: Vec<DueEntry> = due.into_iter().take(count).map(|(_, _, entry)| entry).collect();
        for entry in &taken {
            self.scores.insert(entry.clone(), now + DUE_LEASE + DUE_LOOK_AHEAD);
        }
        (Some(*complete), taken)
    }

    fn set_if_there(&mut self, entry: &DueEntry, score: Time) {
        if let Some(old) = self.scores.get_mut(entry) {
            *old = score;
        }
    }
}

#[tokio::test]
async fn the_scripts_of_due_items_match_the_model() {
    let node = Node::start(&["--enable-debug-command", "yes"]);
    let config = Config::from_pairs([("REDIS_URL", node.url())]);
    let valkey = Valkey::new(&SdkConfig::builder().build(), &config).expect("Valkey");
    let (mut taken, mut lost) = (0, 0);
    for seed in 0..60 {
        node.cli(&["FLUSHALL"]);
        let (mut dice, mut model, mut history) = (Dice(seed), Model::default(), Vec::new());
        let mut last = Vec::new();
        let mut now = Time::from_ms(1_800_000_000_000);
        for _ in 0..120 {
            now += Duration::from_secs(*dice.pick(&[0, 1, 20, 31, 100]));
            let entries: Vec<DueEntry> = (0..1 + dice.below(3)).map(|_| entry(&mut dice)).collect();
            let until = Time::from_ms(1_800_000_000_000) + Duration::from_secs(dice.below(1_500));
            let (token, one) = (*dice.pick(&TOKENS), &entries[0]);
            let step = dice.below(40);
            history.push(format!("{step} {now} {token} {until} {entries:?}"));
            match step {
                0..6 => {
                    let load = valkey.begin_due(PART, token, until).await.expect("begun");
                    assert_eq!(
                        (load.token, load.complete),
                        model.begin(token, until),
                        "{history:#?}"
                    );
                }
                6..12 => {
                    // mostly with the token of the part
                    let known = model.horizon.as_ref().map(|(token, ..)| token.clone());
                    let token = known.filter(|_| step < 10).unwrap_or_else(|| token.to_owned());
                    let rows: Vec<(DueEntry, bool)> =
                        entries.iter().map(|entry| (entry.clone(), dice.one_in(2))).collect();
                    let given = rows.iter().map(|(entry, is_sent)| (entry, *is_sent));
                    let loaded = valkey.load_due((PART, &token), given, until, now).await;
                    let expected = model.load(&token, &rows, until, now);
                    assert_eq!(loaded.expect("loaded"), expected, "{history:#?}");
                    lost += u64::from(expected == Loaded::Lost);
                }
                12..18 => {
                    let is_handed_on = step < 14;
                    valkey.add_due(one, is_handed_on, now).await.expect("added");
                    let lease = now + DUE_HANDED_ON_LEASE + DUE_LOOK_AHEAD;
                    model.add(one, if is_handed_on { lease } else { one.at });
                }
                18..28 => {
                    let count = dice.below(4) as usize;
                    let found = valkey.take_due(PART, count, now).await.expect("taken");
                    let expected = model.take(count, now);
                    assert_eq!((found.complete, found.entries.clone()), expected, "{history:#?}");
                    taken += expected.1.len();
                    if !expected.1.is_empty() {
                        last.push((found.lease, now, expected.1));
                    }
                }
                28..30 => {
                    // mostly by the last one that took entries, soon after
                    let place = last.len().saturating_sub(1 + dice.below(2) as usize);
                    if let Some((lease, then, entries)) = last.get(place) {
                        let noted = valkey.due_handed_on(PART, (*lease, entries), now).await;
                        noted.expect("noted");
                        model.note(*then, entries, now);
                    }
                }
                30..32 => {
                    valkey.due_again(one).await.expect("returned");
                    model.set_if_there(one, one.at);
                }
                32..34 => {
                    // sometimes by another clock than that of the leases
                    let now = if step == 32 { now } else { now - Duration::from_secs(3_000) };
                    valkey.add_overdue(PART, &entries, now).await.expect("added");
                    model.add_overdue(&entries, now);
                }
                34..38 => {
                    valkey.due_done(&entries).await.expect("removed");
                    model.scores.retain(|entry, _| !entries.contains(entry));
                }
                38 => {
                    node.cli(&["FLUSHALL"]);
                    model = Model::default();
                }
                _ => {
                    node.cli(&["DEBUG", "CHANGE-REPL-ID"]);
                    model.horizon = None;
                }
            }
            assert_eq!(scores(&node), model.scores, "{history:#?}");
        }
    }
    assert!(taken > 100 && lost > 20, "too few to prove anything: {taken} taken, {lost} lost");
}

/// One of a few entries of the part.
fn entry(dice: &mut Dice) -> DueEntry {
    let owner = UserId(u64::from(PART.0) + 16 * dice.below(2));
    let name = ["a", "b"][dice.below(2) as usize].parse().expect("a name");
    let at = 1_800_000_000_000 + dice.below(6) * 300_000;
    timer_entry(owner, &name, Time::from_ms(at))
}

fn scores(node: &Node) -> BTreeMap<DueEntry, Time> {
    let text = node.cli(&["ZRANGE", "due:{7}", "0", "-1", "WITHSCORES"]);
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    let pairs = lines.chunks(2).map(|pair| {
        let score = pair[1].parse::<f64>().expect("a score");
        (pair[0].parse().expect("an entry"), Time::from_ms(score as u64))
    });
    pairs.collect()
}
