//! The engine of histories. Workers (clients in the middle of a request, handlers in the middle of a message) make their calls
//! one at a time, in an order that the seed decides.
//!
//! **The law.** A worker may die between any two calls, and dies when its time is over. A message that was not handled arrives
//! again; each may arrive twice, late and out of order. A call may fail, with or without effect. Valkey may lose its data,
//! its scripts or what expires, or fall back to an older state. The clock of each worker differs by up to a second. At the end
//! faults stop, all workers finish and all messages are handled: then everything must be right.
//!
//! A kind of histories ([`Kind`]) says what users do, what their answers mean, and what is right at rest.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::rc::Rc;
use std::time::Duration;

use fanfold_core::Time;
use fanfold_core::limits::COMMIT_GRACE;
use fanfold_runtime::clock::Deadline;
use fanfold_runtime::sqs::Outcome;
use futures::FutureExt as _;
use futures::future::LocalBoxFuture;

use super::apps::{Apps, START, cloud_with_profiles};
use super::cloud::{Cloud, Faults};
use super::server::Server;
use super::tasks::{Task, runtime, settle};
use crate::harness::dice::Dice;

/// The timeout of functions that serve requests and queues.
pub const TIMEOUT: Duration = Duration::from_secs(20);
/// The most steps until all workers have finished and all messages are handled.
const STEPS_MAX: usize = 50_000;

/// How often something happened, by its name.
pub type Counts = BTreeMap<&'static str, u64>;
pub type Checked = Result<(), String>;

/// What a kind of histories adds to the engine.
pub trait Kind: Sized + 'static {
    /// What a worker did.
    type Done: 'static;
    /// What a worker may change without an answer, if it dies.
    type Subject: Clone + Default + 'static;
    type Message: Clone + Debug + 'static;
    /// A message that failed arrives again after less than this many milliseconds.
    const RETRIED_WITHIN_MS: u64 = 1;
    /// The number of handlers at the same time while all work finishes.
    const HANDLERS: usize = 1;
    /// The time after which a worker is killed.
    const TIMEOUT: Duration = TIMEOUT;
    /// Whether some functions have no time left. (A plan of actions says it of each message.)
    const HURRIES: bool = true;
    /// Of so many calls that wait, one more is granted in the same step.
    const AT_ONCE: u64 = u64::MAX;

    /// A function has sent a message.
    fn receive(history: &mut History<Self>, queue: &str, body: &str, delay: Duration);

    /// Handles a message.
    fn handle(
        history: &History<Self>,
        message: Self::Message,
        now: Time,
        deadline: Deadline,
    ) -> LocalBoxFuture<'static, Outcome<Self::Message>>;

    /// A worker has finished.
    fn note(history: &mut History<Self>, worker: usize, done: Self::Done);

    /// A worker has died.
    fn died(_history: &mut History<Self>, _worker: usize) {}

    /// Workers have gone on, and what they sent is in the mail. What they did is noted next.
    fn settled(_history: &mut History<Self>) {}

    /// Grants one of the calls that wait. Returns whether one waited.
    fn grant(history: &mut History<Self>) -> bool {
        let waiting = history.apps.steps.waiting().len() as u64;
        for granted in 0..waiting.min(1 + waiting / Self::AT_ONCE) {
            history.apps.steps.grant(history.dice.below(waiting - granted) as usize);
        }
        waiting > 0
    }

    /// Time has passed.
    fn passed(_history: &mut History<Self>) {}

    /// Whether nothing else is left to do, when all work finishes. Begins it if there is.
    fn is_done(_history: &mut History<Self>) -> bool {
        true
    }
}

/// A kind whose histories begin with a seed, and play by themselves.
pub trait Play: Kind {
    /// The name of its module. In capitals, it names the variable with another number of histories.
    const NAME: &'static str;

    /// A history of this seed, before its first step.
    fn begin(server: &Server, start: &Cloud, seed: u64) -> History<Self>;

    /// Plays it with its faults.
    fn play(history: &mut History<Self>) -> impl Future<Output = ()>;

    /// Checks what must be right at rest.
    fn check(history: &mut History<Self>) -> impl Future<Output = Checked>;
}

/// The result of a worker.
pub enum Ended<K: Kind> {
    Did(K::Done),
    Handled(Outcome<K::Message>),
}

pub struct Worker<K: Kind> {
    pub began: Time,
    /// The time after which it is killed, and the longest time that it waits for one call.
    limits: [Duration; 2],
    /// The message that it handles.
    message: Option<K::Message>,
    pub subject: K::Subject,
}

impl<K: Kind> Worker<K> {
    /// Whether it has more time than functions that serve requests and queues.
    pub fn is_patient(&self) -> bool {
        self.limits[0] > TIMEOUT
    }

    /// The message that it handles. `None`: it serves a client.
    pub fn handles(&self) -> Option<&K::Message> {
        self.message.as_ref()
    }
}

pub struct History<K: Kind> {
    pub apps: Rc<Apps>,
    pub dice: Dice,
    pub now: Time,
    pub tasks: Vec<Task<Ended<K>>>,
    /// Workers that have finished, and whose results are not noted yet.
    finished: Vec<usize>,
    /// All workers so far; the index is the number of the task.
    pub workers: Vec<Worker<K>>,
    /// Messages that no worker handles, with the time from which they may arrive.
    pub mail: Vec<(Time, K::Message)>,
    /// How often Valkey lost data, or might have.
    pub valkey_faults: u64,
    pub counts: Counts,
    /// What a reader saw that is wrong.
    pub wrong: Option<String>,
    pub kind: K,
}

impl<K: Kind> History<K> {
    pub fn new(apps: Apps, start: &Cloud, dice: Dice, kind: K) -> Self {
        *apps.cloud.lock() = start.clone();
        apps.cloud.lock().sent.clear();
        apps.valkey.reset();
        Self {
            apps: Rc::new(apps),
            dice,
            now: START,
            tasks: Vec::new(),
            finished: Vec::new(),
            workers: Vec::new(),
            mail: Vec::new(),
            valkey_faults: 0,
            counts: Counts::default(),
            wrong: None,
            kind,
        }
    }

    /// One call in this many fails: of the cloud, and of Valkey. 0: none.
    pub fn set_faults(&self, one_in: [u64; 2], seed: u64) {
        let faults = |at: usize| Faults { one_in: one_in[at], dice: Dice(seed ^ (at as u64 + 1)) };
        self.apps.cloud.lock().faults = faults(0);
        self.apps.valkey.set_faults(faults(1));
    }

    pub fn count(&mut self, what: &'static str, number: impl Into<u64>) {
        *self.counts.entry(what).or_default() += number.into();
    }

    pub fn begin(
        &mut self,
        subject: K::Subject,
        work: impl Future<Output = K::Done> + 'static,
    ) -> usize {
        self.begin_within([K::TIMEOUT; 2], subject, work)
    }

    /// Begins a worker with other limits: of its time, and of its time for one call.
    pub fn begin_within(
        &mut self,
        limits: [Duration; 2],
        subject: K::Subject,
        work: impl Future<Output = K::Done> + 'static,
    ) -> usize {
        let work = work.map(Ended::Did).boxed_local();
        self.start(Worker { began: self.now, limits, message: None, subject }, work)
    }

    fn start(&mut self, worker: Worker<K>, work: LocalBoxFuture<'static, Ended<K>>) -> usize {
        let number = self.workers.len();
        self.workers.push(worker);
        self.tasks.push(Task::new(number, work));
        number
    }

    /// Whether no worker is left.
    pub fn is_idle(&self) -> bool {
        self.tasks.is_empty()
    }

    /// The workers whose results are not noted yet.
    pub fn working(&self) -> impl Iterator<Item = (usize, &Worker<K>)> {
        let numbers = self.tasks.iter().map(|task| task.number);
        let numbers = numbers.chain(self.finished.iter().copied());
        numbers.map(|number| (number, &self.workers[number]))
    }

    /// What is wrong with what a reader saw. The first reason is kept.
    pub fn fail_with(&mut self, reason: String) {
        self.wrong.get_or_insert(reason);
    }

    /// The clock of the next worker.
    pub fn clock(&mut self) -> Time {
        self.now + Duration::from_secs(1) - Duration::from_millis(self.dice.below(2_001))
    }

    /// A message arrives, if there is one. `again`: it will arrive once more, even if it is handled.
    pub fn arrive(&mut self, again: bool) -> bool {
        let ready: Vec<usize> =
            (0..self.mail.len()).filter(|nth| self.mail[*nth].0 <= self.now).collect();
        if ready.is_empty() {
            return false;
        }
        let at = *self.dice.pick(&ready);
        let hurry = K::HURRIES && self.dice.one_in(3);
        let now = self.clock();
        self.deliver(at, again, hurry, now);
        true
    }

    /// A message arrives at a function.
    pub fn deliver(&mut self, at: usize, again: bool, hurry: bool, now: Time) {
        let (_, message) = self.mail.swap_remove(at);
        if again {
            self.mail.push((self.now, message.clone()));
        }
        let deadline = if hurry { Deadline::at(Time::EPOCH) } else { Deadline::NONE };
        self.apps.steps.record(format!("    #{} handles {message:?}", self.workers.len()));
        let work = K::handle(self, message.clone(), now, deadline).map(Ended::Handled);
        let (subject, limits) = (K::Subject::default(), [K::TIMEOUT; 2]);
        let worker = Worker { began: self.now, limits, message: Some(message), subject };
        self.start(worker, work.boxed_local());
    }

    /// Continues all workers that can continue. Then collects their messages and results.
    pub fn settle(&mut self) {
        let done = settle(&mut self.tasks, &self.apps.steps);
        let (sent, delayed) = {
            let mut cloud = self.apps.cloud.lock();
            (std::mem::take(&mut cloud.sent), std::mem::take(&mut cloud.delayed))
        };
        let sent = sent.into_iter().map(|(queue, body)| (queue, body, Duration::ZERO));
        for (queue, body, delay) in sent.chain(delayed) {
            K::receive(self, &queue, &body, delay);
        }
        self.finished = done.iter().map(|(number, _)| *number).collect();
        K::settled(self);
        for (number, ended) in done {
            self.finished.retain(|other| *other != number);
            match ended {
                Ended::Did(done) => K::note(self, number, done),
                Ended::Handled(Outcome::Done) => {}
                Ended::Handled(Outcome::Failed(_)) => self.return_message(number),
                Ended::Handled(Outcome::Left { rest, .. }) => {
                    self.count("rests", true);
                    self.mail.push((self.now, rest));
                }
            }
        }
    }

    fn return_message(&mut self, number: usize) {
        let wait = Duration::from_millis(self.dice.below(K::RETRIED_WITHIN_MS));
        let message = self.workers[number].message.take();
        self.mail.extend(message.map(|message| (self.now + wait, message)));
    }

    /// A worker dies. Its message goes back to the queue.
    pub fn kill(&mut self, at: usize) {
        let number = self.tasks.remove(at).number;
        self.apps.steps.record(format!("    #{number} dies"));
        K::died(self, number);
        self.return_message(number);
    }

    /// Grants a call, or lets time pass if none waits.
    pub async fn step(&mut self) {
        if !K::grant(self) {
            self.wait(Duration::from_millis(1 + self.dice.clone().below(80))).await;
        }
        self.settle();
    }

    /// Lets time pass, and kills the workers whose time is over.
    pub async fn wait(&mut self, length: Duration) {
        self.now += length;
        tokio::time::advance(length).await;
        K::passed(self);
        while let Some(at) = self.tasks.iter().position(|task| {
            let Worker { began, limits: [in_all, for_a_call], .. } = &self.workers[task.number];
            self.now > *began + *in_all || length > *for_a_call
        }) {
            self.kill(at);
        }
        self.settle();
    }

    /// Something that may always happen, by a random number: up to 6, a message arrives; 7, a worker dies; 8, Valkey is
    /// disturbed; 9, time passes; above, calls are made.
    pub async fn go_on(&mut self, random: u64, waits: &[Duration]) {
        match random {
            0..7 => {
                let again = self.dice.one_in(4);
                self.arrive(again);
            }
            7 if !self.tasks.is_empty() => {
                let at = self.dice.below(self.tasks.len() as u64) as usize;
                self.kill(at);
            }
            8 if self.dice.one_in(3) => self.disturb_valkey(),
            9 if self.dice.one_in(3) => {
                let wait = *self.dice.pick(waits);
                self.wait(wait).await;
            }
            _ => self.step().await,
        }
        self.settle();
    }

    fn disturb_valkey(&mut self) {
        self.valkey_faults += 1;
        match self.dice.below(6) {
            0 => self.apps.valkey.flush(),
            1 | 2 => self.apps.valkey.replicate(),
            // acknowledged writes may be lost; the generation says so
            3 => self.apps.valkey.fail_over(),
            4 => self.apps.valkey.evict(),
            _ => self.apps.valkey.forget_scripts(),
        }
    }

    /// All workers finish.
    pub async fn finish(&mut self) {
        for _ in 0..STEPS_MAX {
            if self.tasks.is_empty() {
                return;
            }
            self.step().await;
        }
        self.fail_with("the work does not end".to_owned());
    }

    /// All workers finish, and all messages are handled.
    pub async fn rest(&mut self) {
        for round in 1..STEPS_MAX {
            let is_done = K::is_done(self);
            if is_done && self.tasks.is_empty() && self.mail.is_empty() {
                return;
            }
            if self.tasks.len() < K::HANDLERS {
                self.arrive(false);
            }
            // clients finish, except one that is begun again
            let may_die = |worker: &Worker<K>| worker.handles().is_some() || worker.is_patient();
            let is_served = self.working().all(|(_, worker)| may_die(worker));
            // messages about commits that failed are done after this time, and some are sent with this delay
            if self.tasks.is_empty() || (round % 400 == 0 && is_served) {
                self.wait(COMMIT_GRACE).await;
            }
            self.step().await;
        }
        self.fail_with(format!("the work does not end: {:?}", self.mail));
    }

    /// Makes all calls at once, without an order.
    pub fn set_free(&self) {
        self.apps.steps.set_free(true);
    }

    /// Makes one call at a time again.
    pub fn set_ordered(&self) {
        self.apps.steps.set_free(false);
    }
}

/// Plays the history of a seed.
async fn play<K: Play>(server: &Server, start: &Cloud, seed: u64) -> Result<Counts, String> {
    fastrand::seed(seed);
    let mut history = K::begin(server, start, seed);
    K::play(&mut history).await;
    history.set_faults([0, 0], seed);
    let checked = match history.wrong.take() {
        Some(wrong) => Err(wrong),
        None => K::check(&mut history).await,
    };
    checked.and(history.wrong.take().map_or(Ok(()), Err)).map_err(|reason| {
        let (log, name) = (history.apps.steps.log().join("\n"), K::NAME);
        let variable = name.to_uppercase();
        format!(
            "{log}\nseed {seed}: {reason}\n\
             repeat: FANFOLD_SEED={seed} FANFOLD_{variable}=1 cargo local test simulation::{name}"
        )
    })?;
    Ok(history.counts)
}

/// Adds the counts of a history.
pub fn add(total: &mut Counts, counts: Counts) {
    for (what, count) in counts {
        *total.entry(what).or_default() += count;
    }
}

/// Plays this many histories, or as many as fit in their share of a soak. Each of these things must happen more often than
/// `least`, if the histories are the usual ones: others may give smaller counts by chance.
pub fn play_all<K: Play>(usual: u64, least: u64, what: &[&'static str]) {
    let (server, runtime) = (Server::start(), runtime());
    let start = cloud_with_profiles(&server, &runtime, 1);
    let variable = K::NAME.to_uppercase();
    let (mut histories, mut total) = (0, Counts::default());
    for seed in super::seeds_of(&format!("FANFOLD_{variable}"), usual) {
        histories += 1;
        let played = runtime.block_on(play::<K>(&server, &start, seed));
        add(&mut total, played.unwrap_or_else(|report| panic!("{report}")));
    }
    println!("{histories} histories: {total:?}");
    if super::first_seed() == 1 && histories >= usual {
        for what in what {
            let count = total.get(what).copied().unwrap_or_default();
            assert!(count > least, "{what}: {count}, too few for the histories to prove anything");
        }
    }
}
