//! Posts are scheduled, changed and cancelled, and timers put and deleted, while their times come. Look-aheads run about every
//! minute, some twice, some not at all. Messages arrive after their delay, twice, late and out of order. Workers die between
//! any two calls; calls fail with or without effect; Valkey loses its data or falls back to an older state; and the clock of
//! each worker differs by up to a second.
//!
//! At rest: every accepted post that was not cancelled is published exactly once, none before its time by the clock of the
//! function that published it, and none is lost. Every accepted timer that was neither replaced nor deleted has fired. The
//! numbers in the profiles are those of the rows, and nothing that is done is left in the index.

use std::cell::Cell;
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
use fanfold_runtime::sqs::Outcome;
use futures::future::LocalBoxFuture;
use serde_json::{Value, json};

use super::apps::{Apps, DUE, PEOPLE, POSTS, START, USERS, id, identity, name, with_people};
use super::cloud::Cloud;
use super::history::{Checked, History, Kind, Play, TIMEOUT, play_all};
use super::oracle::check_heads;
use super::server::Server;
use crate::harness::dice::Dice;

/// The timeout of the look-ahead.
const LOOK_TIMEOUT: Duration = Duration::from_secs(55);
const MINUTE: Duration = Duration::from_secs(60);
/// Seconds until an item is due. Some are the limits of look-aheads and loads.
const AHEAD_S: [u64; 10] = [60, 61, 90, 119, 120, 121, 200, 600, 3_600, 10_000];

/// What a worker did.
pub enum Done {
    Scheduled(Result<Scheduled, Error>),
    /// A changed post, with the text and the time that were asked for.
    Changed(ScheduledId, String, Time, Result<Scheduled, Error>),
    Cancelled(ScheduledId, Result<(), Error>),
    Put(UserId, TimerName, Result<Timer, Error>),
    /// A timer, deleted or not.
    Deleted(UserId, TimerName),
    Looked(Result<LookedAhead, StoreError>),
}

#[derive(Debug, Clone, Default)]
pub enum Subject {
    #[default]
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

/// What the histories of due items know.
#[derive(Default)]
struct Due {
    accepted: BTreeMap<ScheduledId, Accepted>,
    /// For each name, the timer that was accepted last. `None`: it may have changed without an answer.
    timers: BTreeMap<(UserId, TimerName), Option<Timer>>,
    /// For each worker that has answered, the number of the next worker at that time.
    ended: BTreeMap<usize, usize>,
    /// The times of all timers by revision, once each.
    fired: Vec<TimerFired>,
    /// When the function that published each post sent its event, by its own clock.
    announced: BTreeMap<PostId, Vec<Time>>,
    /// How many messages came before the time of their item.
    early: Rc<Cell<u64>>,
    /// When the leases of functions ended last. Valkey's own clock does not pass.
    leases_ended: Time,
}

impl History<Due> {
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
        let work = async move {
            let new =
                NewScheduled { post: text.as_str().into(), publish_at: at, key: key.as_deref() };
            Done::Scheduled(scheduled::schedule(&apps.app, &identity(user), new, now).await)
        };
        self.begin(Subject::None, work);
    }

    fn known(&mut self) -> Option<ScheduledId> {
        let ids: Vec<ScheduledId> = self.kind.accepted.keys().copied().collect();
        (!ids.is_empty()).then(|| *self.dice.pick(&ids))
    }

    fn change(&mut self) {
        let Some(item) = self.known() else { return };
        let (apps, now) = (self.apps.clone(), self.clock());
        let at = Time::from_ms((now + self.ahead()).ms() / 1_000 * 1_000 + 1_000);
        let text = format!("changed {}", self.workers.len());
        let subject = Subject::Change(item, text.clone(), at);
        let work = async move {
            let change = ScheduledEdit {
                text: Some(&text),
                publish_at: Some(at),
                ..ScheduledEdit::default()
            };
            let me = identity(name(item.author()));
            let changed = scheduled::change(&apps.app, &me, item, change, now).await;
            Done::Changed(item, text.clone(), at, changed)
        };
        self.begin(subject, work);
    }

    fn cancel(&mut self) {
        let Some(item) = self.known() else { return };
        let (apps, now) = (self.apps.clone(), self.clock());
        let work = async move {
            let me = identity(name(item.author()));
            Done::Cancelled(item, scheduled::cancel(&apps.app, &me, item, now).await)
        };
        self.begin(Subject::Cancel(item), work);
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
        let work = async move {
            let new = NewTimer { due_at, every, payload: json!(7) };
            let put = timers::put(&apps.app, &identity(name(owner)), &timer, new, now).await;
            Done::Put(owner, timer, put.map(|(timer, _)| timer))
        };
        self.begin(subject, work);
    }

    fn delete_timer(&mut self) {
        let ((owner, timer), now) = (self.timer(), self.clock());
        let (apps, subject) = (self.apps.clone(), Subject::Timer(owner, timer.clone()));
        let work = async move {
            let me = identity(name(owner));
            let _either = timers::delete(&apps.app, &me, &timer, now).await;
            Done::Deleted(owner, timer)
        };
        self.begin(subject, work);
    }

    fn look(&mut self) {
        let (apps, now) = (self.apps.clone(), self.clock());
        let work = async move { Done::Looked(look_ahead(&apps.app, now, Deadline::NONE).await) };
        self.begin_within([LOOK_TIMEOUT; 2], Subject::None, work);
    }

    fn fire(&mut self, fired: TimerFired) {
        let due = Time::parse_rfc3339(&fired.due_at).expect("a time");
        if self.now + CLOCKS_DIFFER < due {
            self.fail_with(format!("{fired:?} at {}", self.now));
        }
        self.count("fired", true);
        self.kind.fired.push(fired);
    }

    fn note_done(&mut self, number: usize, done: Done) {
        self.kind.ended.insert(number, self.workers.len());
        match done {
            Done::Scheduled(Ok(item)) => {
                // a repeated request with its key may find an item that was changed since
                let forms = vec![(item.text, item.publish_at)];
                let new = Accepted { forms, is_cancelled: false, may_be_cancelled: false };
                self.kind.accepted.entry(item.id).or_insert(new);
            }
            Done::Changed(item, text, at, Ok(_)) => {
                let others = self.overlaps(
                    number,
                    |subject| matches!(subject, Subject::Change(other, ..) if *other == item),
                );
                if let Some(accepted) = self.kind.accepted.get_mut(&item) {
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
                self.count("cancelled", true);
                if let Some(accepted) = self.kind.accepted.get_mut(&item) {
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
                self.kind.timers.insert((owner, timer), (!others).then_some(put));
            }
            Done::Put(owner, timer, Err(_)) | Done::Deleted(owner, timer) => {
                self.kind.timers.insert((owner, timer), None);
            }
            Done::Looked(Ok(looked)) => {
                self.count("overdue", looked.overdue);
                self.count("loaded", looked.loaded);
            }
            Done::Scheduled(Err(_)) | Done::Looked(Err(_)) => {}
        }
    }

    /// Whether another request about the same subject ran at the same time as this one: either may have committed last.
    fn overlaps(&self, number: usize, is_same: impl Fn(&Subject) -> bool) -> bool {
        (0..self.workers.len()).any(|other| {
            let is_running = self.working().any(|(working, _)| working == other);
            let ended = self.kind.ended.get(&other).copied().unwrap_or_default();
            other != number
                && is_same(&self.workers[other].subject)
                && (is_running || ended > number)
        })
    }

    /// A refusal says that the post was published: it must be.
    fn too_late(&mut self, item: ScheduledId, error: &Error) {
        let Error::AlreadyPublished { post } = error else { return };
        self.count("refused late", true);
        if self.posts(item.author()).iter().all(|(found, _)| found != post) {
            self.fail_with(format!("{item} is not published as {post}"));
        }
    }

    /// A request without an answer may have changed its subject.
    fn unanswered(&mut self, subject: &Subject) {
        match subject {
            Subject::None => {}
            Subject::Change(item, text, at) => {
                if let Some(accepted) = self.kind.accepted.get_mut(item) {
                    accepted.forms.push((text.clone(), *at));
                }
            }
            Subject::Cancel(item) => {
                if let Some(accepted) = self.kind.accepted.get_mut(item) {
                    accepted.may_be_cancelled = true;
                }
            }
            Subject::Timer(owner, timer) => {
                self.kind.timers.insert((*owner, timer.clone()), None);
            }
        }
    }

    /// Minutes pass with a look-ahead each, and all messages arrive, until nothing waits.
    async fn rest_by_minutes(&mut self) {
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

    async fn check_all(&mut self) -> Checked {
        let mut posts: BTreeMap<PostId, String> = BTreeMap::new();
        for user in PEOPLE {
            posts.extend(self.posts(id(user)));
        }
        self.set_free();
        let mut published = BTreeSet::new();
        for (item, accepted) in &self.kind.accepted {
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
            let announced = self.kind.announced.get(&found.post).cloned().unwrap_or_default();
            if announced.is_empty() || announced.iter().any(|at| *at < found.publish_at) {
                return Err(format!(
                    "{item} for {} was published at {announced:?}",
                    found.publish_at
                ));
            }
            published.insert(found.post);
        }
        self.count("published", published.len() as u64);
        self.check_all_posts(&posts)?;
        self.check_timers()?;
        self.check_numbers()?;
        self.check_index().await
    }

    /// Each post belongs to one item that says so: none was published twice under another id.
    fn check_all_posts(&self, posts: &BTreeMap<PostId, String>) -> Checked {
        let cloud = self.apps.cloud.lock();
        let items = cloud.items(DUE).filter(|item| state(item) == "published");
        let of_items: BTreeSet<PostId> = items
            .map(|item| item["post"]["S"].as_str().unwrap_or_default().parse().expect("one"))
            .collect();
        let all: BTreeSet<PostId> = posts.keys().copied().collect();
        if of_items != all {
            return Err(format!("posts {all:?}, published items {of_items:?}"));
        }
        check_heads(&cloud)
    }

    /// Each timer that was accepted last, and did not change since, has fired at each of its times.
    fn check_timers(&self) -> Checked {
        let cloud = self.apps.cloud.lock();
        for ((owner, timer), put) in &self.kind.timers {
            let Some(Timer { revision, due_at, every, .. }) = put else { continue };
            let fired = self
                .kind
                .fired
                .iter()
                .filter(|fired| fired.owner == *owner && fired.name == *timer);
            let time = |fired: &TimerFired| Time::parse_rfc3339(&fired.due_at).expect("a time");
            let is_of = |fired: &&TimerFired| {
                let (key, payload) = ((*owner, timer.clone()), fired.payload.clone());
                TimerFired::new(key, revision, time(fired), fired.missed, payload).id == fired.id
            };
            // a repetition of a message may have missed more
            let mut missed: BTreeMap<Time, BTreeSet<u64>> = BTreeMap::new();
            // a put that repeats the timer keeps its revision; the timer may have fired before
            for fired in fired.filter(is_of).filter(|fired| time(fired) >= *due_at) {
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
    fn check_numbers(&self) -> Checked {
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
    async fn check_index(&mut self) -> Checked {
        self.set_ordered();
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

impl Kind for Due {
    const RETRIED_WITHIN_MS: u64 = 5_000;
    type Done = Done;
    type Subject = Subject;
    type Message = ItemDue;

    fn receive(history: &mut History<Self>, queue: &str, body: &str, delay: Duration) {
        match queue {
            "due-items" => {
                let message = ItemDue::decode(body).expect("a message");
                history.mail.push((history.now + delay, message));
            }
            "timer-events" => history.fire(TimerFired::decode(body).expect("a message")),
            "post-events" => {
                if let PostEvent::PostPublished(event) = PostEvent::decode(body).expect("one") {
                    history.kind.announced.entry(event.post).or_default().push(event.time());
                }
            }
            other => panic!("a message on {other}"),
        }
    }

    fn handle(
        history: &History<Self>,
        message: ItemDue,
        now: Time,
        _deadline: Deadline,
    ) -> LocalBoxFuture<'static, Outcome<ItemDue>> {
        let (apps, early) = (history.apps.clone(), history.kind.early.clone());
        Box::pin(async move {
            let handled = handle(&apps.app, &message, now).await;
            early.set(early.get() + u64::from(matches!(handled, Ok(Handled::Early))));
            handled.map(drop).into()
        })
    }

    fn note(history: &mut History<Self>, worker: usize, done: Done) {
        history.note_done(worker, done);
    }

    fn died(history: &mut History<Self>, worker: usize) {
        let subject = history.workers[worker].subject.clone();
        history.unanswered(&subject);
    }

    fn passed(history: &mut History<Self>) {
        if history.now.since(history.kind.leases_ended) >= DUE_FIRING_LEASE {
            history.apps.valkey.delete("lock:due:*");
            history.kind.leases_ended = history.now;
        }
    }
}

impl Play for Due {
    const NAME: &'static str = "due";

    fn begin(server: &Server, start: &Cloud, seed: u64) -> History<Self> {
        let mut dice = Dice(seed);
        let mut apps = Apps::on(server, &[], RetryConfig::disabled(), dice.one_in(2));
        apps.app.settings.due_batch = 1 + dice.below(4) as usize;
        let one_in = [*dice.pick(&[0, 0, 30]), *dice.pick(&[0, 0, 30])];
        let kind = Self { leases_ended: START, ..Self::default() };
        let history = History::new(apps, start, dice, kind);
        history.apps.cloud.lock().keeps_delays = true;
        history.set_faults(one_in, seed);
        history
    }

    async fn play(history: &mut History<Self>) {
        for _ in 0..220 + history.dice.below(200) {
            match history.dice.below(60) {
                0..6 => history.schedule(),
                6..8 => history.change(),
                8 => history.cancel(),
                9 | 10 => history.put_timer(),
                11 if history.dice.one_in(2) => history.delete_timer(),
                12..15 => history.look(),
                24 | 25 => {
                    let waits = [2, 15, 60, 60, 130, 700, 4_000];
                    let wait = Duration::from_secs(*history.dice.pick(&waits));
                    history.wait(wait).await;
                }
                other => history.go_on(other.wrapping_sub(15), &[TIMEOUT]).await,
            }
            history.settle();
        }
        history.set_faults([0, 0], 0);
        history.finish().await;
        history.rest_by_minutes().await;
    }

    async fn check(history: &mut History<Self>) -> Checked {
        history.count("early", history.kind.early.get());
        history.check_all().await
    }
}

#[test]
fn every_item_is_published_or_fired_at_its_time() {
    let what = ["published", "cancelled", "refused late", "fired", "early", "overdue", "loaded"];
    play_all::<Due>(110, 10, &what);
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
