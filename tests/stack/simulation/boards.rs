//! Users make, change and delete boards and the scores of their members, and readers look, while everything goes wrong:
//! messages arrive twice, late and out of order; workers die between any two calls; calls fail with or without effect; and
//! Valkey loses its data or falls back to an older state.
//!
//! No page pairs a rank with other scores, is half-built or has more members than the limit. At rest, the copy of each
//! board has exactly the rows in DynamoDB, every acknowledged addition counts once and every other one at most once, every
//! card equals its item, and nothing is left of a deleted board.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
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

use super::apps::{Apps, BOARDS, PEOPLE, START, cloud_with_profiles, id, identity};
use super::cloud::{Cloud, Faults};
use super::play::{Message, check_cards, message};
use super::server::Server;
use super::tasks::{Task, runtime, settle};
use crate::harness::board_settings;
use crate::harness::dice::Dice;

/// The timeout of functions that serve requests and queues.
const TIMEOUT: Duration = Duration::from_secs(20);

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
enum Done {
    /// An addition of a bit to a member.
    Added(&'static str, u32, Result<Changed, Error>),
    /// A member has this score, or none.
    Set(&'static str, Option<i64>, Result<Changed, Error>),
    Other(&'static str),
    /// What was wrong with an answer.
    Read(Result<(), String>),
    /// The number of changes of a member before the read, and its score.
    Seen(&'static str, u64, Option<i64>),
    Handled(Outcome<Message>),
}

struct Worker {
    began: Time,
    message: Option<Message>,
    /// The member that it sets.
    member: Option<&'static str>,
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

#[derive(Debug, Default, Clone, Copy)]
struct Counts {
    added: u64,
    set: u64,
    refused: u64,
    seen: u64,
    pages: u64,
    fallen: u64,
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.added += other.added;
        self.set += other.set;
        self.refused += other.refused;
        self.seen += other.seen;
        self.pages += other.pages;
        self.fallen += other.fallen;
    }
}

struct History {
    apps: Rc<Apps>,
    dice: Dice,
    now: Time,
    tasks: Vec<Task<Done>>,
    workers: Vec<Worker>,
    /// Messages that no worker handles, with the time from which they may arrive.
    mail: Vec<(Time, Message)>,
    known: BTreeMap<&'static str, Known>,
    /// Additions with their members: whether they are acknowledged.
    additions: BTreeMap<u32, (&'static str, bool)>,
    /// Additions with keys, which may be asked for again.
    keyed: Vec<(&'static str, u32)>,
    next_score: i64,
    /// One call in this many fails: of the cloud, and of Valkey. 0: none. If Valkey takes every change, readers must see
    /// every answered change.
    one_in: [u64; 2],
    counts: Counts,
    wrong: Option<String>,
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

impl History {
    fn of(apps: Apps, start: &Cloud, dice: Dice, one_in: [u64; 2]) -> Self {
        *apps.cloud.lock() = start.clone();
        apps.cloud.lock().sent.clear();
        apps.valkey.reset();
        Self {
            apps: Rc::new(apps),
            dice,
            now: START,
            tasks: Vec::new(),
            workers: Vec::new(),
            mail: Vec::new(),
            known: BTreeMap::new(),
            additions: BTreeMap::new(),
            keyed: Vec::new(),
            next_score: 0,
            one_in,
            counts: Counts::default(),
            wrong: None,
        }
    }

    fn begin(
        &mut self,
        message: Option<Message>,
        member: Option<&'static str>,
        future: LocalBoxFuture<'static, Done>,
    ) {
        let number = self.workers.len();
        self.workers.push(Worker { began: self.now, message, member });
        self.tasks.push(Task::new(number, String::new(), future));
    }

    /// The clock of the next worker.
    fn clock(&mut self) -> Time {
        self.now + Duration::from_secs(1) - Duration::from_millis(self.dice.below(2_001))
    }

    fn put(&mut self, board: &'static str) {
        let ranks = *self.dice.pick(&["competition", "dense", "ordinal"]);
        self.put_with(board, ranks);
    }

    fn put_with(&mut self, board: &'static str, ranks: &'static str) {
        let limit = (board == LIMITED).then(|| 2 + self.dice.below(3));
        let (apps, now) = (self.apps.clone(), self.clock());
        let future = Box::pin(async move {
            let (owner, board) = (identity(PEOPLE[0]), named(board).name);
            let settings = settings_of(ranks, limit);
            let _answer = settings::put(&apps.app, &owner, &board, settings, now).await;
            Done::Other("put")
        });
        self.begin(None, None, future);
    }

    fn delete(&mut self) {
        let (apps, now) = (self.apps.clone(), self.clock());
        let future = Box::pin(async move {
            let (owner, board) = (identity(PEOPLE[0]), named(PASSING).name);
            let _answer = settings::delete(&apps.app, &owner, &board, now).await;
            Done::Other("deleted")
        });
        self.begin(None, None, future);
    }

    /// Adds a bit that was never added, or repeats an addition with its key.
    fn add(&mut self) {
        let next = self.additions.len() as u32;
        let again = !self.keyed.is_empty() && self.dice.one_in(3);
        let (name, bit, key) = match again {
            true => {
                let (name, bit) = *self.dice.pick(&self.keyed);
                (name, bit, Some(format!("key {bit}")))
            }
            false if next == ADDITIONS_MAX => return,
            false => {
                let name = ADDED[self.dice.below(2) as usize];
                self.additions.insert(next, (name, false));
                let key = self.dice.one_in(2).then(|| format!("key {next}"));
                self.keyed.extend(key.as_ref().map(|_| (name, next)));
                (name, next, key)
            }
        };
        let (apps, now, user) = (self.apps.clone(), self.clock(), PEOPLE[1]);
        let future = Box::pin(async move {
            let changes = [ScoreChange { member: member(name), what: What::Add(scores(1 << bit)) }];
            let board = named(SUMS);
            let done =
                change(&apps.app, &identity(user), &board, &changes, key.as_deref(), now).await;
            Done::Added(name, bit, done.map(|done| done.outcomes[0].1))
        });
        self.begin(None, None, future);
    }

    fn set(&mut self) {
        let name = SET[self.dice.below(SET.len() as u64) as usize];
        self.next_score += 1;
        let score = (!self.dice.one_in(4)).then_some(self.next_score);
        self.set_to(name, score);
    }

    fn set_to(&mut self, name: &'static str, score: Option<i64>) {
        let what = score.map_or(What::Remove, |score| What::Set(scores(score)));
        let known = self.known.entry(name).or_default();
        known.changes += 1;
        known.overlaps |= known.under_way > 0;
        known.under_way += 1;
        let (apps, now) = (self.apps.clone(), self.clock());
        let user = PEOPLE[self.dice.below(PEOPLE.len() as u64) as usize];
        let future = Box::pin(async move {
            let changes = [ScoreChange { member: member(name), what }];
            let (user, board) = (identity(user), named(SUMS));
            let done = change(&apps.app, &user, &board, &changes, None, now).await;
            Done::Set(name, score, done.map(|done| done.outcomes[0].1))
        });
        self.begin(None, Some(name), future);
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
        let future = Box::pin(async move {
            let (user, board) = (identity(user), named(board));
            let done = change(&apps.app, &user, &board, &changes, None, now).await;
            let is_fallen = done.is_ok_and(|done| !done.out.is_empty());
            Done::Other(if is_fallen { "fallen" } else { "changed" })
        });
        self.begin(None, None, future);
    }

    fn read_page(&mut self, board: &'static str) {
        let (apps, now) = (self.apps.clone(), self.clock());
        let future = Box::pin(async move {
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
        });
        self.begin(None, None, future);
    }

    fn read_member(&mut self) {
        // the most telling ones: those whose last change was answered
        let is_certain = |known: &Known| known.score.is_some() && known.under_way == 0;
        let certain = self.known.iter().filter(|(_, known)| is_certain(known));
        let certain: Vec<&'static str> = certain.map(|(name, _)| *name).collect();
        let among = if certain.is_empty() { &SET[..] } else { &certain[..] };
        let name = *self.dice.pick(among);
        self.read_one(name);
    }

    fn read_one(&mut self, name: &'static str) {
        let changes = self.known.get(name).map_or(0, |known| known.changes);
        let (apps, now) = (self.apps.clone(), self.clock());
        let future = Box::pin(async move {
            let asked = [member(name)];
            match standings(&apps.app, &named(SUMS), &asked, now).await {
                Ok(found) => {
                    let score = found.standings[0].1.map(|of| of.scores.as_slice()[0]);
                    Done::Seen(name, changes, score)
                }
                Err(_) => Done::Other("not shown"),
            }
        });
        self.begin(None, None, future);
    }

    /// A message arrives. `again`: it will arrive once more, even if it is handled.
    fn arrive(&mut self, again: bool) {
        let due: Vec<usize> =
            (0..self.mail.len()).filter(|n| self.mail[*n].0 <= self.now).collect();
        if due.is_empty() {
            return;
        }
        let (at, taken) = self.mail.swap_remove(*self.dice.pick(&due));
        if again {
            self.mail.push((at, taken.clone()));
        }
        let (apps, now, message) = (self.apps.clone(), self.now, taken.clone());
        // some functions have no time left
        let hurry = self.dice.one_in(3);
        let deadline = if hurry { Deadline::at(Time::EPOCH) } else { Deadline::NONE };
        let future = Box::pin(async move {
            Done::Handled(match &message {
                Message::Change(event) => event.handle(&apps.app, now, deadline).await.into(),
                Message::Rebuild(order) => order.handle(&apps.app, now, deadline).await.into(),
                other => panic!("{other:?}"),
            })
        });
        self.begin(Some(taken), None, future);
    }

    fn settle(&mut self) {
        let done = settle(&mut self.tasks, &self.apps.steps);
        let sent = std::mem::take(&mut self.apps.cloud.lock().sent);
        for (queue, body) in &sent {
            let message = message(queue, body);
            // these messages have a delay that is longer than their writer lives
            let is_late = matches!(
                message,
                Message::Change(ChangeEvent::ScoresChanged(_) | ChangeEvent::BoardChanged(_))
            );
            let at = if is_late { self.now + COMMIT_GRACE } else { self.now };
            self.mail.push((at, message));
        }
        for (number, done) in done {
            self.note(number, done);
        }
    }

    fn note(&mut self, number: usize, done: Done) {
        match done {
            Done::Added(name, bit, Ok(Changed::Placed { .. })) => {
                self.counts.added += 1;
                self.additions.insert(bit, (name, true));
            }
            Done::Added(name, bit, Ok(other)) => {
                self.wrong = Some(format!("{name} and bit {bit}: {other:?}"));
            }
            Done::Added(_, _, Err(_)) => self.counts.refused += 1,
            Done::Set(name, score, changed) => {
                let known = self.known.entry(name).or_default();
                known.changes += 1;
                known.under_way -= 1;
                let is_made = changed.is_ok();
                let is_certain = is_made && known.under_way == 0 && !known.overlaps;
                known.score = is_certain.then_some(score);
                known.overlaps &= known.under_way > 0;
                self.counts.set += u64::from(is_made);
                self.counts.refused += u64::from(!is_made);
            }
            Done::Seen(name, changes, score) => {
                let known = self.known.get(name).copied().unwrap_or_default();
                let is_certain =
                    self.one_in[1] == 0 && known.changes == changes && known.under_way == 0;
                if let (Some(certain), true) = (known.score, is_certain) {
                    self.counts.seen += 1;
                    if certain != score {
                        self.wrong =
                            Some(format!("{name} was shown with {score:?}, not {certain:?}"));
                    }
                }
            }
            Done::Read(Ok(())) => self.counts.pages += 1,
            Done::Read(Err(wrong)) => self.wrong = Some(wrong),
            Done::Other(what) => self.counts.fallen += u64::from(what == "fallen"),
            Done::Handled(Outcome::Done) => {}
            Done::Handled(Outcome::Failed(_)) => {
                let message = self.workers[number].message.take();
                self.mail.extend(message.map(|message| (self.now, message)));
            }
            Done::Handled(Outcome::Left { rest, .. }) => self.mail.push((self.now, rest)),
        }
    }

    /// A worker dies. Its message goes back to the queue.
    fn kill(&mut self, at: usize) {
        let number = self.tasks.remove(at).number;
        if let Some(member) = self.workers[number].member {
            let known = self.known.entry(member).or_default();
            known.changes += 1;
            // the change may be committed and not placed, until its event arrives
            known.score = None;
            known.under_way += 1_000;
        }
        let message = self.workers[number].message.take();
        self.mail.extend(message.map(|message| (self.now, message)));
    }

    async fn step(&mut self) {
        let waiting = self.apps.steps.waiting().len() as u64;
        match waiting {
            0 => self.wait(Duration::from_millis(1 + self.dice.clone().below(80))).await,
            _ => self.apps.steps.grant(self.dice.below(waiting) as usize),
        }
        self.settle();
    }

    /// Lets time pass, and kills the workers that time out.
    async fn wait(&mut self, length: Duration) {
        self.now += length;
        tokio::time::advance(length).await;
        while let Some(at) = self.tasks.iter().position(|task| {
            let Worker { began, .. } = &self.workers[task.number];
            self.now > *began + TIMEOUT
        }) {
            self.kill(at);
        }
        self.settle();
    }

    fn disturb_valkey(&mut self) {
        match self.dice.below(6) {
            0 => self.apps.valkey.flush(),
            1 | 2 => self.apps.valkey.replicate(),
            3 => self.apps.valkey.fail_over(),
            4 => self.apps.valkey.evict(),
            _ => self.apps.valkey.forget_scripts(),
        }
    }

    async fn run(&mut self, seed: u64) {
        for board in [SUMS, LIMITED, PASSING] {
            self.put(board);
        }
        self.apps.steps.set_free(true);
        self.settle();
        self.apps.steps.set_free(false);
        let [of_cloud, of_valkey] = self.one_in;
        self.apps.cloud.lock().faults = Faults { one_in: of_cloud, dice: Dice(seed ^ 1) };
        self.apps.valkey.set_faults(Faults { one_in: of_valkey, dice: Dice(seed ^ 2) });
        for _ in 0..1_100 + self.dice.below(600) {
            match self.dice.below(190) {
                0..4 => self.add(),
                4..8 => self.set(),
                8..11 => self.change_others(LIMITED),
                11..13 => self.change_others(PASSING),
                13 if self.dice.one_in(3) => self.delete(),
                14 if self.dice.one_in(3) => {
                    let board = *self.dice.pick(&[SUMS, LIMITED, PASSING, PASSING]);
                    self.put(board);
                }
                15..19 => {
                    let board = *self.dice.pick(&[SUMS, LIMITED, PASSING]);
                    self.read_page(board);
                }
                19..25 => self.read_member(),
                25..31 => {
                    let again = self.dice.one_in(4);
                    self.arrive(again);
                }
                31 if !self.tasks.is_empty() => {
                    let at = self.dice.below(self.tasks.len() as u64) as usize;
                    self.kill(at);
                }
                32 if self.dice.one_in(3) => self.disturb_valkey(),
                33 if self.dice.one_in(2) => {
                    let waits = [Duration::from_millis(200), Duration::from_secs(2), TIMEOUT];
                    let wait = *self.dice.pick(&waits);
                    self.wait(wait).await;
                }
                _ => self.step().await,
            }
            self.settle();
        }
        self.apps.cloud.lock().faults = Faults::default();
        self.apps.valkey.set_faults(Faults::default());
        self.rest().await;
    }

    /// All workers finish, and all messages are handled.
    async fn rest(&mut self) {
        for _ in 0..20_000 {
            if self.tasks.is_empty() && self.mail.is_empty() {
                return;
            }
            if self.tasks.is_empty() {
                if !self.mail.iter().any(|(at, _)| *at <= self.now) {
                    self.wait(COMMIT_GRACE).await;
                }
                self.arrive(false);
            }
            self.step().await;
        }
        panic!("the work does not end: {:?}", self.mail);
    }

    async fn check(&mut self) -> Result<(), String> {
        if let Some(wrong) = self.wrong.take() {
            return Err(wrong);
        }
        self.apps.steps.set_free(true);
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
    fn check_deleted(&self, live: &BTreeSet<String>) -> Result<(), String> {
        let cloud = self.apps.cloud.lock();
        let is_left = |pk: &str| pk.starts_with("scores#") && !live.contains(pk);
        let left = cloud.items(BOARDS).find(|item| item["pk"]["S"].as_str().is_some_and(is_left));
        left.map_or(Ok(()), |item| Err(format!("a score of a deleted board is left: {item:?}")))
    }

    /// Every acknowledged addition counts, and every acknowledged set stands.
    fn check_sums(&self, members: &BTreeMap<MemberName, Scores>) -> Result<(), String> {
        let score = |name| members.get(&member(name)).map(|scores| scores.as_slice()[0]);
        for name in ADDED {
            let sum = score(name).unwrap_or_default();
            let of = |bit: u32| self.additions.get(&bit).filter(|(of, _)| *of == name);
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
            let Some(certain) = self.known.get(name).and_then(|known| known.score) else {
                continue;
            };
            if score(name) != certain {
                return Err(format!("{name} has {:?}, not {certain:?}", score(name)));
            }
        }
        Ok(())
    }
}

/// Runs the history of a seed.
async fn run(server: &Server, start: &Cloud, seed: u64) -> Result<Counts, String> {
    fastrand::seed(seed);
    let mut dice = Dice(seed);
    let mut apps = Apps::on(server, &[], RetryConfig::disabled(), dice.one_in(2));
    // some histories copy boards by messages
    apps.app.settings.rows_in_request = if dice.one_in(2) { 1 } else { 250 };
    let one_in = [*dice.pick(&[0, 0, 30]), *dice.pick(&[0, 0, 30])];
    let mut history = History::of(apps, start, dice, one_in);
    history.run(seed).await;
    let checked = history.check().await;
    checked.map(|()| history.counts).map_err(|reason| {
        let log = history.apps.steps.log();
        let repeat = format!(
            "repeat: FANFOLD_SEED={seed} FANFOLD_BOARDS=1 cargo local test simulation::boards"
        );
        format!("{}\nseed {seed}: {reason}\n{repeat}", log.join("\n"))
    })
}

/// A writer makes this many calls, and waits. Meanwhile the ranks of the board change, and a reader makes the copy for these.
/// Then the writer goes on, and a request that begins after its answer sees the change. Returns whether the writer waited.
async fn waits_after(server: &Server, start: &Cloud, calls: usize) -> bool {
    let apps = Apps::on(server, &[], RetryConfig::disabled(), false);
    let mut history = History::of(apps, start, Dice(calls as u64), [0, 0]);
    history.apps.steps.set_free(true);
    history.put_with(SUMS, "ordinal");
    history.settle();
    history.set_to("m", Some(1));
    history.settle();
    assert!(history.tasks.is_empty() && history.counts.set == 1);
    history.apps.steps.set_free(false);
    history.set_to("m", Some(2));
    history.settle();
    for _ in 0..calls {
        history.step().await;
    }
    let waited = !history.tasks.is_empty();
    history.apps.steps.set_free(true);
    history.put_with(SUMS, "dense");
    history.settle();
    history.read_page(SUMS);
    history.settle();
    assert_eq!((history.tasks.len(), history.counts.pages), (usize::from(waited), 1));
    while !history.tasks.is_empty() {
        history.step().await;
    }
    history.read_one("m");
    history.settle();
    assert_eq!((history.wrong, history.counts.seen), (None, 1), "the writer waited after {calls}");
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
        let History { apps, now, .. } = History::of(apps, &start, Dice(seed), [0, 0]);
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
    let (server, runtime) = (Server::start(), runtime());
    let start = cloud_with_profiles(&server, &runtime, 1);
    let run = |seed| runtime.block_on(run(&server, &start, seed));
    if let Some(total) = super::histories_of("BOARDS", 80, run) {
        let Counts { added, set, refused, seen, pages, fallen } = total;
        let all = [added, set, refused, seen, pages, fallen];
        assert!(all.iter().all(|count| *count > 10), "{total:?}");
    }
}
