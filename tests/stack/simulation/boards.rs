//! Users make, change and delete boards and the scores of their members, and readers look, while everything goes wrong:
//! messages arrive twice, late and out of order; workers die between any two calls; calls fail with or without effect; and
//! Valkey loses its data or falls back to an older state.
//!
//! No page pairs a rank with other scores, is half-built or has more members than the limit. At rest, the copy of each
//! board has exactly the rows in DynamoDB, every acknowledged addition counts once and every other one at most once, every
//! card equals its item, and nothing is left of a deleted board.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use aws_sdk_dynamodb::config::retry::RetryConfig;
use fanfold_core::board::BoardSettings;
use fanfold_core::limits::COMMIT_GRACE;
use fanfold_core::{MemberName, Scores, Time};
use fanfold_engines::valkey::PageOf;
use fanfold_kinds::Error;
use fanfold_kinds::boards::change::{ScoreChange, ScoreOutcome as Changed, What, change};
use fanfold_kinds::boards::read::{page, standings};
use fanfold_kinds::boards::{BoardRef, compare, settings};
use fanfold_kinds::subscriptions::ChangeEvent;
use fanfold_runtime::clock::Deadline;
use fanfold_runtime::sqs::Outcome;
use futures::future::LocalBoxFuture;
use serde_json::json;

use super::apps::{Apps, BOARDS, PEOPLE, cloud_with_profiles, id, identity};
use super::cloud::{Cloud, Faults};
use super::history::{Checked, History, Kind, Play, TIMEOUT, play_all};
use super::play::{Message, check_cards, handle_within, message};
use super::server::Server;
use super::tasks::runtime;
use crate::harness::board_settings;
use crate::harness::dice::Dice;

/// A board that only additions and certain sets change, one with a limit, and one that is deleted and made again.
const SUMS: &str = "sums";
const LIMITED: &str = "limited";
const PASSING: &str = "passing";
/// Members of the board of sums that are only added to, and those that are only set and removed.
const ADDED: [&str; 2] = ["a", "b"];
const SET: [&str; 8] = ["m", "n", "o", "p", "q", "r", "s", "t"];
const OTHERS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
/// Additions, each of a bit of its own.
const ADDITIONS_MAX: u32 = 60;

/// What a worker did.
pub enum Done {
    /// An addition of a bit to a member.
    Added(&'static str, u32, Result<Changed, Error>),
    /// A member has this score, or none.
    Set(&'static str, Option<i64>, Result<Changed, Error>),
    Other(&'static str),
    /// What was wrong with an answer.
    Read(Checked),
    /// The number of changes of a member before the read, and its score.
    Seen(&'static str, u64, Option<i64>),
}

/// What is known of a member that is set.
#[derive(Debug, Default, Clone, Copy)]
struct Known {
    /// `None`: a request is under way, or had no answer. Otherwise the score, or none.
    score: Option<Option<i64>>,
    changes: u64,
    under_way: u64,
    /// Whether requests overlap, so that either may be the last one.
    overlaps: bool,
}

/// What the histories of boards know.
#[derive(Default)]
struct Boards {
    known: BTreeMap<&'static str, Known>,
    /// Additions with their members: whether they are acknowledged.
    additions: BTreeMap<u32, (&'static str, bool)>,
    /// Additions with keys, which may be asked for again.
    keyed: Vec<(&'static str, u32)>,
    next_score: i64,
    /// One call in this many fails: of the cloud, and of Valkey. 0: none. If Valkey takes every change, readers must see
    /// every answered change.
    one_in: [u64; 2],
}

fn named(board: &str) -> BoardRef {
    BoardRef { owner: id(PEOPLE[0]), name: board.parse().expect("a name"), day: None }
}

fn member(name: &str) -> MemberName {
    name.parse().expect("a name")
}

fn scores(score: i64) -> Scores {
    Scores::new(&[score]).expect("a score")
}

fn settings_of(ranks: &str, limit: Option<u64>) -> BoardSettings {
    board_settings(json!({"ranks": ranks, "limit": limit, "kept_days": 1, "open": true}))
}

impl History<Boards> {
    fn put(&mut self, board: &'static str) {
        let ranks = *self.dice.pick(&["competition", "dense", "ordinal"]);
        self.put_with(board, ranks);
    }

    fn put_with(&mut self, board: &'static str, ranks: &'static str) {
        let limit = (board == LIMITED).then(|| 2 + self.dice.below(3));
        let (apps, now) = (self.apps.clone(), self.clock());
        let work = async move {
            let (owner, board) = (identity(PEOPLE[0]), named(board).name);
            let settings = settings_of(ranks, limit);
            let _answer = settings::put(&apps.app, &owner, &board, settings, now).await;
            Done::Other("put")
        };
        self.begin(None, work);
    }

    fn delete(&mut self) {
        let (apps, now) = (self.apps.clone(), self.clock());
        let work = async move {
            let (owner, board) = (identity(PEOPLE[0]), named(PASSING).name);
            let _answer = settings::delete(&apps.app, &owner, &board, now).await;
            Done::Other("deleted")
        };
        self.begin(None, work);
    }

    /// Adds a bit that was never added, or repeats an addition with its key.
    fn add(&mut self) {
        let next = self.kind.additions.len() as u32;
        let again = !self.kind.keyed.is_empty() && self.dice.one_in(3);
        let (name, bit, key) = match again {
            true => {
                let (name, bit) = *self.dice.pick(&self.kind.keyed);
                (name, bit, Some(format!("key {bit}")))
            }
            false if next == ADDITIONS_MAX => return,
            false => {
                let name = ADDED[self.dice.below(2) as usize];
                self.kind.additions.insert(next, (name, false));
                let key = self.dice.one_in(2).then(|| format!("key {next}"));
                self.kind.keyed.extend(key.as_ref().map(|_| (name, next)));
                (name, next, key)
            }
        };
        let (apps, now, user) = (self.apps.clone(), self.clock(), PEOPLE[1]);
        let work = async move {
            let changes = [ScoreChange { member: member(name), what: What::Add(scores(1 << bit)) }];
            let board = named(SUMS);
            let done =
                change(&apps.app, &identity(user), &board, &changes, key.as_deref(), now).await;
            Done::Added(name, bit, done.map(|done| done.outcomes[0].1))
        };
        self.begin(None, work);
    }

    fn set(&mut self) {
        let name = SET[self.dice.below(SET.len() as u64) as usize];
        self.kind.next_score += 1;
        let score = (!self.dice.one_in(4)).then_some(self.kind.next_score);
        self.set_to(name, score);
    }

    fn set_to(&mut self, name: &'static str, score: Option<i64>) {
        let what = score.map_or(What::Remove, |score| What::Set(scores(score)));
        let known = self.kind.known.entry(name).or_default();
        known.changes += 1;
        known.overlaps |= known.under_way > 0;
        known.under_way += 1;
        let (apps, now) = (self.apps.clone(), self.clock());
        let user = PEOPLE[self.dice.below(PEOPLE.len() as u64) as usize];
        let work = async move {
            let changes = [ScoreChange { member: member(name), what }];
            let (user, board) = (identity(user), named(SUMS));
            let done = change(&apps.app, &user, &board, &changes, None, now).await;
            Done::Set(name, score, done.map(|done| done.outcomes[0].1))
        };
        self.begin(Some(name), work);
    }

    /// Changes some members of another board in one request.
    fn change_others(&mut self, board: &'static str) {
        let mut names = OTHERS;
        self.dice.shuffle(&mut names);
        let count = 1 + self.dice.below(3) as usize;
        let changes: Vec<ScoreChange> = names[..count]
            .iter()
            .map(|name| {
                let score = scores(self.dice.below(5) as i64);
                let what = match self.dice.below(6) {
                    0 => What::Remove,
                    1 | 2 => What::Add(score),
                    3 => What::SetIfBetter(score),
                    _ => What::Set(score),
                };
                ScoreChange { member: member(name), what }
            })
            .collect();
        let (apps, now) = (self.apps.clone(), self.clock());
        let user = PEOPLE[self.dice.below(PEOPLE.len() as u64) as usize];
        let work = async move {
            let (user, board) = (identity(user), named(board));
            let done = change(&apps.app, &user, &board, &changes, None, now).await;
            let is_fallen = done.is_ok_and(|done| !done.out.is_empty());
            Done::Other(if is_fallen { "fallen" } else { "changed" })
        };
        self.begin(None, work);
    }

    fn read_page(&mut self, board: &'static str) {
        let (apps, now) = (self.apps.clone(), self.clock());
        let work = async move {
            let first = PageOf::Rank { from: 1, limit: 100 };
            let Ok(shown) = page(&apps.app, &named(board), first, now).await else {
                return Done::Other("not shown");
            };
            let (settings, page) = (&shown.target.board.settings, shown.page);
            let sorted = page.rows.is_sorted_by(|a, b| {
                let scores = settings.orders.compare(&a.scores, &b.scores);
                scores.then_with(|| a.member.cmp(&b.member)).is_lt()
            });
            let among: Vec<_> =
                page.rows.iter().map(|row| (row.member.clone(), row.scores)).collect();
            let ranks = shown.target.copy().ranks_among(&among);
            let right = ranks.iter().zip(&page.rows).all(|(rank, row)| *rank == row.rank);
            let fits = settings.limit.is_none_or(|limit| page.members <= limit);
            let is_whole = page.members == page.rows.len() as u64;
            Done::Read(match sorted && right && fits && is_whole {
                true => Ok(()),
                false => Err(format!("a wrong page of {board}: {page:?}, {settings:?}")),
            })
        };
        self.begin(None, work);
    }

    fn read_member(&mut self) {
        // the most telling ones: those whose last change was answered
        let is_certain = |known: &Known| known.score.is_some() && known.under_way == 0;
        let certain = self.kind.known.iter().filter(|(_, known)| is_certain(known));
        let certain: Vec<&'static str> = certain.map(|(name, _)| *name).collect();
        let among = if certain.is_empty() { &SET[..] } else { &certain[..] };
        let name = *self.dice.pick(among);
        self.read_one(name);
    }

    fn read_one(&mut self, name: &'static str) {
        let changes = self.kind.known.get(name).map_or(0, |known| known.changes);
        let (apps, now) = (self.apps.clone(), self.clock());
        let work = async move {
            let asked = [member(name)];
            match standings(&apps.app, &named(SUMS), &asked, now).await {
                Ok(found) => {
                    let score = found.standings[0].1.map(|of| of.scores.as_slice()[0]);
                    Done::Seen(name, changes, score)
                }
                Err(_) => Done::Other("not shown"),
            }
        };
        self.begin(None, work);
    }

    fn note_done(&mut self, done: Done) {
        match done {
            Done::Added(name, bit, Ok(Changed::Placed { .. })) => {
                self.count("added", true);
                self.kind.additions.insert(bit, (name, true));
            }
            Done::Added(name, bit, Ok(other)) => {
                self.fail_with(format!("{name} and bit {bit}: {other:?}"));
            }
            Done::Added(_, _, Err(_)) => self.count("refused", true),
            Done::Set(name, score, changed) => {
                let known = self.kind.known.entry(name).or_default();
                known.changes += 1;
                known.under_way -= 1;
                let is_made = changed.is_ok();
                let is_certain = is_made && known.under_way == 0 && !known.overlaps;
                known.score = is_certain.then_some(score);
                known.overlaps &= known.under_way > 0;
                self.count("set", is_made);
                self.count("refused", !is_made);
            }
            Done::Seen(name, changes, score) => {
                let known = self.kind.known.get(name).copied().unwrap_or_default();
                let is_certain =
                    self.kind.one_in[1] == 0 && known.changes == changes && known.under_way == 0;
                if let (Some(certain), true) = (known.score, is_certain) {
                    self.count("seen", true);
                    if certain != score {
                        self.wrong =
                            Some(format!("{name} was shown with {score:?}, not {certain:?}"));
                    }
                }
            }
            Done::Read(Ok(())) => self.count("pages", true),
            Done::Read(Err(wrong)) => self.fail_with(wrong),
            Done::Other(what) => self.count("fallen", what == "fallen"),
        }
    }

    async fn check_all(&mut self) -> Checked {
        self.set_free();
        // no other clock was further ahead
        let now = self.now + Duration::from_secs(1);
        let mut live = BTreeSet::new();
        for board in [SUMS, LIMITED, PASSING] {
            let first = PageOf::Rank { from: 1, limit: 100 };
            let mut shown = page(&self.apps.app, &named(board), first, now).await;
            for _ in 0..50 {
                if !matches!(shown, Err(Error::BoardBuilding)) {
                    break;
                }
                // a rebuild that died has a lease, or a message makes the copy
                self.settle();
                self.wait(Duration::from_secs(60)).await;
                self.rest().await;
                self.apps.steps.set_free(true);
                let now = self.now + Duration::from_secs(1);
                shown = page(&self.apps.app, &named(board), first, now).await;
            }
            let shown = match shown {
                Err(Error::NoSuchBoard { .. }) if board == PASSING => continue,
                shown => shown.map_err(|error| format!("{board} is not shown: {error:?}"))?,
            };
            let (rows, copies) = (shown.target.rows(), &self.apps.app);
            let mut members = Vec::new();
            for part in 0..16 {
                let page = copies.boards.page(rows.id, part, None, None).await;
                let page = page.map_err(|error| format!("{error:?}"))?;
                let of_part = page.rows.into_iter();
                members.extend(of_part.filter_map(|row| Some((row.member, row.scores?))));
                live.insert(format!("scores#{}#{part}", rows.id));
            }
            let mut of_copy: Vec<_> =
                shown.page.rows.into_iter().map(|row| (row.member, row.scores)).collect();
            members.sort();
            of_copy.sort();
            if members != of_copy {
                return Err(format!("{board}: the rows are {members:?}, the copy {of_copy:?}"));
            }
            let limit = shown.target.board.settings.limit.unwrap_or(u64::MAX);
            if members.len() as u64 > limit {
                return Err(format!("{board} has {} members", members.len()));
            }
            let differing = compare::differing(copies, &shown.target, now).await;
            let differing = differing.map_err(|error| format!("{error:?}"))?;
            if differing.is_none_or(|differing| !differing.is_empty()) {
                return Err(format!("{board}: the audit finds differences"));
            }
            if board == SUMS {
                self.check_sums(&members.into_iter().collect())?;
            }
        }
        self.check_deleted(&live)?;
        check_cards(&self.apps, now).await?;
        Ok(())
    }

    /// Only live boards have scores.
    fn check_deleted(&self, live: &BTreeSet<String>) -> Checked {
        let cloud = self.apps.cloud.lock();
        let is_left = |pk: &str| pk.starts_with("scores#") && !live.contains(pk);
        let left = cloud.items(BOARDS).find(|item| item["pk"]["S"].as_str().is_some_and(is_left));
        left.map_or(Ok(()), |item| Err(format!("a score of a deleted board is left: {item:?}")))
    }

    /// Every acknowledged addition counts, and every acknowledged set stands.
    fn check_sums(&self, members: &BTreeMap<MemberName, Scores>) -> Checked {
        let score = |name| members.get(&member(name)).map(|scores| scores.as_slice()[0]);
        for name in ADDED {
            let sum = score(name).unwrap_or_default();
            let of = |bit: u32| self.kind.additions.get(&bit).filter(|(of, _)| *of == name);
            for bit in 0..62 {
                let counts = sum >> bit & 1 == 1;
                let wrong = match of(bit) {
                    None => counts,
                    Some((_, is_acknowledged)) => *is_acknowledged && !counts,
                };
                if wrong {
                    return Err(format!("{name} has {sum:b}, wrong at bit {bit}: {:?}", of(bit)));
                }
            }
        }
        for name in SET {
            let Some(certain) = self.kind.known.get(name).and_then(|known| known.score) else {
                continue;
            };
            if score(name) != certain {
                return Err(format!("{name} has {:?}, not {certain:?}", score(name)));
            }
        }
        Ok(())
    }
}

impl Kind for Boards {
    type Done = Done;
    /// The member that a worker sets.
    type Subject = Option<&'static str>;
    type Message = Message;

    fn receive(history: &mut History<Self>, queue: &str, body: &str, delay: Duration) {
        let message = message(queue, body);
        // these messages have a delay that is longer than their writer lives
        let is_late = matches!(
            message,
            Message::Change(ChangeEvent::ScoresChanged(_) | ChangeEvent::BoardChanged(_))
        );
        let delay = if is_late { COMMIT_GRACE } else { delay };
        history.mail.push((history.now + delay, message));
    }

    fn handle(
        history: &History<Self>,
        message: Message,
        now: Time,
        deadline: Deadline,
    ) -> LocalBoxFuture<'static, Outcome<Message>> {
        Box::pin(handle_within(history.apps.clone(), message, now, deadline))
    }

    fn note(history: &mut History<Self>, _worker: usize, done: Done) {
        history.note_done(done);
    }

    fn died(history: &mut History<Self>, worker: usize) {
        let subject = history.workers[worker].subject;
        if let Some(member) = subject {
            let known = history.kind.known.entry(member).or_default();
            known.changes += 1;
            // the change may be committed and not placed, until its event arrives
            known.score = None;
            known.under_way += 1_000;
        }
    }
}

impl Play for Boards {
    const NAME: &'static str = "boards";

    fn begin(server: &Server, start: &Cloud, seed: u64) -> History<Self> {
        let mut dice = Dice(seed);
        let mut apps = Apps::on(server, &[], RetryConfig::disabled(), dice.one_in(2));
        // some histories copy boards by messages
        apps.app.settings.rows_in_request = if dice.one_in(2) { 1 } else { 250 };
        let one_in = [*dice.pick(&[0, 0, 30]), *dice.pick(&[0, 0, 30])];
        History::new(apps, start, dice, Self { one_in, ..Self::default() })
    }

    async fn play(history: &mut History<Self>) {
        history.set_free();
        for board in [SUMS, LIMITED, PASSING] {
            history.put(board);
        }
        history.settle();
        history.set_ordered();
        let seed = history.dice.next();
        history.set_faults(history.kind.one_in, seed);
        for _ in 0..1_100 + history.dice.below(600) {
            match history.dice.below(190) {
                0..4 => history.add(),
                4..8 => history.set(),
                8..11 => history.change_others(LIMITED),
                11..13 => history.change_others(PASSING),
                13 if history.dice.one_in(3) => history.delete(),
                14 if history.dice.one_in(3) => {
                    let board = *history.dice.pick(&[SUMS, LIMITED, PASSING, PASSING]);
                    history.put(board);
                }
                15..19 => {
                    let board = *history.dice.pick(&[SUMS, LIMITED, PASSING]);
                    history.read_page(board);
                }
                19..25 => history.read_member(),
                other => {
                    let waits = [Duration::from_millis(200), Duration::from_secs(2), TIMEOUT];
                    history.go_on(other.wrapping_sub(25), &waits).await;
                }
            }
            history.settle();
        }
        history.set_faults([0, 0], 0);
        history.rest().await;
    }

    async fn check(history: &mut History<Self>) -> Checked {
        history.check_all().await
    }
}

/// A writer makes this many calls, and waits. Meanwhile the ranks of the board change, and a reader makes the copy for these.
/// Then the writer goes on, and a request that begins after its answer sees the change. Returns whether the writer waited.
async fn waits_after(server: &Server, start: &Cloud, calls: usize) -> bool {
    let apps = Apps::on(server, &[], RetryConfig::disabled(), false);
    let mut history = History::new(apps, start, Dice(calls as u64), Boards::default());
    history.set_free();
    history.put_with(SUMS, "ordinal");
    history.settle();
    history.set_to("m", Some(1));
    history.settle();
    assert!(history.is_idle() && history.counts["set"] == 1);
    history.apps.steps.set_free(false);
    history.set_to("m", Some(2));
    history.settle();
    for _ in 0..calls {
        history.step().await;
    }
    let waited = !history.is_idle();
    history.apps.steps.set_free(true);
    history.put_with(SUMS, "dense");
    history.settle();
    history.read_page(SUMS);
    history.settle();
    assert_eq!((history.is_idle(), history.counts["pages"]), (!waited, 1));
    while !history.is_idle() {
        history.step().await;
    }
    history.read_one("m");
    history.settle();
    assert_eq!(
        (history.wrong, history.counts["seen"]),
        (None, 1),
        "the writer waited after {calls}"
    );
    waited
}

#[test]
fn a_change_is_ranked_on_the_copy_of_the_present_settings() {
    let (server, runtime) = (Server::start(), runtime());
    let start = cloud_with_profiles(&server, &runtime, 1);
    let waited = |calls: &usize| runtime.block_on(waits_after(&server, &start, *calls));
    let calls = (0..50).take_while(waited).count();
    assert!((5..50).contains(&calls), "a writer makes {calls} calls");
}

/// Some answers of DynamoDB are lost, and the SDK repeats the call.
#[test]
fn a_removal_that_is_repeated_is_a_removal() {
    let (server, runtime) = (Server::start(), runtime());
    let start = cloud_with_profiles(&server, &runtime, 1);
    let mut removed = 0;
    for seed in 0..60 {
        let apps = Apps::on(&server, &[], RetryConfig::standard().with_max_attempts(4), false);
        let History { apps, now, .. } = History::new(apps, &start, Dice(seed), Boards::default());
        apps.steps.set_free(true);
        let (owner, board) = (identity(PEOPLE[0]), named(SUMS));
        let changed = async |what| {
            let changes = [ScoreChange { member: member("m"), what }];
            let done = change(&apps.app, &owner, &board, &changes, None, now).await;
            done.map(|done| done.outcomes[0].1)
        };
        runtime.block_on(async {
            let settings = settings_of("dense", None);
            settings::put(&apps.app, &owner, &board.name, settings, now).await.expect("a board");
            changed(What::Set(scores(1))).await.expect("set");
            apps.cloud.lock().faults = Faults { one_in: 4, dice: Dice(seed) };
            if let Ok(outcome) = changed(What::Remove).await {
                assert_eq!(outcome, Changed::Gone, "seed {seed}");
                removed += 1;
            }
        });
    }
    assert!(removed > 30, "{removed}");
}

#[test]
fn boards_are_exact_whatever_goes_wrong() {
    play_all::<Boards>(40, 10, &["added", "set", "refused", "seen", "pages", "fallen"]);
}
