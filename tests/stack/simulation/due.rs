//! Posts are scheduled, changed and cancelled, and timers put and deleted, while their times come. Look-aheads run about every
//! minute, some twice, some not at all. Messages arrive after their delay, twice, late and out of order. Workers die between
//! any two calls; calls fail with or without effect; Valkey loses its data or falls back to an older state; and the clock of
//! each worker differs by up to a second.
//!
//! At rest: every accepted post that was not cancelled is published exactly once, none before its time by the clock of the
//! function that published it, and none is lost. Every accepted timer that was neither replaced nor deleted has fired. The
//! numbers in the profiles are those of the rows, and nothing that is done is left in the index.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use aws_sdk_dynamodb::config::retry::RetryConfig;
use fanfold_core::limits::{CLOCKS_DIFFER, DUE_FIRING_LEASE, DUE_HANDED_ON_LEASE};
use fanfold_core::message::Received as _;
use fanfold_core::{DueEntry, DuePart, PostId, ScheduledId, Time, TimerName, UserId};
use fanfold_engines::due::{Handled, ItemDue, LookedAhead};
use fanfold_kinds::Error;
use fanfold_kinds::due::{handle, look_ahead};
use fanfold_kinds::scheduled::items::Scheduled;
use fanfold_kinds::scheduled::{self, NewScheduled, ScheduledEdit};
use fanfold_kinds::subscriptions::PostEvent;
use fanfold_kinds::timers::items::Timer;
use fanfold_kinds::timers::messages::TimerFired;
use fanfold_kinds::timers::{self, NewTimer};
use fanfold_runtime::StoreError;
use fanfold_runtime::clock::Deadline;
use futures::future::LocalBoxFuture;
use serde_json::{Value, json};

use super::apps::{
    Apps, DUE, PEOPLE, POSTS, START, USERS, cloud_with_profiles, id, identity, name, with_people,
};
use super::cloud::{Cloud, Faults};
use super::server::Server;
use super::tasks::{Task, runtime, settle};
use crate::harness::dice::Dice;

/// The timeout of functions that serve requests and queues, and of the look-ahead.
const TIMEOUTS: [Duration; 2] = [Duration::from_secs(20), Duration::from_secs(55)];
const MINUTE: Duration = Duration::from_secs(60);
/// Seconds until an item is due. Some are the limits of look-aheads and loads.
const AHEAD_S: [u64; 10] = [60, 61, 90, 119, 120, 121, 200, 600, 3_600, 10_000];

/// What a worker did.
enum Done {
    Scheduled(Result<Scheduled, Error>),
    /// A changed post, with the text and the time that were asked for.
    Changed(ScheduledId, String, Time, Result<Scheduled, Error>),
    Cancelled(ScheduledId, Result<(), Error>),
    Put(UserId, TimerName, Result<Timer, Error>),
    /// A timer, deleted or not.
    Deleted(UserId, TimerName),
    Looked(Result<LookedAhead, StoreError>),
    Handled(Result<Handled, StoreError>),
}

/// A worker, by its number.
struct Worker {
    began: Time,
    timeout: Duration,
    /// The message that it handles.
    message: Option<ItemDue>,
    /// What it may change without an answer, if it dies.
    subject: Subject,
}

#[derive(Debug, Clone)]
enum Subject {
    None,
    Change(ScheduledId, String, Time),
    Cancel(ScheduledId),
    Timer(UserId, TimerName),
}

/// What is known of an accepted scheduled post.
#[derive(Debug, Clone)]
struct Accepted {
    /// The texts and times that the post may have: the last one that was answered, and those without an answer since.
    forms: Vec<(String, Time)>,
    is_cancelled: bool,
    /// Whether a request to cancel it had no answer.
    may_be_cancelled: bool,
}

/// Sums over a history.
#[derive(Debug, Default, Clone, Copy)]
struct Counts {
    published: u64,
    cancelled: u64,
    refused_late: u64,
    fired: u64,
    early: u64,
    overdue: u64,
    loaded: u64,
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.published += other.published;
        self.cancelled += other.cancelled;
        self.refused_late += other.refused_late;
        self.fired += other.fired;
        self.early += other.early;
        self.overdue += other.overdue;
        self.loaded += other.loaded;
    }
}

struct History {
    apps: Rc<Apps>,
    dice: Dice,
    now: Time,
    tasks: Vec<Task<Done>>,
    /// All workers so far; the index is the number of the task.
    workers: Vec<Worker>,
    /// Messages that no worker handles, with the time from which they may arrive.
    mail: Vec<(Time, ItemDue)>,
    accepted: BTreeMap<ScheduledId, Accepted>,
    /// For each name, the timer that was accepted last. `None`: it may have changed without an answer.
    timers: BTreeMap<(UserId, TimerName), Option<Timer>>,
    /// For each worker that has answered, the number of the next worker at that time.
    ended: BTreeMap<usize, usize>,
    /// The times of all timers by revision, once each.
    fired: Vec<TimerFired>,
    /// When the function that published each post sent its event, by its own clock.
    announced: BTreeMap<PostId, Vec<Time>>,
    counts: Counts,
    /// When the leases of functions ended last. Valkey's own clock does not pass.
    leases_ended: Time,
    wrong: Option<String>,
}

impl History {
    /// The clock of the next worker.
    fn clock(&mut self) -> Time {
        self.now + Duration::from_secs(1) - Duration::from_millis(self.dice.below(2_001))
    }

    fn begin(
        &mut self,
        timeout: Duration,
        message: Option<ItemDue>,
        subject: Subject,
        future: LocalBoxFuture<'static, Done>,
    ) {
        let number = self.workers.len();
        self.workers.push(Worker { began: self.now, timeout, message, subject });
        self.tasks.push(Task::new(number, String::new(), future));
    }

    fn ahead(&mut self) -> Duration {
        Duration::from_secs(*self.dice.pick(&AHEAD_S))
    }

    fn schedule(&mut self) {
        let (apps, user, now) = (self.apps.clone(), *self.dice.pick(&PEOPLE), self.clock());
        let key = self.dice.below(30).to_string();
        let key = self.dice.one_in(3).then_some(key);
        // whole seconds, so that several items are due at the same time
        let at = Time::from_ms((now + self.ahead()).ms() / 1_000 * 1_000 + 1_000);
        let text = format!("post {}", self.workers.len());
        let future = Box::pin(async move {
            let new = NewScheduled { text: &text, publish_at: at, key: key.as_deref() };
            Done::Scheduled(scheduled::schedule(&apps.app, &identity(user), new, now).await)
        });
        self.begin(TIMEOUTS[0], None, Subject::None, future);
    }

    fn known(&mut self) -> Option<ScheduledId> {
        let ids: Vec<ScheduledId> = self.accepted.keys().copied().collect();
        (!ids.is_empty()).then(|| *self.dice.pick(&ids))
    }

    fn change(&mut self) {
        let Some(item) = self.known() else { return };
        let (apps, now) = (self.apps.clone(), self.clock());
        let at = Time::from_ms((now + self.ahead()).ms() / 1_000 * 1_000 + 1_000);
        let text = format!("changed {}", self.workers.len());
        let subject = Subject::Change(item, text.clone(), at);
        let future = Box::pin(async move {
            let change = ScheduledEdit { text: Some(&text), publish_at: Some(at) };
            let me = identity(name(item.author()));
            let changed = scheduled::change(&apps.app, &me, item, change, now).await;
            Done::Changed(item, text.clone(), at, changed)
        });
        self.begin(TIMEOUTS[0], None, subject, future);
    }

    fn cancel(&mut self) {
        let Some(item) = self.known() else { return };
        let (apps, now) = (self.apps.clone(), self.clock());
        let future = Box::pin(async move {
            let me = identity(name(item.author()));
            Done::Cancelled(item, scheduled::cancel(&apps.app, &me, item, now).await)
        });
        self.begin(TIMEOUTS[0], None, Subject::Cancel(item), future);
    }

    fn timer(&mut self) -> (UserId, TimerName) {
        let user = *self.dice.pick(&PEOPLE);
        (id(user), ["a", "b"][self.dice.below(2) as usize].parse().expect("a name"))
    }

    fn put_timer(&mut self) {
        let ((owner, timer), now) = (self.timer(), self.clock());
        let (apps, past) = (self.apps.clone(), self.dice.one_in(6));
        let due_at = if past { Time::EPOCH } else { now + self.ahead() };
        let every = self.dice.one_in(3).then(|| "PT7M".parse().expect("a duration"));
        let subject = Subject::Timer(owner, timer.clone());
        let future = Box::pin(async move {
            let new = NewTimer { due_at, every, payload: json!(7) };
            let put = timers::put(&apps.app, &identity(name(owner)), &timer, new, now).await;
            Done::Put(owner, timer, put.map(|(timer, _)| timer))
        });
        self.begin(TIMEOUTS[0], None, subject, future);
    }

    fn delete_timer(&mut self) {
        let ((owner, timer), now) = (self.timer(), self.clock());
        let (apps, subject) = (self.apps.clone(), Subject::Timer(owner, timer.clone()));
        let future = Box::pin(async move {
            let me = identity(name(owner));
            let _either = timers::delete(&apps.app, &me, &timer, now).await;
            Done::Deleted(owner, timer)
        });
        self.begin(TIMEOUTS[0], None, subject, future);
    }

    fn look(&mut self) {
        let (apps, now) = (self.apps.clone(), self.clock());
        let future =
            Box::pin(async move { Done::Looked(look_ahead(&apps.app, now, Deadline::NONE).await) });
        self.begin(TIMEOUTS[1], None, Subject::None, future);
    }

    /// A message arrives, if the delay of one is over. `again`: it will arrive once more, even if it is handled.
    fn arrive(&mut self, again: bool) -> bool {
        let ready: Vec<usize> =
            (0..self.mail.len()).filter(|nth| self.mail[*nth].0 <= self.now).collect();
        if ready.is_empty() {
            return false;
        }
        let message = self.mail.swap_remove(*self.dice.pick(&ready)).1;
        if again {
            self.mail.push((self.now, message.clone()));
        }
        let (apps, now, taken) = (self.apps.clone(), self.clock(), message.clone());
        let future = Box::pin(async move { Done::Handled(handle(&apps.app, &taken, now).await) });
        self.begin(TIMEOUTS[0], Some(message), Subject::None, future);
        true
    }

    fn settle(&mut self) {
        let done = settle(&mut self.tasks, &self.apps.steps);
        let (sent, delayed) = {
            let mut cloud = self.apps.cloud.lock();
            (std::mem::take(&mut cloud.sent), std::mem::take(&mut cloud.delayed))
        };
        let sent = sent.into_iter().map(|(queue, body)| (queue, body, Duration::ZERO));
        for (queue, body, delay) in sent.chain(delayed) {
            match queue.as_str() {
                "due-items" => {
                    let message = ItemDue::decode(&body).expect("a message");
                    self.mail.push((self.now + delay, message));
                }
                "timer-events" => self.fire(TimerFired::decode(&body).expect("a message")),
                "post-events" => {
                    let PostEvent::PostPublished(event) = PostEvent::decode(&body).expect("one")
                    else {
                        continue;
                    };
                    self.announced.entry(event.post).or_default().push(event.time());
                }
                other => panic!("a message on {other}"),
            }
        }
        for (number, done) in done {
            self.note(number, done);
        }
    }

    fn fire(&mut self, fired: TimerFired) {
        let due = Time::parse_rfc3339(&fired.due_at).expect("a time");
        if self.now + CLOCKS_DIFFER < due {
            self.wrong = Some(format!("{fired:?} at {}", self.now));
        }
        self.counts.fired += 1;
        self.fired.push(fired);
    }

    fn note(&mut self, number: usize, done: Done) {
        self.ended.insert(number, self.workers.len());
        match done {
            Done::Scheduled(Ok(item)) => {
                // a repeated request with its key may find an item that was changed since
                let forms = vec![(item.text, item.publish_at)];
                let new = Accepted { forms, is_cancelled: false, may_be_cancelled: false };
                self.accepted.entry(item.id).or_insert(new);
            }
            Done::Changed(item, text, at, Ok(_)) => {
                let others = self.overlaps(
                    number,
                    |subject| matches!(subject, Subject::Change(other, ..) if *other == item),
                );
                if let Some(accepted) = self.accepted.get_mut(&item) {
                    if !others {
                        accepted.forms.clear();
                    }
                    accepted.forms.push((text, at));
                }
            }
            Done::Changed(item, text, at, Err(error)) => {
                self.too_late(item, &error);
                self.unanswered(&Subject::Change(item, text, at));
            }
            Done::Cancelled(item, Ok(())) => {
                self.counts.cancelled += 1;
                if let Some(accepted) = self.accepted.get_mut(&item) {
                    accepted.is_cancelled = true;
                }
            }
            Done::Cancelled(item, Err(error)) => {
                self.too_late(item, &error);
                self.unanswered(&Subject::Cancel(item));
            }
            Done::Put(owner, timer, Ok(put)) => {
                let others = self.overlaps(
                    number,
                    |subject| matches!(subject, Subject::Timer(other, name) if *other == owner && *name == timer),
                );
                // of two requests at the same time, either may be the last one
                self.timers.insert((owner, timer), (!others).then_some(put));
            }
            Done::Put(owner, timer, Err(_)) | Done::Deleted(owner, timer) => {
                self.timers.insert((owner, timer), None);
            }
            Done::Looked(Ok(looked)) => {
                self.counts.overdue += looked.overdue;
                self.counts.loaded += looked.loaded;
            }
            Done::Scheduled(Err(_)) | Done::Looked(Err(_)) => {}
            Done::Handled(Ok(handled)) => {
                self.counts.early += u64::from(handled == Handled::Early);
            }
            Done::Handled(Err(_)) => self.return_message(number),
        }
    }

    /// Whether another request about the same subject ran at the same time as this one: either may have committed last.
    fn overlaps(&self, number: usize, is_same: impl Fn(&Subject) -> bool) -> bool {
        (0..self.workers.len()).any(|other| {
            let is_running = self.tasks.iter().any(|task| task.number == other);
            let ended = self.ended.get(&other).copied().unwrap_or_default();
            other != number
                && is_same(&self.workers[other].subject)
                && (is_running || ended > number)
        })
    }

    /// A refusal says that the post was published: it must be.
    fn too_late(&mut self, item: ScheduledId, error: &Error) {
        let Error::AlreadyPublished { post } = error else { return };
        self.counts.refused_late += 1;
        if self.posts(item.author()).iter().all(|(found, _)| found != post) {
            self.wrong = Some(format!("{item} is not published as {post}"));
        }
    }

    /// A request without an answer may have changed its subject.
    fn unanswered(&mut self, subject: &Subject) {
        match subject {
            Subject::None => {}
            Subject::Change(item, text, at) => {
                if let Some(accepted) = self.accepted.get_mut(item) {
                    accepted.forms.push((text.clone(), *at));
                }
            }
            Subject::Cancel(item) => {
                if let Some(accepted) = self.accepted.get_mut(item) {
                    accepted.may_be_cancelled = true;
                }
            }
            Subject::Timer(owner, timer) => {
                self.timers.insert((*owner, timer.clone()), None);
            }
        }
    }

    fn return_message(&mut self, number: usize) {
        let wait = Duration::from_millis(self.dice.below(5_000));
        let message = self.workers[number].message.take();
        self.mail.extend(message.map(|message| (self.now + wait, message)));
    }

    /// A worker dies. Its message goes back to the queue.
    fn kill(&mut self, at: usize) {
        let number = self.tasks.remove(at).number;
        let subject = self.workers[number].subject.clone();
        self.unanswered(&subject);
        self.return_message(number);
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
        if self.now.since(self.leases_ended) >= DUE_FIRING_LEASE {
            self.apps.valkey.delete("lock:due:*");
            self.leases_ended = self.now;
        }
        while let Some(at) = self.tasks.iter().position(|task| {
            let Worker { began, timeout, .. } = &self.workers[task.number];
            self.now > *began + *timeout
        }) {
            self.kill(at);
        }
        self.settle();
    }

    fn disturb_valkey(&mut self) {
        match self.dice.below(5) {
            0 => self.apps.valkey.flush(),
            1 | 2 => self.apps.valkey.replicate(),
            3 => self.apps.valkey.fail_over(),
            _ => self.apps.valkey.forget_scripts(),
        }
    }

    async fn run(&mut self) {
        for _ in 0..220 + self.dice.below(200) {
            match self.dice.below(60) {
                0..6 => self.schedule(),
                6..8 => self.change(),
                8 => self.cancel(),
                9 | 10 => self.put_timer(),
                11 if self.dice.one_in(2) => self.delete_timer(),
                12..15 => self.look(),
                15..22 => {
                    let again = self.dice.one_in(4);
                    self.arrive(again);
                }
                22 if !self.tasks.is_empty() => {
                    let at = self.dice.below(self.tasks.len() as u64) as usize;
                    self.kill(at);
                }
                23 if self.dice.one_in(3) => self.disturb_valkey(),
                24 | 25 => {
                    let waits = [2, 15, 60, 60, 130, 700, 4_000];
                    let wait = Duration::from_secs(*self.dice.pick(&waits));
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

    /// All workers finish.
    async fn finish(&mut self) {
        for _ in 0..20_000 {
            if self.tasks.is_empty() {
                return;
            }
            self.step().await;
        }
        panic!("the work does not end");
    }

    /// Minutes pass with a look-ahead each, and all messages arrive, until nothing waits.
    async fn rest(&mut self) {
        self.finish().await;
        for minute in 0..400 {
            self.look();
            self.finish().await;
            while self.arrive(false) {
                self.finish().await;
            }
            let next = {
                let cloud = self.apps.cloud.lock();
                let items = cloud.items(DUE);
                items
                    .filter(|item| state(item) == "waiting" || is_single_timer(item))
                    .filter_map(time_of)
                    .min()
            };
            if next.is_none() && self.mail.is_empty() {
                return;
            }
            // look-aheads that would find nothing are left out
            let far = next.filter(|_| minute > 8).map_or(Duration::ZERO, |at| at.since(self.now));
            self.wait(far.saturating_sub(MINUTE + Duration::from_secs(40)).max(MINUTE)).await;
        }
        panic!("something waits for hours: {:?}", self.mail);
    }

    /// The posts of an author in the table: ids and texts.
    fn posts(&self, author: UserId) -> Vec<(PostId, String)> {
        let cloud = self.apps.cloud.lock();
        let pk = author.to_string();
        let items = cloud.items(POSTS).filter(|item| item["pk"]["S"] == pk.as_str());
        let text = |value: &Value| value["S"].as_str().unwrap_or_default().to_owned();
        items.map(|item| (text(&item["sk"]).parse().expect("an id"), text(&item["text"]))).collect()
    }

    async fn check(&mut self) -> Result<(), String> {
        if let Some(wrong) = self.wrong.take() {
            return Err(wrong);
        }
        let mut posts: BTreeMap<PostId, String> = BTreeMap::new();
        for user in PEOPLE {
            posts.extend(self.posts(id(user)));
        }
        self.apps.steps.set_free(true);
        let mut published = BTreeSet::new();
        for (item, accepted) in &self.accepted {
            let found =
                self.apps.app.scheduled.scheduled(*item).await.map_err(|e| format!("{e:?}"))?;
            let found = found.ok_or_else(|| format!("{item} is lost"))?;
            let text = posts.get(&found.post);
            let is_published = found.state == due_state("published");
            if accepted.is_cancelled && (is_published || text.is_some()) {
                return Err(format!("{item} was cancelled, and published as {}", found.post));
            }
            if !is_published {
                if accepted.is_cancelled || accepted.may_be_cancelled {
                    continue;
                }
                return Err(format!("{item} is not published: {found:?}"));
            }
            let text = text.ok_or_else(|| format!("{item} has no post {}", found.post))?;
            if !accepted.forms.contains(&(text.clone(), found.publish_at)) {
                return Err(format!("{item} is {text:?} at {}: {accepted:?}", found.publish_at));
            }
            let announced = self.announced.get(&found.post).cloned().unwrap_or_default();
            if announced.is_empty() || announced.iter().any(|at| *at < found.publish_at) {
                return Err(format!(
                    "{item} for {} was published at {announced:?}",
                    found.publish_at
                ));
            }
            published.insert(found.post);
            self.counts.published += 1;
        }
        self.check_all_posts(&posts)?;
        self.check_timers()?;
        self.check_numbers()?;
        self.check_index().await
    }

    /// Each post belongs to one item that says so: none was published twice under another id.
    fn check_all_posts(&self, posts: &BTreeMap<PostId, String>) -> Result<(), String> {
        let cloud = self.apps.cloud.lock();
        let items = cloud.items(DUE).filter(|item| state(item) == "published");
        let of_items: BTreeSet<PostId> = items
            .map(|item| item["post"]["S"].as_str().unwrap_or_default().parse().expect("one"))
            .collect();
        let all: BTreeSet<PostId> = posts.keys().copied().collect();
        if of_items != all {
            return Err(format!("posts {all:?}, published items {of_items:?}"));
        }
        Ok(())
    }

    /// Each timer that was accepted last, and did not change since, has fired at each of its times.
    fn check_timers(&self) -> Result<(), String> {
        let cloud = self.apps.cloud.lock();
        for ((owner, timer), put) in &self.timers {
            let Some(Timer { revision, due_at, every, .. }) = put else { continue };
            let fired =
                self.fired.iter().filter(|fired| fired.owner == *owner && fired.name == *timer);
            let time = |fired: &TimerFired| Time::parse_rfc3339(&fired.due_at).expect("a time");
            let is_of = |fired: &&TimerFired| {
                let (key, payload) = ((*owner, timer.clone()), fired.payload.clone());
                TimerFired::new(key, revision, time(fired), fired.missed, payload).id == fired.id
            };
            // a repetition of a message may have missed more
            let mut missed: BTreeMap<Time, BTreeSet<u64>> = BTreeMap::new();
            for fired in fired.filter(is_of) {
                missed.entry(time(fired)).or_default().insert(fired.missed);
            }
            let of = format!("timer {timer} of {}", name(*owner));
            let (mut next, mut all) = (BTreeSet::from([*due_at]), missed.iter().peekable());
            if all.peek().is_none() && (every.is_none() || *due_at <= self.now) {
                return Err(format!("{of} did not fire"));
            }
            for (at, missed) in all {
                if !next.contains(at) {
                    return Err(format!("{of} fired for {at}, not for one of {next:?}"));
                }
                let after =
                    |missed: &u64| Some(*at + every.as_ref()?.length() * (missed + 1) as u32);
                next = missed.iter().filter_map(after).collect();
            }
            let mut items = cloud.items(DUE).filter(|item| {
                item["pk"]["S"] == format!("timer#{owner}").as_str()
                    && item["sk"]["S"] == timer.as_str()
            });
            match items.next().and_then(time_of) {
                Some(at) if next.contains(&at) && at + 2 * MINUTE > self.now => {}
                None if every.is_none() => {}
                other => return Err(format!("{of} is due at {other:?}, not one of {next:?}")),
            }
        }
        Ok(())
    }

    /// The numbers in the profiles are those of the rows.
    fn check_numbers(&self) -> Result<(), String> {
        let cloud = self.apps.cloud.lock();
        for user in PEOPLE {
            let of = |prefix: &str| {
                let pk = format!("{prefix}#{}", id(user));
                cloud.items(DUE).filter(move |item| item["pk"]["S"] == pk.as_str())
            };
            let scheduled = of("scheduled").filter(|item| item["state"]["S"] == "waiting").count();
            let pk = format!("user#{}", id(user));
            let mut profiles = cloud.items(USERS).filter(|item| item["pk"]["S"] == pk.as_str());
            let profile = profiles.next().expect("a profile");
            for (counter, rows) in [("scheduled", scheduled), ("timers", of("timer").count())] {
                if profile[counter]["N"] != rows.to_string().as_str() {
                    return Err(format!("{user} has {rows} {counter}, not {}", profile[counter]));
                }
            }
            if of("soonest").next().is_some() {
                return Err(format!("the list of {user} has an item that is done"));
            }
        }
        Ok(())
    }

    /// Nothing that is done is left in the index, after look-aheads have handed on again what they still know.
    async fn check_index(&mut self) -> Result<(), String> {
        self.apps.steps.set_free(false);
        self.wait(DUE_HANDED_ON_LEASE + 5 * MINUTE).await;
        for _ in 0..3 {
            self.look();
            self.finish().await;
            self.wait(2 * MINUTE).await;
            while self.arrive(false) {
                self.finish().await;
            }
        }
        let cloud = self.apps.cloud.lock();
        let of = |prefix: &'static str| {
            let is_of = move |item: &&super::expression::Item| {
                item["pk"]["S"].as_str().is_some_and(|pk| pk.starts_with(prefix))
            };
            cloud.items(DUE).filter(is_of)
        };
        let text = |value: &Value| value["S"].as_str().unwrap_or_default().to_owned();
        let rows: BTreeSet<String> = of("due#").map(|item| text(&item["sk"])).collect();
        let timers: BTreeSet<String> = of("timer#")
            .map(|item| {
                let owner: UserId = text(&item["owner"]).parse().expect("an id");
                let timer = text(&item["sk"]).parse().expect("a name");
                let at = item["due_at_ms"]["N"].as_str().and_then(|at| at.parse().ok());
                let at = Time::from_ms(at.expect("a time"));
                timers::items::entry(owner, &timer, at).to_string()
            })
            .collect();
        if rows != timers {
            return Err(format!("entries {rows:?}, timers {timers:?}"));
        }
        drop(cloud);
        let keys = DuePart::all().map(|part| format!("due:{{{part}}}"));
        let keys: BTreeSet<String> = keys.collect();
        for (key, members) in self.apps.valkey.keys() {
            let members =
                members.into_iter().map(|member| String::from_utf8(member).unwrap_or_default());
            // the entry of an item that was moved or cancelled stays until its time
            let is_over = |member: &String| {
                member.parse::<DueEntry>().is_ok_and(|entry| entry.at + 2 * MINUTE < self.now)
            };
            let done: Vec<String> =
                members.filter(|member| !rows.contains(member)).filter(is_over).collect();
            if keys.contains(&key) && !done.is_empty() {
                return Err(format!("{key} has {done:?}, which are done"));
            }
        }
        Ok(())
    }
}

fn due_state(text: &str) -> fanfold_kinds::scheduled::items::ScheduledState {
    serde_json::from_value(json!(text)).expect("a state")
}

/// The state of a scheduled post. Empty for other items.
fn state(item: &super::expression::Item) -> &str {
    item.get("state").and_then(|state| state["S"].as_str()).unwrap_or_default()
}

/// The time of a scheduled post or a timer.
fn time_of(item: &super::expression::Item) -> Option<Time> {
    let at = item.get("publish_at_ms").or_else(|| item.get("due_at_ms"))?;
    at["N"].as_str()?.parse().ok().map(Time::from_ms)
}

fn is_single_timer(item: &super::expression::Item) -> bool {
    let is_timer = item["pk"]["S"].as_str().is_some_and(|pk| pk.starts_with("timer#"));
    is_timer && !item.contains_key("every")
}

/// Runs the history of a seed.
async fn run(server: &Server, start: &Cloud, seed: u64) -> Result<Counts, String> {
    fastrand::seed(seed);
    let mut dice = Dice(seed);
    let mut apps = Apps::on(server, &[], RetryConfig::disabled(), dice.one_in(2));
    apps.app.settings.due_batch = 1 + dice.below(4) as usize;
    *apps.cloud.lock() = start.clone();
    apps.cloud.lock().sent.clear();
    apps.cloud.lock().keeps_delays = true;
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
        accepted: BTreeMap::new(),
        timers: BTreeMap::new(),
        ended: BTreeMap::new(),
        fired: Vec::new(),
        announced: BTreeMap::new(),
        counts: Counts::default(),
        leases_ended: START,
        wrong: None,
    };
    history.run().await;
    let checked = history.check().await;
    checked.map(|()| history.counts).map_err(|reason| {
        let log = history.apps.steps.log();
        let repeat =
            format!("repeat: FANFOLD_SEED={seed} FANFOLD_DUE=1 cargo local test simulation::due");
        format!("{}\nseed {seed}: {reason}\n{repeat}", log.join("\n"))
    })
}

#[test]
fn every_item_is_published_or_fired_at_its_time() {
    let (server, runtime) = (Server::start(), runtime());
    let start = cloud_with_profiles(&server, &runtime, 1);
    let run = |seed| runtime.block_on(run(&server, &start, seed));
    if let Some(total) = super::histories_of("DUE", 110, run) {
        let Counts { published, cancelled, refused_late, fired, early, overdue, loaded } = total;
        let all = [published, cancelled, refused_late, fired, early, overdue, loaded];
        assert!(all.iter().all(|count| *count > 10), "{total:?}");
    }
}

/// The owner replaces the payload of a timer after its message was sent, and before the timer is removed.
#[test]
fn a_timer_that_is_replaced_while_it_fires_fires_again() {
    with_people(async |apps| {
        let owner = PEOPLE[0];
        let put = async |payload: Value| {
            let due_at = START + 3 * MINUTE;
            let new = NewTimer { due_at, every: None, payload };
            let name = "renew".parse().expect("a name");
            let owner = identity(owner);
            let put = timers::put(&apps.app, &owner, &name, new, START).await;
            put.expect("a timer").0
        };
        let sent = |cloud: &Cloud| -> Vec<TimerFired> {
            let sent = cloud.sent.iter().filter(|(queue, _)| queue == "timer-events");
            sent.map(|(_, body)| TimerFired::decode(body).expect("a message")).collect()
        };
        let old = put(json!("old")).await;
        apps.steps.set_free(false);
        let message = ItemDue::new(old.entry());
        let mut firing = Box::pin(handle(&apps.app, &message, old.due_at));
        while sent(&apps.cloud.lock()).is_empty() {
            assert!(futures::poll!(&mut firing).is_pending(), "its message goes first");
            apps.steps.grant(0);
        }
        apps.steps.set_free(true);
        let new = put(json!("new")).await;
        assert_eq!(new.entry(), old.entry());
        assert_eq!(firing.await.expect("handled"), Handled::Done);
        let payloads: Vec<Value> =
            sent(&apps.cloud.lock()).into_iter().map(|fired| fired.payload).collect();
        assert_eq!(payloads, [json!("old"), json!("new")]);
        let left = timers::read(&apps.app, &identity(owner), &new.name).await;
        assert!(matches!(left, Err(Error::NoSuchTimer(_))), "{left:?}");
    });
}

/// Two functions have the message of a timer at the same time: the second one leaves it to the first.
#[test]
fn one_function_at_a_time_fires_a_timer() {
    with_people(async |apps| {
        let new = NewTimer { due_at: START + 3 * MINUTE, every: None, payload: json!(1) };
        let (owner, name) = (identity(PEOPLE[0]), "renew".parse().expect("a name"));
        let put = timers::put(&apps.app, &owner, &name, new, START).await;
        let timer = put.expect("a timer").0;
        let sent = || {
            let cloud = apps.cloud.lock();
            cloud.sent.iter().filter(|(queue, _)| queue == "timer-events").count()
        };
        apps.steps.set_free(false);
        let message = ItemDue::new(timer.entry());
        let mut first = Box::pin(handle(&apps.app, &message, timer.due_at));
        while sent() == 0 {
            assert!(futures::poll!(&mut first).is_pending(), "its message goes first");
            apps.steps.grant(0);
        }
        apps.steps.set_free(true);
        let second = handle(&apps.app, &message, timer.due_at).await;
        assert!(matches!(second, Err(StoreError::NotCommittedYet { .. })), "{second:?}");
        assert_eq!(first.await.expect("handled"), Handled::Done);
        assert_eq!(sent(), 1);
    });
}
