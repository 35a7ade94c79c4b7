//! Users mark posts (likes, and other marks) and remove marks, posts are deleted, and readers look, while everything goes wrong:
//! messages arrive twice, late and out of order; workers die between any two calls; calls fail with or without effect; and
//! Valkey loses its data or falls back to an older state.
//!
//! A reader who begins after the answer to a mark sees it. No ranking shows a post or an author twice, or in a wrong order. At
//! rest, every acknowledged mark is there, all lists have the same marks, every number is exact, every card equals its item,
//! every ranking has the likes of all posts, and nothing is left of the marks of a deleted post.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use aws_sdk_dynamodb::config::retry::RetryConfig;
use fanfold_core::limits::{
    BOARD_LEASE, BOARD_QUEUED, BOARD_ROWS_IN_REQUEST, CARD_MARK_WITHIN, COMMIT_GRACE,
};
use fanfold_core::{PostId, Ranking, Time, UserId};
use fanfold_engines::reading::ReadContext;
use fanfold_kinds::Error;
use fanfold_kinds::likes::likers;
use fanfold_kinds::marks::{MarkKind, marked, put};
use fanfold_kinds::present::Viewer;
use fanfold_kinds::rankings::{RankingEntry, RankingPage, Shown, page};
use fanfold_runtime::clock::Deadline;
use fanfold_runtime::sqs::Outcome;
use futures::future::LocalBoxFuture;

use super::apps::{Apps, PEOPLE, START, cloud_with_profiles, id, identity, name};
use super::cloud::{Cloud, Faults};
use super::oracle::{self, Marked};
use super::play::{Message, check_cards, handle, message};
use super::server::Server;
use super::tasks::{Task, runtime, settle};
use crate::harness::dice::Dice;

/// The timeout of functions that serve requests and queues.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A kind of marks, a user and a post.
type Pair = (MarkKind, UserId, PostId);

/// What a worker did.
enum Done {
    Published(Option<PostId>),
    Deleted,
    Listed,
    /// Whether the post has the user's mark now.
    Changed(Pair, bool, Result<(), Error>),
    /// What a reader must see, and what was shown. `None`: the post is gone.
    Read(Pair, u64, Option<bool>),
    Handled(Outcome<Message>),
    /// The pages of a ranking that were shown, and the number of faults of Valkey before them.
    Ranked(u64, Result<RankingPage, Error>),
}

/// A worker, by its number.
struct Worker {
    began: Time,
    /// The message that it handles.
    message: Option<Message>,
    /// The like that it may change without an answer, if it dies.
    pair: Option<Pair>,
}

/// What is known of a user's like of a post.
#[derive(Debug, Default, Clone, Copy)]
struct Known {
    /// `None`: a request is under way, or had no answer.
    liked: Option<bool>,
    /// The number of requests so far, and of answers.
    changes: u64,
    under_way: u64,
    /// Whether requests overlap, so that either may be the last one.
    overlaps: bool,
    /// Whether the last request had the time to mark the card.
    is_marked: bool,
}

#[derive(Debug, Default, Clone, Copy)]
struct Counts {
    likes: u64,
    taken_back: u64,
    refused: u64,
    reads: u64,
    ranked: u64,
    gone: u64,
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.likes += other.likes;
        self.taken_back += other.taken_back;
        self.refused += other.refused;
        self.reads += other.reads;
        self.ranked += other.ranked;
        self.gone += other.gone;
    }
}

struct History {
    apps: Rc<Apps>,
    dice: Dice,
    now: Time,
    tasks: Vec<Task<Done>>,
    /// All workers so far; the index is the number of the task.
    workers: Vec<Worker>,
    /// Messages that no worker handles.
    mail: Vec<Message>,
    posts: BTreeSet<PostId>,
    /// Posts that somebody deletes, or has deleted.
    deleted: BTreeSet<PostId>,
    known: BTreeMap<Pair, Known>,
    /// Whether Valkey takes every mark in this history, so that readers must see every answered change.
    is_strict: bool,
    /// How often Valkey lost data, or might have.
    valkey_faults: u64,
    counts: Counts,
    wrong: Option<String>,
}

impl History {
    fn begin(
        &mut self,
        message: Option<Message>,
        pair: Option<Pair>,
        future: LocalBoxFuture<'static, Done>,
    ) {
        let number = self.workers.len();
        self.workers.push(Worker { began: self.now, message, pair });
        self.tasks.push(Task::new(number, String::new(), future));
    }

    /// The clock of the next worker.
    fn clock(&mut self) -> Time {
        self.now + Duration::from_secs(1) - Duration::from_millis(self.dice.below(2_001))
    }

    fn publish(&mut self) {
        let (apps, user, now) = (self.apps.clone(), *self.dice.pick(&PEOPLE), self.clock());
        let future = Box::pin(async move {
            let publish = fanfold_kinds::posts::publish;
            let post = publish(&apps.app, &identity(user), "text", None, now).await;
            Done::Published(post.ok().map(|shown| shown.post.id))
        });
        self.begin(None, None, future);
    }

    fn pair(&mut self) -> Option<Pair> {
        let posts: Vec<PostId> = self.posts.iter().copied().collect();
        let (kind, user) = (*self.dice.pick(MarkKind::ALL), *self.dice.pick(&PEOPLE));
        (!posts.is_empty()).then(|| (kind, id(user), *self.dice.pick(&posts)))
    }

    fn change(&mut self, liked: bool) {
        let Some(pair) = self.pair() else { return };
        let (apps, now) = (self.apps.clone(), self.clock());
        let known = self.known.entry(pair).or_default();
        known.changes += 1;
        known.overlaps |= known.under_way > 0;
        known.under_way += 1;
        let (kind, user, post) = pair;
        let future = Box::pin(async move {
            let me = identity(name(user));
            Done::Changed(pair, liked, put(&apps.app, &me, kind, post, liked, now).await)
        });
        self.begin(None, Some(pair), future);
    }

    fn delete(&mut self) {
        let Some((.., post)) = self.pair() else { return };
        self.deleted.insert(post);
        let (apps, now) = (self.apps.clone(), self.clock());
        let future = Box::pin(async move {
            let (delete, me) = (fanfold_kinds::posts::delete, identity(name(post.author())));
            let _answer = delete(&apps.app, &me, post, now).await;
            Done::Deleted
        });
        self.begin(None, None, future);
    }

    fn read(&mut self) {
        let Some(pair) = self.pair() else { return };
        let (apps, now) = (self.apps.clone(), self.clock());
        let changes = self.known.get(&pair).map_or(0, |known| known.changes);
        let future = Box::pin(async move {
            let read = fanfold_kinds::posts::read;
            let (kind, user, post) = pair;
            let shown = read(&apps.app, &Viewer::of(user), post, now).await;
            Done::Read(pair, changes, shown.ok().map(|shown| shown.marks.has(kind)))
        });
        self.begin(None, None, future);
    }

    /// A user reads a list of marks, page by page.
    fn list(&mut self, kind: MarkKind, user: UserId) {
        let (apps, now) = (self.apps.clone(), self.clock());
        let future = Box::pin(async move {
            let (viewer, reading, mut after) = (Viewer::of(user), ReadContext::new(now), None);
            while let Ok(page) = marked(&apps.app, &viewer, kind, after, 2, &reading).await {
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
            Done::Listed
        });
        self.begin(None, None, future);
    }

    /// A reader reads a ranking, page by page.
    fn rank(&mut self) {
        let (apps, now) = (self.apps.clone(), self.clock());
        let (viewer, ranking) = (*self.dice.pick(&PEOPLE), *self.dice.pick(&Ranking::ALL));
        let faults = self.valkey_faults;
        let future = Box::pin(async move {
            let (viewer, reading) = (Viewer::of(id(viewer)), ReadContext::new(now));
            let mut shown = match page(&apps.app, &viewer, ranking, None, 2, &reading).await {
                Ok(first) => first,
                refused => return Done::Ranked(faults, refused),
            };
            while let Some(after) = shown.next_after {
                let next = page(&apps.app, &viewer, ranking, Some(after), 2, &reading).await;
                match next {
                    // a snapshot that was lost is replaced by another one
                    Ok(next) if next.at == shown.at => {
                        shown.entries.extend(next.entries);
                        shown.next_after = next.next_after;
                    }
                    _ => break,
                }
            }
            Done::Ranked(faults, Ok(shown))
        });
        self.begin(None, None, future);
    }

    /// A message arrives. `again`: it will arrive once more, even if it is handled.
    fn arrive(&mut self, again: bool) {
        if self.mail.is_empty() {
            return;
        }
        let nth = self.dice.below(self.mail.len() as u64) as usize;
        let taken = self.mail.swap_remove(nth);
        if again {
            self.mail.push(taken.clone());
        }
        let (apps, now, message) = (self.apps.clone(), self.clock(), taken.clone());
        // some functions have no time left
        let hurry = self.dice.one_in(3);
        let deadline = if hurry { Deadline::at(Time::EPOCH) } else { Deadline::NONE };
        let future = Box::pin(async move {
            Done::Handled(match &message {
                Message::Change(event) => event.handle(&apps.app, now, deadline).await.into(),
                other => handle(&apps, other, now).await,
            })
        });
        self.begin(Some(taken), None, future);
    }

    fn settle(&mut self) {
        let done = settle(&mut self.tasks, &self.apps.steps);
        let sent = std::mem::take(&mut self.apps.cloud.lock().sent);
        self.mail.extend(sent.iter().map(|(queue, body)| message(queue, body)));
        for (number, done) in done {
            self.note(number, done);
        }
    }

    fn note(&mut self, number: usize, done: Done) {
        match done {
            Done::Published(post) => self.posts.extend(post),
            Done::Deleted | Done::Listed | Done::Handled(Outcome::Done) => {}
            Done::Changed(pair, liked, changed) => {
                let took = self.now.since(self.workers[number].began);
                let known = self.known.entry(pair).or_default();
                known.changes += 1;
                known.under_way -= 1;
                let is_certain = changed.is_ok() && known.under_way == 0 && !known.overlaps;
                known.liked = is_certain.then_some(liked);
                known.overlaps &= known.under_way > 0;
                known.is_marked = took < CARD_MARK_WITHIN;
                match changed {
                    Ok(()) if liked => self.counts.likes += 1,
                    Ok(()) => self.counts.taken_back += 1,
                    Err(_) => self.counts.refused += 1,
                }
            }
            Done::Read(pair, changes, shown) => {
                let known = self.known.get(&pair).copied().unwrap_or_default();
                let is_certain = self.is_strict
                    && known.is_marked
                    && !self.deleted.contains(&pair.2)
                    && known.changes == changes
                    && known.under_way == 0;
                if let (Some(liked), Some(shown), true) = (known.liked, shown, is_certain) {
                    self.counts.reads += 1;
                    if liked != shown {
                        let (kind, user, post) = pair;
                        let user = name(user);
                        self.wrong = Some(format!("{user}: {kind:?} of {post}: shown {shown}"));
                    }
                }
            }
            // a snapshot that was lost meanwhile is made again, with the present likes
            Done::Ranked(faults, Ok(_)) if faults < self.valkey_faults => {}
            Done::Ranked(_, Ok(page)) => {
                self.counts.ranked += u64::from(!page.entries.is_empty());
                let places = page.entries.windows(2).all(|two| match two {
                    [one, two] => one.place < two.place && one.likes >= two.likes,
                    _ => true,
                });
                let mut shown: Vec<String> =
                    page.entries.iter().map(|entry| ranked(entry).0).collect();
                let count = shown.len();
                shown.sort_unstable();
                shown.dedup();
                if !places || shown.len() < count {
                    self.wrong = Some(format!("a ranking is out of order: {page:?}"));
                }
            }
            Done::Ranked(_, Err(Error::RankingBuilding | Error::Store(_))) => {}
            Done::Ranked(_, Err(error)) => self.wrong = Some(format!("a ranking: {error:?}")),
            Done::Handled(Outcome::Failed(_)) => {
                self.mail.extend(self.workers[number].message.take())
            }
            Done::Handled(Outcome::Left { rest, .. }) => self.mail.push(rest),
        }
    }

    /// A worker dies. Its message goes back to the queue.
    fn kill(&mut self, at: usize) {
        let number = self.tasks.remove(at).number;
        if let Some(pair) = self.workers[number].pair {
            let known = self.known.entry(pair).or_default();
            known.changes += 1;
            // nobody may have marked the card after its commit, so the like is not certain again
            known.liked = None;
            known.under_way += 1_000;
        }
        self.mail.extend(self.workers[number].message.take());
    }

    async fn step(&mut self) {
        let waiting = self.apps.steps.waiting().len() as u64;
        match waiting {
            0 => self.wait(Duration::from_millis(1 + self.dice.clone().below(80))).await,
            // a ranking reads very many rows at the same time
            _ => {
                for granted in 0..1 + waiting / 8 {
                    self.apps.steps.grant(self.dice.below(waiting - granted) as usize);
                }
            }
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
        self.valkey_faults += 1;
        match self.dice.below(5) {
            0 => self.apps.valkey.flush(),
            1 | 2 => self.apps.valkey.replicate(),
            3 => {
                // acknowledged marks may be lost; the generation says so, and cards of before are not used
                self.apps.valkey.fail_over();
            }
            _ => self.apps.valkey.forget_scripts(),
        }
    }

    async fn run(&mut self) {
        for _ in 0..4 {
            self.publish();
        }
        self.apps.steps.set_free(true);
        self.settle();
        self.apps.steps.set_free(false);
        for _ in 0..700 + self.dice.below(500) {
            match self.dice.below(120) {
                0..7 => self.change(true),
                7..9 => self.change(false),
                9 if self.dice.one_in(3) => self.delete(),
                10 if self.dice.one_in(2) => self.publish(),
                11..20 => self.read(),
                20 if self.dice.one_in(2) => {
                    let (kind, user) = (*self.dice.pick(MarkKind::ALL), *self.dice.pick(&PEOPLE));
                    self.list(kind, id(user));
                }
                20 => self.rank(),
                21..28 => {
                    let again = self.dice.one_in(4);
                    self.arrive(again);
                }
                28 if !self.tasks.is_empty() => {
                    let at = self.dice.below(self.tasks.len() as u64) as usize;
                    self.kill(at);
                }
                29 if self.dice.one_in(3) => self.disturb_valkey(),
                30 if self.dice.one_in(3) => {
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
        // private marks of posts that are gone are removed by who reads them
        for (kind, user) in MarkKind::ALL.iter().flat_map(|kind| PEOPLE.map(|user| (*kind, user))) {
            self.list(kind, id(user));
        }
        self.rest().await;
    }

    /// All workers finish, and all messages are handled.
    async fn rest(&mut self) {
        for round in 0..20_000 {
            if self.tasks.is_empty() && self.mail.is_empty() {
                return;
            }
            if self.tasks.is_empty() {
                self.arrive(false);
            }
            self.step().await;
            // messages about commits that failed are done after this time
            if round % 400 == 399 && self.tasks.is_empty() {
                self.wait(COMMIT_GRACE).await;
            }
        }
        panic!("the work does not end: {:?}", self.mail);
    }

    async fn check(&mut self) -> Result<(), String> {
        if let Some(wrong) = self.wrong.take() {
            return Err(wrong);
        }
        self.apps.steps.set_free(true);
        let (likes, truth) = {
            let cloud = self.apps.cloud.lock();
            (oracle::likes(&cloud)?, oracle::Truth::of(&cloud))
        };
        let is_live = |post: &PostId| truth.posts.get(post) == Some(&true);
        let mut found: BTreeSet<Pair> = BTreeSet::new();
        for kind in MarkKind::ALL {
            let marks = oracle::marks(&self.apps.cloud.lock(), *kind)?;
            if let Some((user, post, _)) = marks.iter().find(|mark| !is_live(&mark.1)) {
                return Err(format!("{kind:?} of {} of {post}, which is gone", name(*user)));
            }
            found.extend(marks.iter().map(|(user, post, _)| (*kind, *user, *post)));
            self.check_list(*kind, &marks).await?;
        }
        self.counts.gone += truth.posts.values().filter(|published| !**published).count() as u64;
        for (pair, known) in &self.known {
            let Some(liked) = known.liked.filter(|_| is_live(&pair.2)) else { continue };
            if found.contains(pair) != liked {
                let (kind, user, post) = pair;
                return Err(format!("{} was told {kind:?} of {post}: {liked}", name(*user)));
            }
        }
        check_cards(&self.apps, self.now).await?;
        self.check_likers(&likes).await?;
        self.check_rankings(&likes, &truth).await
    }

    /// Each ranking has the likes of all posts that are there, in the right order. No history takes longer than a day.
    async fn check_rankings(
        &mut self,
        likes: &BTreeSet<Marked>,
        truth: &oracle::Truth,
    ) -> Result<(), String> {
        // a snapshot that no function has begun
        self.now += BOARD_QUEUED + BOARD_LEASE + self.apps.app.settings.ranking_every;
        let (mut posts, mut authors) = (BTreeMap::new(), BTreeMap::new());
        for (_, post, _) in likes.iter().filter(|like| truth.posts.get(&like.1) == Some(&true)) {
            *posts.entry(*post).or_insert(0u64) += 1;
            *authors.entry(post.author()).or_insert(0u64) += 1;
        }
        let mut posts: Vec<(String, u64)> =
            posts.into_iter().map(|(post, likes)| (post.to_string(), likes)).collect();
        posts.sort_by_key(|(_, likes)| std::cmp::Reverse(*likes));
        // nobody follows anybody, so the id decides between authors
        let mut authors: Vec<(String, u64)> =
            authors.into_iter().map(|(author, likes)| (author.to_string(), likes)).collect();
        authors.sort_by_key(|(_, likes)| std::cmp::Reverse(*likes));
        let (viewer, reading) = (Viewer::of(id(PEOPLE[0])), ReadContext::new(self.now));
        let mut rankings = self.apps.app.clone();
        rankings.settings.rows_in_request = BOARD_ROWS_IN_REQUEST;
        for ranking in Ranking::ALL {
            let (mut shown, mut after) = (Vec::new(), None);
            loop {
                let next = page(&rankings, &viewer, ranking, after, 3, &reading).await;
                let next = next.map_err(|error| format!("{ranking}: {error:?}"))?;
                shown.extend(next.entries.iter().map(ranked));
                after = next.next_after;
                if after.is_none() {
                    break;
                }
            }
            let expected = if ranking == Ranking::Authors { &authors } else { &posts };
            if shown != *expected {
                return Err(format!("{ranking} is {expected:?}, shown {shown:?}"));
            }
        }
        Ok(())
    }

    /// The list of each user has the marks of posts that are there, newest first, page by page.
    async fn check_list(&self, kind: MarkKind, marks: &BTreeSet<Marked>) -> Result<(), String> {
        let (apps, reading) = (&self.apps.app, ReadContext::new(self.now));
        for viewer in PEOPLE.map(id) {
            let own = marks.iter().filter(|mark| mark.0 == viewer);
            let mut expected: Vec<(u64, PostId)> = own.map(|(_, post, at)| (*at, *post)).collect();
            expected.sort_unstable_by(|a, b| b.cmp(a));
            let (mut shown, mut after) = (Vec::new(), None);
            loop {
                let page = marked(apps, &Viewer::of(viewer), kind, after, 2, &reading).await;
                let page = page.map_err(|error| format!("{error:?}"))?;
                if page.items.iter().any(|post| !post.marks.has(kind)) {
                    return Err(format!("{} has {kind:?} of {:?}", name(viewer), page.items));
                }
                shown.extend(page.items.iter().map(|shown| shown.post.id));
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
            let expected: Vec<PostId> = expected.into_iter().map(|(_, post)| post).collect();
            if shown != expected {
                return Err(format!("{}: {kind:?} {expected:?}, shown {shown:?}", name(viewer)));
            }
        }
        Ok(())
    }

    /// The list of those who like a post has its likes, newest first, page by page.
    async fn check_likers(&self, likes: &BTreeSet<Marked>) -> Result<(), String> {
        let (apps, reading) = (&self.apps.app, ReadContext::new(self.now));
        for post in &self.posts {
            let mut expected: Vec<(u64, UserId)> =
                likes.iter().filter(|like| like.1 == *post).map(|like| (like.2, like.0)).collect();
            expected.sort_unstable_by(|a, b| b.cmp(a));
            let (mut shown, mut after) = (Vec::new(), None);
            loop {
                let viewer = Viewer::of(post.author());
                let page = match likers(apps, &viewer, *post, after, 1, &reading).await {
                    Err(Error::NoSuchPost(_)) => break,
                    page => page.map_err(|error| format!("{error:?}"))?,
                };
                shown.extend(page.items.iter().map(|seen| seen.card.id));
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
            let expected: Vec<UserId> = expected.into_iter().map(|(_, user)| user).collect();
            if shown != expected {
                return Err(format!("{post} is liked by {expected:?}, shown {shown:?}"));
            }
        }
        Ok(())
    }
}

/// Who or what has a place in a ranking, with the likes.
fn ranked(entry: &RankingEntry) -> (String, u64) {
    let id = match &entry.shown {
        Shown::Post(shown) => shown.post.id.to_string(),
        Shown::Author(author) => author.card.id.to_string(),
    };
    (id, entry.likes)
}

/// Runs the history of a seed.
async fn run(server: &Server, start: &Cloud, seed: u64) -> Result<Counts, String> {
    fastrand::seed(seed);
    let mut dice = Dice(seed);
    let mut apps = Apps::on(server, &[], RetryConfig::disabled(), dice.one_in(2));
    if dice.one_in(3) {
        // rankings are made by messages
        apps.app.settings.rows_in_request = 1;
    }
    *apps.cloud.lock() = start.clone();
    apps.cloud.lock().sent.clear();
    apps.valkey.reset();
    let one_in = *dice.pick(&[0, 0, 30]);
    apps.cloud.lock().faults = Faults { one_in, dice: Dice(seed ^ 1) };
    let one_in = *dice.pick(&[0, 0, 30]);
    apps.valkey.set_faults(Faults { one_in, dice: Dice(seed ^ 2) });
    let mut history = History {
        apps: Rc::new(apps),
        dice,
        now: START,
        tasks: Vec::new(),
        workers: Vec::new(),
        mail: Vec::new(),
        posts: BTreeSet::new(),
        deleted: BTreeSet::new(),
        known: BTreeMap::new(),
        is_strict: one_in == 0,
        valkey_faults: 0,
        counts: Counts::default(),
        wrong: None,
    };
    history.run().await;
    let checked = history.check().await;
    checked.map(|()| history.counts).map_err(|reason| {
        let log = history.apps.steps.log();
        let repeat = format!(
            "repeat: FANFOLD_SEED={seed} FANFOLD_LIKES=1 cargo local test simulation::likes"
        );
        format!("{}\nseed {seed}: {reason}\n{repeat}", log.join("\n"))
    })
}

#[test]
fn likes_are_exact_whatever_goes_wrong() {
    let (server, runtime) = (Server::start(), runtime());
    let start = cloud_with_profiles(&server, &runtime, 1);
    let run = |seed| runtime.block_on(run(&server, &start, seed));
    if let Some(total) = super::histories_of("LIKES", 80, run) {
        let Counts { likes, taken_back, refused, reads, ranked, gone } = total;
        let all = [likes, taken_back, refused, reads, ranked, gone];
        assert!(all.iter().all(|count| *count > 20), "{total:?}");
    }
}
