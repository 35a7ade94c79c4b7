//! Thousands of scheduled posts and timers are due in a short time, on tables with the limits of AWS. A transaction takes 30 ms, any
//! other call 10 ms, and each invocation 20 ms more. SQS delivers a delayed message up to 100 ms after its delay. The clock is
//! simulated.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::time::Duration;

use aws_sdk_dynamodb::config::retry::RetryConfig;
use fanfold_core::message::Received as _;
use fanfold_core::{DueEntry, PostId, Time, UserId};
use fanfold_engines::due::{Handled, ItemDue, LookedAhead};
use fanfold_kinds::due::{handle, look_ahead};
use fanfold_kinds::scheduled::{self, NewScheduled, ScheduledEdit};
use fanfold_kinds::subscriptions::PostEvent;
use fanfold_kinds::timers::messages::TimerFired;
use fanfold_kinds::timers::{self, NewTimer};
use fanfold_runtime::clock::Deadline;
use fanfold_runtime::sqs::Announced;
use futures::future::{join, join_all};
use serde_json::json;
use tokio::time::{Instant, sleep, sleep_until};

use super::apps::{Apps, DUE, POSTS, START, id, identity};
use super::capacity::Capacity;
use super::expression::Item;
use super::server::Server;
use super::tasks::runtime;
use crate::harness::dice::Dice;

const TRANSACTION: Duration = Duration::from_millis(30);
const CALL: Duration = Duration::from_millis(10);
const INVOCATION: Duration = Duration::from_millis(20);
/// The most time that SQS adds to the delay of a message.
const DELIVERY_MS: u64 = 100;
/// The default of `DueAtOnce`, and the messages of one invocation.
const INVOCATIONS: usize = 8;
const BATCH: usize = 10;
const MINUTE: Duration = Duration::from_secs(60);
/// The timeout of the function `lookahead`.
const LOOK_TIMEOUT: Duration = Duration::from_secs(55);

/// A message on its way: the time from which a function may take it, a number that orders those of one time, its text.
type Sent = Reverse<(Instant, u64, String)>;

struct Crowd {
    apps: Apps,
    began: Instant,
    waiting: RefCell<BinaryHeap<Sent>>,
    dice: RefCell<Dice>,
    sent: Cell<u64>,
    /// The time of each published item, and how late that was by the clock of its function.
    late: RefCell<Vec<(Time, Duration)>>,
    early: Cell<u64>,
    retried: Cell<u64>,
    /// The messages of timers, and the posts of the messages about publications.
    fired: RefCell<Vec<TimerFired>>,
    announced: RefCell<Vec<PostId>>,
    /// How many items are published before the run ends.
    expected: u64,
    /// The time at which the run ends in any case.
    ends: Option<Time>,
}

fn author(n: u64) -> String {
    format!("author{n}")
}

impl Crowd {
    /// A crowd of users with profiles.
    async fn of(server: &Server, users: u64) -> Self {
        fastrand::seed(11);
        let apps = Apps::on(server, &[], RetryConfig::standard().with_max_attempts(4), true);
        apps.valkey.reset();
        apps.steps.set_free(true);
        // these requests were spread over the days before
        apps.cloud.lock().capacity = None;
        apps.cloud.lock().keeps_delays = true;
        for n in 0..users {
            let (name, me) = (author(n), identity(&author(n)));
            let handle = name.parse().expect("a handle");
            let put = apps.app.users.put_profile(Announced::assumed(), &me, &handle, &name);
            put.await.expect("a profile");
        }
        Self {
            apps,
            began: Instant::now(),
            waiting: RefCell::default(),
            dice: RefCell::new(Dice(11)),
            sent: Cell::new(0),
            late: RefCell::default(),
            early: Cell::new(0),
            retried: Cell::new(0),
            fired: RefCell::default(),
            announced: RefCell::default(),
            expected: 0,
            ends: None,
        }
    }

    /// From now on, calls take time, and the tables have limits.
    fn begin(&self) {
        let mut cloud = self.apps.cloud.lock();
        cloud.capacity = Some(Capacity::default());
        cloud.latency = (TRANSACTION, CALL);
    }

    /// Schedules posts for these times, each by an author of its own.
    async fn new(server: &Server, times: &[Time]) -> Self {
        let mut crowd = Self::of(server, times.len() as u64).await;
        for (n, publish_at) in (0..).zip(times) {
            let new = NewScheduled { post: "on time".into(), publish_at: *publish_at, key: None };
            let me = identity(&author(n));
            scheduled::schedule(&crowd.apps.app, &me, new, START).await.expect("scheduled");
        }
        let is_clear = crowd.apps.cloud.lock().delayed.is_empty();
        assert!(is_clear, "all are due later than the first look-ahead");
        crowd.apps.cloud.lock().sent.clear();
        crowd.begin();
        crowd.expected = times.len() as u64;
        crowd
    }

    fn now(&self) -> Time {
        START + self.began.elapsed()
    }

    fn is_done(&self) -> bool {
        match self.ends {
            Some(end) => self.now() >= end,
            None => self.late.borrow().len() as u64 == self.expected,
        }
    }

    /// A look-ahead each minute, until all is published.
    async fn look_ahead(&self) -> Vec<LookedAhead> {
        let mut all = Vec::new();
        while !self.is_done() {
            let start = Instant::now();
            let looked = look_ahead(&self.apps.app, self.now(), Deadline::NONE).await;
            all.push(looked.expect("looked ahead"));
            let took = start.elapsed();
            assert!(took < LOOK_TIMEOUT, "a look-ahead took {took:?}");
            sleep_until(start + MINUTE).await;
        }
        all
    }

    async fn functions(&self) {
        join_all((0..INVOCATIONS).map(|_| self.function())).await;
    }

    async fn function(&self) {
        while !self.is_done() {
            self.collect();
            let batch = self.take();
            if batch.is_empty() {
                sleep(Duration::from_millis(10)).await;
                continue;
            }
            sleep(INVOCATION).await;
            join_all(batch.into_iter().map(|message| self.handle(message))).await;
        }
    }

    /// Moves sent messages into the queue.
    fn collect(&self) {
        let (sent, delayed) = {
            let mut cloud = self.apps.cloud.lock();
            (std::mem::take(&mut cloud.sent), std::mem::take(&mut cloud.delayed))
        };
        let sent = sent.into_iter().map(|(queue, body)| (queue, body, Duration::ZERO));
        for (queue, body, delay) in sent.chain(delayed) {
            match queue.as_str() {
                "due-items" => self.send(body, delay),
                "timer-events" => {
                    self.fired.borrow_mut().push(TimerFired::decode(&body).expect("a message"));
                }
                "post-events" => match PostEvent::decode(&body).expect("a message") {
                    PostEvent::PostPublished(event) => self.announced.borrow_mut().push(event.post),
                    PostEvent::PostDeleted(_) => {}
                },
                _ => {}
            }
        }
    }

    fn send(&self, body: String, delay: Duration) {
        let more = Duration::from_millis(self.dice.borrow_mut().below(DELIVERY_MS));
        self.sent.set(self.sent.get() + 1);
        self.waiting.borrow_mut().push(Reverse((
            Instant::now() + delay + more,
            self.sent.get(),
            body,
        )));
    }

    fn take(&self) -> Vec<ItemDue> {
        let (mut waiting, now) = (self.waiting.borrow_mut(), Instant::now());
        let mut batch = Vec::new();
        while batch.len() < BATCH
            && waiting.peek().is_some_and(|Reverse((arrives, ..))| *arrives <= now)
        {
            let Some(Reverse((_, _, body))) = waiting.pop() else { break };
            batch.push(ItemDue::decode(&body).expect("a message"));
        }
        batch
    }

    async fn handle(&self, message: ItemDue) {
        match handle(&self.apps.app, &message, self.now()).await {
            Ok(Handled::Done) => {
                assert!(self.now() >= message.entry.at, "early: {message:?}");
                let at = message.entry.at;
                self.late.borrow_mut().push((at, self.now().since(at)));
            }
            Ok(Handled::NothingToDo) => {}
            Ok(Handled::Early) => self.early.set(self.early.get() + 1),
            Err(error) => {
                println!("retry: {error:?}");
                self.retried.set(self.retried.get() + 1);
                let body = message.encode().expect("a message");
                self.send(body, Duration::from_secs(1));
            }
        }
    }

    /// Runs until all is published. Returns how late each item was, sorted.
    async fn run(&self) -> Vec<Duration> {
        let (looked, ()) = join(self.look_ahead(), self.functions()).await;
        let mut late: Vec<Duration> = self.late.borrow().iter().map(|(_, late)| *late).collect();
        late.sort_unstable();
        let (median, p99) = (late[late.len() / 2], late[late.len() * 99 / 100]);
        println!(
            "{} items: median {median:?}, p99 {p99:?}, last {:?} late; {} messages, {} early, {} retried; calls above \
             a limit: {:?}; {looked:?}",
            late.len(),
            late[late.len() - 1],
            self.sent.get(),
            self.early.get(),
            self.retried.get(),
            self.refused(),
        );
        let posts: BTreeSet<PostId> = {
            let cloud = self.apps.cloud.lock();
            // the others are the uses of keys
            let id = |item: &Item| item["sk"]["S"].as_str().unwrap_or_default().parse().ok();
            cloud.items(POSTS).filter_map(id).collect()
        };
        assert_eq!(posts.len() as u64, self.expected, "each is published once");
        self.collect();
        let mut announced = self.announced.borrow().clone();
        announced.sort_unstable();
        assert!(announced.iter().eq(&posts), "each has one message");
        late
    }

    /// The number of calls above a limit, by table and key.
    fn refused(&self) -> Vec<(String, u64)> {
        let cloud = self.apps.cloud.lock();
        let refused = cloud.capacity.iter().flat_map(|capacity| &capacity.refused);
        refused.map(|(key, count)| (key.clone(), *count)).collect()
    }
}

/// 500 posts are due in each of ten seconds, in the middle of two look-aheads.
#[test]
fn five_hundred_a_second_are_published_within_two_seconds() {
    let server = Server::start();
    runtime().block_on(async {
        let first = START + 5 * MINUTE + Duration::from_secs(27);
        let times: Vec<Time> = (0..5_000).map(|n| first + Duration::from_millis(2 * n)).collect();
        let crowd = Crowd::new(&server, &times).await;
        let late = crowd.run().await;
        assert!(late[late.len() * 99 / 100] <= Duration::from_secs(2), "{:?}", late.last());
        assert!(crowd.refused().is_empty(), "{:?}", crowd.refused());
        assert_eq!((crowd.early.get(), crowd.sent.get()), (0, 5_000), "one message each");
    });
}

/// 8,000 posts have the same time, and some are due soon after them. Each of these is late by no more than the backlog lasts.
#[test]
fn a_crowd_at_one_time_is_published_in_batches() {
    let server = Server::start();
    runtime().block_on(async {
        let at = START + 5 * MINUTE + Duration::from_secs(1);
        let soon = (1..=10).map(|s| at + Duration::from_secs(2 * s));
        let times: Vec<Time> = std::iter::repeat_n(at, 8_000).chain(soon).collect();
        let crowd = Crowd::new(&server, &times).await;
        crowd.run().await;
        let late = crowd.late.borrow();
        let backlog = late.iter().filter(|(due, _)| *due == at).map(|(_, late)| *late).max();
        // 80 items take about 0.1 s
        let backlog = backlog.expect("items");
        assert!(backlog <= Duration::from_secs(12), "{backlog:?}");
        for (due, late) in late.iter().filter(|(due, _)| *due != at) {
            let left = (at + backlog).since(*due) + Duration::from_secs(2);
            assert!(*late <= left, "due at {due}: {late:?} late; the backlog lasted {backlog:?}");
        }
    });
}

/// Timers are put once, twice, and 48 times at the same time, less than two minutes ahead, while no look-ahead has run yet.
/// Half of those who put one many times ask for the same each time. Each timer fires once at each of three times, every
/// request succeeds, the index holds each timer once, and no limit is exceeded but those of the timers that are put 48 times.
#[test]
fn each_timer_fires_once_at_each_of_its_times() {
    let server = Server::start();
    runtime().block_on(async {
        let mut crowd = Crowd::of(&server, 1_000).await;
        crowd.begin();
        let first = |n: u64| START + Duration::from_millis(65_000 + 20 * n);
        let put = async |n: u64, request: u64| {
            let every = Some("PT1M".parse().expect("a duration"));
            let payload = if n.is_multiple_of(20) { json!(0) } else { json!(request) };
            let new = NewTimer { due_at: first(n), every, payload };
            let (me, name) = (identity(&author(n)), "renew".parse().expect("a name"));
            let put = timers::put(&crowd.apps.app, &me, &name, new, START).await;
            put.unwrap_or_else(|error| panic!("timer {n}, request {request}: {error:?}"))
        };
        for tens in 0..100 {
            let requests = (10 * tens..10 * tens + 10).flat_map(|n| {
                let times = [48, 2, 2, 2, 2, 1, 1, 1, 1, 1][(n % 10) as usize];
                (0..times).map(move |request| (n, request))
            });
            join_all(requests.map(|(n, request)| put(n, request))).await;
        }
        let took = crowd.began.elapsed();
        assert!(took < Duration::from_secs(50), "{took:?}");
        crowd.ends = Some(first(999) + 2 * MINUTE + Duration::from_secs(15));
        join(crowd.look_ahead(), crowd.functions()).await;
        crowd.collect();
        let mut fired: BTreeMap<(UserId, String), usize> = BTreeMap::new();
        for TimerFired { owner, due_at, missed, .. } in crowd.fired.borrow().iter() {
            assert_eq!(*missed, 0);
            *fired.entry((*owner, due_at.clone())).or_default() += 1;
        }
        let times = (0..1_000).flat_map(|n| (0..3).map(move |nth| (n, first(n) + nth * MINUTE)));
        let expected = times.map(|(n, at)| ((id(&author(n)), at.rfc3339()), 1)).collect();
        assert_eq!(fired, expected);
        // 48 requests at once may exceed the limit of their timer, and of nothing else
        let own: Vec<String> =
            (0..100).map(|tens| format!("due timer#{}", id(&author(10 * tens)))).collect();
        let of_others = crowd.refused().into_iter().filter(|(key, _)| !own.contains(key));
        assert_eq!(of_others.collect::<Vec<_>>(), []);
        println!("{} messages, {} retried, put in {took:?}", crowd.sent.get(), crowd.retried.get());
    });
}

/// 300 timers of one owner have the same second, and each removal changes the owner's profile. Others fire meanwhile.
#[test]
fn timers_of_one_owner_fire_once() {
    let server = Server::start();
    runtime().block_on(async {
        let mut crowd = Crowd::of(&server, 10).await;
        crowd.begin();
        let due_at = |n: u64| START + Duration::from_millis(90_000 + 3 * n);
        let name = |n: u64| format!("renew-{n}").parse().expect("a name");
        let puts = (0..300).map(async |n| {
            let new = NewTimer { due_at: due_at(n), every: None, payload: json!(n) };
            timers::put(&crowd.apps.app, &identity(&author(0)), &name(n), new, START).await
        });
        for put in puts {
            put.await.expect("put");
        }
        // more removals meet than their tries can settle
        crowd.apps.cloud.lock().latency.0 = 12 * TRANSACTION;
        crowd.ends = Some(due_at(299) + 4 * MINUTE);
        join(crowd.look_ahead(), crowd.functions()).await;
        crowd.collect();
        let mut fired: BTreeMap<String, usize> = BTreeMap::new();
        for TimerFired { name, .. } in crowd.fired.borrow().iter() {
            *fired.entry(name.to_string()).or_default() += 1;
        }
        let expected = (0..300).map(|n| (format!("renew-{n}"), 1)).collect();
        assert_eq!(fired, expected);
        println!("{} messages, {} retried", crowd.sent.get(), crowd.retried.get());
        assert!(crowd.retried.get() > 0, "removals meet");
    });
}

/// A user sends 48 requests at once, each for another scheduled post or timer: all are made, and then all are removed.
#[test]
fn one_user_makes_and_removes_many_items_at_once() {
    let server = Server::start();
    runtime().block_on(async {
        let crowd = Crowd::of(&server, 1).await;
        crowd.begin();
        let (me, at) = (identity(&author(0)), START + 10 * MINUTE);
        let timer = |n: u64| format!("renew-{n}").parse().expect("a name");
        let (posts, timers) = (&crowd.apps.app, &crowd.apps.app);
        let schedule = (0..48).map(|_| {
            let new = NewScheduled { post: "later".into(), publish_at: at, key: None };
            scheduled::schedule(posts, &me, new, START)
        });
        let made: Result<Vec<_>, _> = join_all(schedule).await.into_iter().collect();
        let put = (0..48).map(async |n| {
            let new = NewTimer { due_at: at, every: None, payload: json!(n) };
            timers::put(timers, &me, &timer(n), new, START).await.map(drop)
        });
        let put: Result<(), _> = join_all(put).await.into_iter().collect();
        put.expect("put");
        assert_eq!(crowd.apps.cloud.lock().items(DUE).filter(|item| is_row(item)).count(), 96);
        let cancel = made
            .expect("scheduled")
            .into_iter()
            .map(async |post| scheduled::cancel(posts, &me, post.id, START).await);
        let cancelled: Result<(), _> = join_all(cancel).await.into_iter().collect();
        cancelled.expect("cancelled");
        let deleted = (0..48).map(async |n| timers::delete(timers, &me, &timer(n), START).await);
        let deleted: Result<(), _> = join_all(deleted).await.into_iter().collect();
        deleted.expect("deleted");
        assert_eq!(crowd.apps.cloud.lock().items(DUE).filter(|item| is_row(item)).count(), 0);
    });
}

/// Whether an item is a row of the index.
fn is_row(item: &Item) -> bool {
    item["pk"]["S"].as_str().is_some_and(|pk| pk.starts_with("due#"))
}

/// Each scheduled post has one message. Some are scheduled 48 times at once with one `Idempotency-Key`, and some are changed
/// 48 times at once.
#[test]
fn each_scheduled_post_has_one_message() {
    let server = Server::start();
    runtime().block_on(async {
        let mut crowd = Crowd::of(&server, 100).await;
        crowd.begin();
        let (app, key) = (&crowd.apps.app, Some("a key"));
        for n in 0..100 {
            let publish_at = START + Duration::from_millis(85_000 + 20 * n);
            let (me, times) = (identity(&author(n)), if n.is_multiple_of(20) { 48 } else { 1 });
            let new = NewScheduled { post: "on time".into(), publish_at, key };
            let all = join_all((0..times).map(|_| scheduled::schedule(app, &me, new, START))).await;
            let ids: Result<BTreeSet<_>, _> =
                all.into_iter().map(|one| one.map(|one| one.id)).collect();
            let ids = ids.expect("scheduled");
            assert_eq!(ids.len(), 1);
            if n % 20 == 10 {
                let changes = (0..48).map(async |nth| {
                    let (text, id) = (format!("changed {nth}"), *ids.first().expect("an id"));
                    let change = ScheduledEdit { text: Some(&text), ..ScheduledEdit::default() };
                    scheduled::change(app, &me, id, change, START).await.map(drop)
                });
                let changed: Result<(), _> = join_all(changes).await.into_iter().collect();
                changed.expect("changed");
            }
        }
        crowd.expected = 100;
        crowd.run().await;
    });
}

/// 100,000 items have the same second. Valkey loses everything twice: before they are handed on, and when they are under way;
/// then their messages are lost as well. Each time one look-ahead finds and hands on all of them, within
/// its time, and DynamoDB refuses nothing.
#[test]
fn a_hundred_thousand_at_one_time_come_back_when_valkey_is_emptied() {
    let server = Server::start();
    runtime().block_on(async {
        let at = START + 5 * MINUTE + Duration::from_secs(1);
        let apps = Apps::on(&server, &[], RetryConfig::standard().with_max_attempts(4), true);
        apps.valkey.reset();
        apps.steps.set_free(true);
        let mut expected = BTreeSet::new();
        {
            let mut cloud = apps.cloud.lock();
            cloud.keeps_delays = true;
            cloud.latency = (TRANSACTION, CALL);
            for n in 0..100_000 {
                let name = format!("renew-{n}").parse().expect("a name");
                let owner = id(&author(n % 1_000));
                let at = at + Duration::from_millis(n % 1_000);
                let entry = timers::items::entry(owner, &name, at);
                cloud.put(DUE, row(&entry));
                expected.insert(entry);
            }
        }
        let began = Instant::now();
        let look = async || {
            let (start, now) = (Instant::now(), START + began.elapsed());
            let looked = look_ahead(&apps.app, now, Deadline::NONE).await.expect("looked");
            assert!(start.elapsed() < LOOK_TIMEOUT, "{looked:?} took {:?}", start.elapsed());
            println!("{looked:?} in {:?}", start.elapsed());
            (looked, start.elapsed())
        };
        // the entries that a look-ahead handed on, in the order of their messages
        let handed_on = || {
            let mut cloud = apps.cloud.lock();
            let sent = std::mem::take(&mut cloud.sent).into_iter();
            let sent = sent.map(|(queue, body)| (queue, body, Duration::ZERO));
            let all: Vec<(DueEntry, Duration)> = sent
                .chain(std::mem::take(&mut cloud.delayed))
                .map(|(queue, body, delay)| {
                    assert_eq!(queue, "due-items");
                    let message = ItemDue::decode(&body).expect("a message");
                    (message.entry, delay)
                })
                .collect();
            all
        };
        let (far, _) = look().await;
        assert_eq!((far.handed_on, far.loaded), (0, 16), "all are due later");
        assert!(handed_on().is_empty());

        apps.valkey.flush();
        sleep_until(began + Duration::from_secs(4 * 60)).await;
        let (near, took) = look().await;
        assert_eq!((near.handed_on, near.loaded, near.overdue), (100_000, 16, 0));
        let now = START + Duration::from_secs(4 * 60);
        let mut found = BTreeSet::new();
        for (entry, delay) in handed_on() {
            assert!(now + took + delay >= entry.at, "early: {entry}");
            assert!(now + delay <= entry.at + Duration::from_secs(1), "late: {entry}");
            assert!(found.insert(entry), "handed on twice");
        }
        assert_eq!(found, expected);
        let (again, _) = look().await;
        assert_eq!((again.handed_on, again.loaded), (0, 0), "their messages are under way");

        // a look-ahead a minute after the time finds all of them overdue
        apps.valkey.flush();
        sleep_until(began + Duration::from_secs(6 * 60)).await;
        let (late, _) = look().await;
        assert_eq!((late.handed_on, late.overdue), (100_000, 100_000));
        let found: BTreeSet<DueEntry> = handed_on().into_iter().map(|(entry, _)| entry).collect();
        assert_eq!(found, expected);
        let cloud = apps.cloud.lock();
        let refused: Vec<_> = cloud.capacity.iter().flat_map(|limits| &limits.refused).collect();
        assert!(refused.is_empty(), "{refused:?}");
    });
}

/// The row of an entry in the index, as the store writes it.
fn row(entry: &DueEntry) -> Item {
    let pk = format!("due#{}#{}", entry.hour(), entry.part());
    let item = json!({"pk": {"S": pk}, "sk": {"S": entry.to_string()}, "v": {"N": "1"}});
    serde_json::from_value(item).expect("an item")
}
