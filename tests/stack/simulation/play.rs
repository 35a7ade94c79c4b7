//! Plays a plan, watching what readers are shown, and then lets everything come to rest.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;
use std::time::Duration;

use fanfold_core::limits::{COMMIT_GRACE_MS, REL_KEPT_MS};
use fanfold_core::message::{DeliverChunk, PostPublished, RebuildFeed, RelationChanged};
use fanfold_core::{PostId, Relation, UserId};
use fanfold_dispatch::handler::Dispatched;
use fanfold_store::StoreError;
use fanfold_store::clock::Deadline;
use fanfold_store::dynamo::posts::RequestKey;
use fanfold_store::feeds::Span;
use fanfold_store::http::{Kind, Problem, UserRef};
use fanfold_store::valkey::{Feed, FeedKind, Held, Read};
use futures::future::LocalBoxFuture;

use super::apps::{Apps, PEOPLE, id, identity, name};
use super::cloud::Faults;
use super::oracle::{self, Truth};
use super::plan::{Action, NEWEST, Order, Plan, Who};
use super::tasks::{Task, settle};
use crate::harness::dice::Dice;

/// A function is ended after this long.
const FUNCTION_LIVES_MS: u64 = 10_000;

/// A history that went wrong: how, and what happened.
#[derive(Debug)]
pub struct Wrong {
    pub why: String,
    pub log: Vec<String>,
}

/// How much a history did.
#[derive(Debug, Default, Clone, Copy)]
pub struct Counts {
    pub calls: u64,
    pub reads: u64,
    /// Posts that were not pushed, because their author is pulled.
    pub pulled: u64,
}

#[derive(Debug, Clone)]
pub(super) enum Message {
    Post(PostPublished),
    Chunk(DeliverChunk),
    Relation(RelationChanged),
    Rebuild(RebuildFeed),
}

/// What a message or a client may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subject {
    Post(PostId),
    Pair(UserId, UserId),
    Nothing,
}

struct Mail {
    message: Message,
    /// Who has it.
    handler: Option<usize>,
    again: bool,
}

enum Done {
    Published(Result<PostId, Problem>),
    Deleted(PostId, Result<(), Problem>),
    Related(UserId, UserId, Relation, Result<(), Problem>),
    Walked(Result<(), String>),
    Handled(Result<(), StoreError>),
    Dispatched(Result<Dispatched, StoreError>),
    Swept(Result<(), StoreError>),
}

/// A walk down a feed that is under way, and what it must and must not show.
struct Walk {
    feed: Feed,
    must: BTreeSet<PostId>,
    never: BTreeSet<PostId>,
    shown: Rc<std::cell::RefCell<Vec<PostId>>>,
}

pub struct Play {
    apps: Rc<Apps>,
    plan: Plan,
    dice: Dice,
    now_ms: u64,
    tasks: Vec<Task<Done>>,
    subjects: HashMap<usize, Subject>,
    walks: HashMap<usize, Walk>,
    mail: Vec<Mail>,
    next: usize,
    published: BTreeSet<PostId>,
    deleted: BTreeSet<PostId>,
    /// The last change of a pair that was answered with success, unless others were under way.
    related: BTreeMap<(UserId, UserId), Option<Relation>>,
    counts: Counts,
    /// Who made the last call.
    last: usize,
    /// Who goes first, where ranks decide.
    ranks: HashMap<usize, u64>,
    /// Who stands still.
    paused: BTreeSet<usize>,
    /// When they began.
    born: HashMap<usize, u64>,
}

type Checked = Result<(), String>;

impl Play {
    pub fn new(apps: Rc<Apps>, plan: Plan) -> Self {
        let dice = Dice(plan.seed ^ 0x5eed);
        fastrand::seed(plan.seed);
        Self {
            apps,
            dice,
            plan,
            now_ms: 1_800_000_000_000,
            tasks: Vec::new(),
            subjects: HashMap::new(),
            walks: HashMap::new(),
            mail: Vec::new(),
            next: 1,
            published: BTreeSet::new(),
            deleted: BTreeSet::new(),
            related: BTreeMap::new(),
            counts: Counts::default(),
            last: 0,
            ranks: HashMap::new(),
            paused: BTreeSet::new(),
            born: HashMap::new(),
        }
    }

    pub async fn run(mut self) -> Result<Counts, Wrong> {
        let checked = self.all().await;
        let log = self.apps.steps.log();
        checked.map(|()| self.counts).map_err(|why| Wrong { why, log })
    }

    async fn all(&mut self) -> Checked {
        for (faults, one_in) in [(0, self.plan.cloud_fault_in), (1, self.plan.valkey_fault_in)] {
            let faulty = Faults { one_in, dice: Dice(self.plan.seed ^ faults) };
            match faults {
                0 => self.apps.cloud.lock().faults = faulty,
                _ => self.apps.valkey.set_faults(faulty),
            }
        }
        for action in self.plan.actions.clone() {
            self.apps.steps.say(format!("{action}"));
            self.act(action).await?;
            self.settle()?;
        }
        self.apps.steps.say("no more faults, nobody stands still; all comes to rest".to_owned());
        self.paused.clear();
        self.apps.cloud.lock().faults = Faults::default();
        self.apps.valkey.set_faults(Faults::default());
        self.rest().await?;
        self.apps.steps.set_free(true);
        self.check_at_rest().await
    }

    async fn act(&mut self, action: Action) -> Checked {
        match action {
            Action::Publish { who, key } => self.publish(who, key),
            Action::Delete { nth } => self.delete(nth),
            Action::Follow { who, whom } => self.relate(who, whom, Relation::Following),
            Action::Unfollow { who, whom } => self.relate(who, whom, Relation::NotFollowing),
            Action::Read { who, author, limit } => self.walk(who, author, limit),
            Action::Arrive { nth, again, hurry } => self.arrive(nth, again, hurry),
            Action::Kill { nth } => self.kill(nth),
            Action::Pause { nth, calls } => self.pause(nth, calls)?,
            Action::Rush => self.rush()?,
            Action::Steps { count } => {
                for _ in 0..count {
                    self.one_call()?;
                }
            }
            Action::Wait { ms } => self.wait(ms).await?,
            Action::Hours => self.hours().await?,
            Action::Sweep => self.sweep(),
            Action::Audit => self.audit(),
            Action::Flush => self.apps.valkey.flush(),
            Action::ForgetScripts => self.apps.valkey.forget_scripts(),
            Action::Replicate => self.apps.valkey.replicate(),
            Action::FailOver => self.apps.valkey.fail_over(),
            Action::Evict => self.apps.valkey.evict(),
            Action::BeginMemory => self.begin_memory(),
            Action::LeaseEnds { who } => {
                self.apps.valkey.delete(&format!("lock:*{}", id(who)));
            }
        }
        Ok(())
    }

    // ---- who is at work ----------------------------------------------------------------------

    fn begin(
        &mut self,
        said: &str,
        subject: Subject,
        future: LocalBoxFuture<'static, Done>,
    ) -> usize {
        let number = self.next;
        self.next += 1;
        self.apps.steps.say(format!("    #{number} {said}"));
        self.subjects.insert(number, subject);
        self.born.insert(number, self.now_ms);
        self.tasks.push(Task::new(number, said.to_owned(), future));
        number
    }

    fn publish(&mut self, who: Who, key: Option<u8>) {
        let (apps, now, author) = (self.apps.clone(), self.now_ms, identity(who));
        let key = key.map(|key| RequestKey::new(author.user(), &key.to_string(), "a post"));
        let future = Box::pin(async move {
            let publish = fanfold_posts::handler::publish;
            let published = publish(&apps.posts, &author, "a post", key, now).await;
            Done::Published(published.map(|(post, _)| post.id))
        });
        self.begin(&format!("{who} publishes"), Subject::Nothing, future);
    }

    fn delete(&mut self, nth: usize) {
        let truth = Truth::of(&self.apps.cloud.lock());
        let posts: Vec<PostId> = truth.posts.into_keys().collect();
        let Some(post) = posts.get(nth % posts.len().max(1)).copied() else { return };
        let (apps, now, author) = (self.apps.clone(), self.now_ms, identity(name(post.author())));
        let future = Box::pin(async move {
            let delete = fanfold_posts::handler::delete;
            Done::Deleted(post, delete(&apps.posts, &author, post, now).await)
        });
        self.begin(&format!("{post} is deleted"), Subject::Post(post), future);
    }

    fn relate(&mut self, who: Who, whom: Who, relation: Relation) {
        let (apps, now) = (self.apps.clone(), self.now_ms);
        let future = Box::pin(async move {
            let relate = fanfold_users::handler::relate;
            let user = UserRef::Id(id(whom));
            let done = relate(&apps.users, &identity(who), &user, relation, now).await;
            Done::Related(id(who), id(whom), relation, done)
        });
        let pair = Subject::Pair(id(who), id(whom));
        if self.subjects.values().any(|subject| *subject == pair) {
            self.related.insert((id(who), id(whom)), None);
        }
        self.begin(&format!("{who} {whom}: {relation:?}"), pair, future);
    }

    fn walk(&mut self, who: Who, author: bool, limit: usize) {
        let feed = if author { Feed::author(id(who)) } else { Feed::home(id(who)) };
        let (apps, now, shown) = (self.apps.clone(), self.now_ms, Rc::default());
        let (must, never) = self.expected(feed);
        let number = self.next;
        self.walks.insert(number, Walk { feed, must, never, shown: Rc::clone(&shown) });
        let future =
            Box::pin(async move { Done::Walked(walk(&apps, feed, limit, now, &shown).await) });
        let whose = if author { "posts" } else { "home feed" };
        self.begin(&format!("reads {who}'s {whose}"), Subject::Nothing, future);
    }

    fn arrive(&mut self, nth: usize, again: bool, hurry: bool) {
        let free: Vec<usize> =
            (0..self.mail.len()).filter(|at| self.mail[*at].handler.is_none()).collect();
        let Some(at) = free.get(nth % free.len().max(1)).copied() else { return };
        let message = self.mail[at].message.clone();
        self.mail[at].again = again;
        let (apps, now) = (self.apps.clone(), self.now_ms);
        let (subject, said) = (subject(&message), format!("handles {message:?}"));
        let deadline = if hurry { Deadline::at_ms(0) } else { Deadline::NONE };
        let fanout = self.plan.fanout;
        let future: LocalBoxFuture<'static, Done> = match message {
            Message::Post(event) => Box::pin(async move {
                let app = fanfold_dispatch::App { fanout, ..apps.dispatch.clone() };
                let dispatch = fanfold_dispatch::handler::dispatch;
                Done::Dispatched(dispatch(&app, &event, now, deadline).await)
            }),
            _ => Box::pin(async move { Done::Handled(handle(&apps, &message, now).await) }),
        };
        let number = self.begin(&said, subject, future);
        self.mail[at].handler = Some(number);
    }

    fn sweep(&mut self) {
        let (apps, now) = (self.apps.clone(), self.now_ms);
        // every feed is one that nobody has read for long
        let app = fanfold_sweep::App { inactive_after_ms: 0, ..apps.sweep.clone() };
        let future = Box::pin(async move {
            Done::Swept(fanfold_sweep::handler::sweep(&app, now).await.map(drop))
        });
        self.begin("sweeps", Subject::Nothing, future);
    }

    fn begin_memory(&mut self) {
        let (apps, now) = (self.apps.clone(), self.now_ms);
        let future = Box::pin(async move {
            let order = fanfold_admin::order::Order::BeginMemory;
            let obey = fanfold_admin::handler::obey;
            let begun = obey(&apps.admin, order, now, Deadline::NONE).await;
            // an operator gives it again; here what was begun stays
            let _tried = begun;
            Done::Swept(Ok(()))
        });
        self.begin("begins a new memory", Subject::Nothing, future);
    }

    fn audit(&mut self) {
        let (apps, now) = (self.apps.clone(), self.now_ms);
        let future = Box::pin(async move {
            let audit = fanfold_audit::handler::audit;
            Done::Swept(audit(&apps.audit, now, Deadline::NONE).await.map(drop))
        });
        self.begin("audits", Subject::Nothing, future);
    }

    fn kill(&mut self, nth: usize) {
        if !self.tasks.is_empty() {
            let task = self.tasks.remove(nth % self.tasks.len());
            self.apps.steps.say(format!("    #{} dies", task.number));
            self.gone(task.number);
        }
    }

    /// Whatever a worker had goes back to where it came from.
    fn gone(&mut self, number: usize) {
        if let Some(Subject::Pair(reader, author)) = self.subjects.remove(&number)
            && self.mail.iter().all(|mail| mail.handler != Some(number))
        {
            self.related.insert((reader, author), None); // who knows how far it got
        }
        self.walks.remove(&number);
        for mail in self.mail.iter_mut().filter(|mail| mail.handler == Some(number)) {
            mail.handler = None;
        }
    }

    async fn wait(&mut self, ms: u64) -> Checked {
        self.now_ms += ms;
        let now_ms = self.now_ms;
        let old = |born: &u64| now_ms > born + FUNCTION_LIVES_MS;
        while let Some(at) =
            self.tasks.iter().position(|task| self.born.get(&task.number).is_some_and(old))
        {
            let task = self.tasks.remove(at);
            self.apps.steps.say(format!("    #{} has no time left", task.number));
            self.gone(task.number);
        }
        tokio::time::advance(Duration::from_millis(ms)).await;
        self.settle()
    }

    async fn hours(&mut self) -> Checked {
        while !self.tasks.is_empty() {
            self.kill(0);
        }
        let ms = REL_KEPT_MS + COMMIT_GRACE_MS;
        self.apps.valkey.evict();
        self.wait(ms).await?;
        // whatever comes next may meet the sweep that forgets relations, or come before it
        if self.dice.one_in(2) {
            self.sweep();
        }
        Ok(())
    }

    /// One call is made, of whoever's turn it is.
    fn one_call(&mut self) -> Checked {
        let waiting = self.apps.steps.waiting();
        let places: Vec<usize> =
            (0..waiting.len()).filter(|at| !self.paused.contains(&waiting[*at])).collect();
        if !places.is_empty() {
            let tasks: Vec<usize> = places.iter().map(|at| waiting[*at]).collect();
            let nth = places[self.choose(&tasks)];
            self.apps.steps.grant(nth);
            self.counts.calls += 1;
        }
        self.settle()
    }

    fn pause(&mut self, nth: usize, calls: usize) -> Checked {
        let Some(newest) = self.tasks.len().checked_sub(1) else { return Ok(()) };
        let nth = if nth == NEWEST { newest } else { nth % self.tasks.len() };
        let number = self.tasks[nth].number;
        for _ in 0..calls {
            let waiting = self.apps.steps.waiting();
            let Some(at) = waiting.iter().position(|task| *task == number) else { break };
            self.apps.steps.grant(at);
            self.counts.calls += 1;
            self.settle()?;
        }
        self.paused.insert(number);
        Ok(())
    }

    /// Those who do not stand still get done, and so does what they send.
    fn rush(&mut self) -> Checked {
        for _ in 0..300 {
            let waiting = self.apps.steps.waiting();
            let free = self.mail.iter().filter(|mail| mail.handler.is_none()).count();
            if waiting.iter().any(|task| !self.paused.contains(task)) {
                self.one_call()?;
            } else if free > 0 {
                let nth = self.dice.below(free as u64) as usize;
                self.arrive(nth, false, false);
                self.settle()?;
            } else {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Which of the calls is made next. Chance alone hardly ever lets one worker do all of its work
    /// between two calls of another, so there are other ways to choose.
    fn choose(&mut self, waiting: &[usize]) -> usize {
        let any = self.dice.below(waiting.len() as u64) as usize;
        match self.plan.order {
            Order::Chance => any,
            Order::Bursts => {
                let same = waiting.iter().position(|task| *task == self.last);
                let nth = same.filter(|_| !self.dice.one_in(8)).unwrap_or(any);
                self.last = waiting[nth];
                nth
            }
            Order::Ranks => {
                for task in waiting {
                    let rank = self.dice.next();
                    self.ranks.entry(*task).or_insert(rank);
                }
                let first = (0..waiting.len()).max_by_key(|nth| self.ranks[&waiting[*nth]]);
                let nth = first.unwrap_or(any);
                if self.dice.one_in(12) {
                    self.ranks.insert(waiting[nth], 0);
                }
                nth
            }
        }
    }

    /// Everyone goes on who can; what they did is taken note of.
    fn settle(&mut self) -> Checked {
        let done = settle(&mut self.tasks, &self.apps.steps);
        let sent = std::mem::take(&mut self.apps.cloud.lock().sent);
        for (queue, body) in sent {
            self.mail.push(Mail { message: message(&queue, &body), handler: None, again: false });
        }
        self.watch();
        for (number, done) in done {
            self.take(number, done)?;
        }
        Ok(())
    }

    fn take(&mut self, number: usize, done: Done) -> Checked {
        let calm = self.plan.cloud_fault_in == 0;
        // some are right: the post of a repeated request was deleted meanwhile
        let failed = |what: &str, problem: &Problem| match calm && problem.kind == Kind::Unavailable
        {
            true => Err(format!("#{number} {what} failed: {problem:?}")),
            false => Ok(()),
        };
        match done {
            Done::Published(Ok(post)) => {
                self.published.insert(post);
            }
            Done::Published(Err(problem)) => failed("publishing", &problem)?,
            Done::Deleted(post, Ok(())) => {
                self.deleted.insert(post);
            }
            Done::Deleted(_, Err(problem)) => failed("deleting", &problem)?,
            Done::Related(reader, author, relation, Ok(())) => {
                let pair = Subject::Pair(reader, author);
                let alone = self.subjects.iter().all(|(other, subject)| {
                    *other == number
                        || *subject != pair
                        || self.mail.iter().any(|mail| mail.handler == Some(*other))
                });
                let known = if alone { Some(relation) } else { None };
                self.related.insert((reader, author), known);
            }
            Done::Related(reader, author, _, Err(problem)) => {
                self.related.insert((reader, author), None);
                failed("relating", &problem)?;
            }
            Done::Walked(walked) => self.walked(number, walked)?,
            Done::Dispatched(dispatched) => {
                self.counts.pulled += u64::from(matches!(dispatched, Ok(Dispatched::Pulled)));
                return self.take(number, Done::Handled(dispatched.map(drop)));
            }
            Done::Handled(handled) => {
                let at = self.mail.iter().position(|mail| mail.handler == Some(number));
                if let Some(at) = at {
                    if handled.is_ok() && !self.mail[at].again {
                        self.mail.remove(at);
                    } else {
                        self.mail[at].handler = None;
                    }
                }
            }
            // without Valkey there is nothing to do, and the schedule comes again
            Done::Swept(Err(error)) if calm && !error.is_valkey() => {
                return Err(format!("#{number} failed: {error:?}"));
            }
            Done::Swept(_) => {}
        }
        self.subjects.remove(&number);
        self.walks.remove(&number);
        Ok(())
    }

    // ---- what readers are shown --------------------------------------------------------------

    /// What a feed must show, and what it must not: of whatever nobody is at work on any more.
    fn expected(&self, feed: Feed) -> (BTreeSet<PostId>, BTreeSet<PostId>) {
        let truth = Truth::of(&self.apps.cloud.lock());
        let mail = self.mail.iter().map(|mail| subject(&mail.message));
        let open: Vec<Subject> = mail.chain(self.subjects.values().copied()).collect();
        let (mut must, mut never) = (BTreeSet::new(), BTreeSet::new());
        for (post, published) in &truth.posts {
            let author = post.author();
            let pair = Subject::Pair(feed.user, author);
            let settled = author == feed.user || !open.contains(&pair);
            let belongs = match feed.kind {
                FeedKind::Home => truth.sees(feed.user, author),
                FeedKind::Author => author == feed.user,
            };
            if *published && belongs && settled && !open.contains(&Subject::Post(*post)) {
                must.insert(*post);
            }
            if !*published || (!belongs && settled) {
                never.insert(*post);
            }
        }
        (must, never)
    }

    /// Whoever reads may rely on what stayed as it is from beginning to end.
    fn watch(&mut self) {
        let walks: Vec<usize> = self.walks.keys().copied().collect();
        for number in walks {
            let feed = self.walks[&number].feed;
            let (must, never) = self.expected(feed);
            if let Some(walk) = self.walks.get_mut(&number) {
                walk.must.retain(|post| must.contains(post));
                walk.never.retain(|post| never.contains(post));
            }
        }
    }

    fn walked(&mut self, number: usize, walked: Result<(), String>) -> Checked {
        self.counts.reads += 1;
        let Some(walk) = self.walks.get(&number) else { return Ok(()) };
        let shown = walk.shown.borrow();
        if let Err(error) = walked {
            // DynamoDB may be away, and then there is nothing to show
            return match self.plan.cloud_fault_in {
                0 => Err(format!("#{number} read and failed: {error}")),
                _ => Ok(()),
            };
        }
        if !shown.is_sorted_by(|a, b| a > b) {
            return Err(format!("#{number} was shown posts out of order, or twice: {shown:?}"));
        }
        let missed: Vec<_> = walk.must.iter().filter(|post| !shown.contains(post)).collect();
        if !missed.is_empty() {
            return Err(format!("#{number} was not shown {missed:?}, but {shown:?}"));
        }
        let wrong: Vec<_> = shown.iter().filter(|post| walk.never.contains(post)).collect();
        if !wrong.is_empty() {
            return Err(format!("#{number} was shown {wrong:?}, which do not belong there"));
        }
        Ok(())
    }

    // ---- rest --------------------------------------------------------------------------------

    async fn rest(&mut self) -> Checked {
        for round in 0..10_000 {
            if self.tasks.is_empty() && self.mail.is_empty() {
                return Ok(());
            }
            let (at_work, free) =
                (self.tasks.len(), self.mail.iter().filter(|mail| mail.handler.is_none()).count());
            if free > 0 && at_work < 3 {
                let nth = self.dice.below(free as u64) as usize;
                self.arrive(nth, false, false);
                self.settle()?;
            } else if !self.apps.steps.waiting().is_empty() {
                self.one_call()?;
            } else {
                self.wait(50).await?;
            }
            // what was never committed is given up after a while
            if round % 1_000 == 999 && self.subjects.len() == self.mail_at_work() {
                self.wait(COMMIT_GRACE_MS).await?;
            }
        }
        let left: Vec<_> = self.mail.iter().map(|mail| format!("{:?}", mail.message)).collect();
        let names: Vec<_> = self.tasks.iter().map(|task| task.name.as_str()).collect();
        Err(format!("it never comes to rest: {left:?}, at work: {names:?}"))
    }

    fn mail_at_work(&self) -> usize {
        self.mail.iter().filter(|mail| mail.handler.is_some()).count()
    }

    async fn check_at_rest(&mut self) -> Checked {
        let truth = {
            let cloud = self.apps.cloud.lock();
            oracle::agreement(&cloud)?;
            oracle::receipts(&cloud, &self.published)?;
            Truth::of(&cloud)
        };
        for post in &self.published {
            if !truth.posts.contains_key(post) {
                return Err(format!("{post} was acknowledged and is lost"));
            }
        }
        for post in &self.deleted {
            if truth.posts.get(post) != Some(&false) {
                return Err(format!("{post} was deleted and is there"));
            }
        }
        for ((reader, author), relation) in &self.related {
            let is = truth.follows.contains(&(*reader, *author));
            if relation.is_some_and(|relation| is != (relation == Relation::Following)) {
                return Err(format!("{} {}: not {relation:?}", name(*reader), name(*author)));
            }
        }
        self.apps.valkey.delete("lock:*"); // leases of those who died end
        // as they were left, then as readers find them, then as those reads left them
        for round in 0..2 {
            for who in PEOPLE {
                for feed in Feed::own(id(who)) {
                    self.check_live(&truth, feed, round == 1).await?;
                }
            }
            if round == 1 {
                break;
            }
            for who in PEOPLE {
                for feed in Feed::own(id(who)) {
                    self.check_walk(&truth, feed).await?;
                }
            }
            self.apps.steps.set_free(false);
            self.settle()?;
            self.rest().await?;
            self.apps.steps.set_free(true);
        }
        Ok(())
    }

    /// What Valkey holds of a feed is what belongs there, down to the floor.
    async fn check_live(&self, truth: &Truth, feed: Feed, must_live: bool) -> Checked {
        let read = self.apps.timeline.feeds.valkey.peek(feed, 1_000).await;
        let Held { slice, pulled } = match read.map_err(|error| format!("{error:?}"))? {
            Read::Known(held) => held,
            _ if must_live => return Err(format!("{feed:?} was read and is not live")),
            _ => return Ok(()),
        };
        let mut expected = expected(truth, feed);
        expected.retain(|post| *post > slice.bound);
        let mut held = slice.posts.clone();
        // entries of deleted posts go when they are read
        held.retain(|post| truth.posts.get(post) != Some(&false));
        // posts of those it points to may be there or not
        expected.retain(|post| !pulled.contains(&post.author()) || held.contains(post));
        match held == expected {
            true => Ok(()),
            false => Err(format!(
                "the live {:?} feed of {} holds {held:?} above {}, not {expected:?}",
                feed.kind,
                name(feed.user),
                slice.bound
            )),
        }
    }

    async fn check_walk(&self, truth: &Truth, feed: Feed) -> Checked {
        let shown = Rc::default();
        walk(&self.apps, feed, 3, self.now_ms, &shown).await?;
        let (shown, expected) = (shown.borrow().clone(), expected(truth, feed));
        match shown == expected {
            true => Ok(()),
            false => Err(format!(
                "the {:?} feed of {} shows {shown:?}, not {expected:?}",
                feed.kind,
                name(feed.user)
            )),
        }
    }
}

pub(super) fn expected(truth: &Truth, feed: Feed) -> Vec<PostId> {
    match feed.kind {
        FeedKind::Home => truth.home(feed.user),
        FeedKind::Author => truth.author(feed.user),
    }
}

/// Goes down a feed page by page, to its end.
pub(super) async fn walk(
    apps: &Apps,
    feed: Feed,
    limit: usize,
    now_ms: u64,
    shown: &std::cell::RefCell<Vec<PostId>>,
) -> Result<(), String> {
    let mut span = Span::ALL;
    for _ in 0..200 {
        let page = apps.timeline.feeds.page(feed, span, limit, now_ms).await;
        let page = page.map_err(|error| format!("{error:?}"))?;
        if page.next_before.is_some() && page.posts.len() != limit {
            return Err(format!("a page of {} that is not the last", page.posts.len()));
        }
        shown.borrow_mut().extend(page.posts.iter().map(|post| post.id));
        match page.next_before {
            Some(before) => span.before = before,
            None => return Ok(()),
        }
    }
    Err("a walk without an end".to_owned())
}

pub(super) fn message(queue: &str, body: &str) -> Message {
    let read = "a message as it was written";
    match queue {
        "post-events" | "bulk-events" => Message::Post(serde_json::from_str(body).expect(read)),
        "chunks" | "bulk-chunks" => Message::Chunk(serde_json::from_str(body).expect(read)),
        "graph-events" => Message::Relation(serde_json::from_str(body).expect(read)),
        "rebuilds" => Message::Rebuild(serde_json::from_str(body).expect(read)),
        other => panic!("{other} is no queue"),
    }
}

fn subject(message: &Message) -> Subject {
    match message {
        Message::Post(event) => Subject::Post(event.post),
        Message::Chunk(chunk) => Subject::Post(chunk.post),
        Message::Relation(event) => Subject::Pair(event.follower, event.author),
        Message::Rebuild(_) => Subject::Nothing,
    }
}

pub(super) async fn handle(apps: &Apps, message: &Message, now_ms: u64) -> Result<(), StoreError> {
    match message {
        Message::Post(_) => panic!("dispatched elsewhere"),
        Message::Chunk(chunk) => {
            let deliver = fanfold_deliver::handler::deliver;
            let mut done = deliver(&apps.deliver, std::slice::from_ref(chunk), now_ms).await;
            done.pop().expect("an answer for the chunk")
        }
        Message::Relation(event) => {
            fanfold_graph::handler::bring_in_line(&apps.graph, event, now_ms).await.map(drop)
        }
        Message::Rebuild(order) => {
            fanfold_rebuild::handler::rebuild(&apps.rebuild, order, now_ms).await.map(drop)
        }
    }
}
