//! Ash is dropped while everybody is at work: ash goes on posting, following and making new profiles,
//! others follow ash, messages arrive, and whoever drops dies or runs out of time between any two
//! calls. At rest nothing tells of ash but what expires, or of the new ash alone, and everybody's
//! counters and feeds are right.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use fanfold_admin::handler::obey;
use fanfold_admin::order::Order;
use fanfold_core::limits::{COMMIT_GRACE_MS, DROP_LEASE_MS, DROP_SETTLES_MS, REL_KEPT_MS};
use fanfold_core::{PostId, Relation, UserId};
use fanfold_store::clock::Deadline;
use fanfold_store::config::FanOutSettings;
use fanfold_store::dynamo::posts::RequestKey;
use fanfold_store::http::UserRef;
use fanfold_store::valkey::Feed;
use futures::future::LocalBoxFuture;
use serde_json::Value;

use super::apps::{Apps, GRAPH, PEOPLE, POSTS, USERS, id, identity};
use super::cloud::{Cloud, Faults};
use super::oracle::{Truth, agreement};
use super::play::{Message, expected, handle, message, walk};
use super::server::Server;
use super::tasks::{Task, runtime, settle};
use crate::harness::dice::Dice;
use crate::harness::traces::{in_member, in_text};

const ASH: &str = "ash";
/// Functions on queues and for requests, and the one that drops.
const LIVES_MS: u64 = 20_000;
/// As long as the AWS SDK tries a call.
const CALL_LIVES_MS: u64 = 8_000;
const ADMIN_LIVES_MS: u64 = 60_000;

enum Done {
    Handled(bool),
    Dropped { done: bool },
    Published(Result<PostId, ()>),
    Other,
}

struct Stage {
    apps: Rc<Apps>,
    dice: Dice,
    now_ms: u64,
    tasks: Vec<Task<Done>>,
    /// By number: when it began, how long it may live, and the message that it has.
    born: Vec<(u64, u64, Option<Message>)>,
    mail: Vec<Message>,
    dropped: bool,
    acknowledged: BTreeSet<PostId>,
}

impl Stage {
    fn begin(
        &mut self,
        lives_ms: u64,
        mail: Option<Message>,
        future: LocalBoxFuture<'static, Done>,
    ) {
        let number = self.born.len();
        self.born.push((self.now_ms, lives_ms, mail));
        self.tasks.push(Task::new(number, String::new(), future));
    }

    fn drop_ash(&mut self, hurry: bool) {
        let (apps, now) = (self.apps.clone(), self.now_ms);
        let deadline = if hurry { Deadline::at_ms(0) } else { Deadline::NONE };
        let order = Order::DropUser { user: id(ASH).to_string() };
        let future = Box::pin(async move {
            let answer = obey(&apps.admin, order, now, deadline).await;
            Done::Dropped { done: answer.is_ok_and(|answer| answer["done"] == true) }
        });
        self.begin(ADMIN_LIVES_MS, None, future);
    }

    fn publish(&mut self, who: &'static str) {
        let (apps, now, key) = (self.apps.clone(), self.now_ms, self.dice.below(9).to_string());
        let key = RequestKey::new(id(who), &key, "text");
        let future = Box::pin(async move {
            let publish = fanfold_posts::handler::publish;
            let post = publish(&apps.posts, &identity(who), "text", Some(key), now).await;
            Done::Published(post.map(|(post, _)| post.id).map_err(drop))
        });
        self.begin(LIVES_MS, None, future);
    }

    fn relate(&mut self, who: &'static str, whom: &'static str, relation: Relation) {
        let (apps, now) = (self.apps.clone(), self.now_ms);
        let future = Box::pin(async move {
            let (relate, user) = (fanfold_users::handler::relate, UserRef::Id(id(whom)));
            let _answered = relate(&apps.users, &identity(who), &user, relation, now).await;
            Done::Other
        });
        self.begin(LIVES_MS, None, future);
    }

    fn put_profile(&mut self) {
        let apps = self.apps.clone();
        let future = Box::pin(async move {
            let put = fanfold_users::handler::put_profile;
            let _answered = put(&apps.users, &identity(ASH), ASH, ASH).await;
            Done::Other
        });
        self.begin(LIVES_MS, None, future);
    }

    fn read(&mut self, feed: Feed) {
        let (apps, now) = (self.apps.clone(), self.now_ms);
        let future = Box::pin(async move {
            let _answered = walk(&apps, feed, 3, now, &Rc::default()).await;
            Done::Other
        });
        self.begin(LIVES_MS, None, future);
    }

    fn delete(&mut self) {
        let posts: Vec<PostId> = Truth::of(&self.apps.cloud.lock()).posts.into_keys().collect();
        if posts.is_empty() {
            return;
        }
        let (apps, now, post) = (self.apps.clone(), self.now_ms, *self.dice.pick(&posts));
        let who = super::apps::name(post.author());
        self.acknowledged.remove(&post);
        let future = Box::pin(async move {
            let delete = fanfold_posts::handler::delete;
            let _answered = delete(&apps.posts, &identity(who), post, now).await;
            Done::Other
        });
        self.begin(LIVES_MS, None, future);
    }

    fn arrive(&mut self) {
        if self.mail.is_empty() {
            return;
        }
        let nth = self.dice.below(self.mail.len() as u64) as usize;
        let message = self.mail.swap_remove(nth);
        let (apps, now, taken) = (self.apps.clone(), self.now_ms, message.clone());
        let future = Box::pin(async move {
            Done::Handled(match taken {
                Message::Post(event) => {
                    let dispatch = fanfold_dispatch::handler::dispatch;
                    dispatch(&apps.dispatch, &event, now, Deadline::NONE).await.is_ok()
                }
                other => handle(&apps, &other, now).await.is_ok(),
            })
        });
        self.begin(LIVES_MS, Some(message), future);
    }

    fn something(&mut self) {
        let (who, whom) = (*self.dice.pick(&PEOPLE), *self.dice.pick(&PEOPLE));
        // ash more than others
        let who = if self.dice.one_in(3) { ASH } else { who };
        match self.dice.below(16) {
            0..3 => self.publish(who),
            3..6 => self.relate(who, whom, Relation::Following),
            6 => self.relate(who, whom, Relation::NotFollowing),
            7 => self.delete(),
            8 => self.put_profile(),
            9 => self.read(Feed::home(id(whom))),
            10 => self.read(Feed::author(id(who))),
            _ => self.arrive(),
        }
    }

    /// One call is made, and everyone goes on who can.
    async fn step(&mut self) {
        let waiting = self.apps.steps.waiting().len() as u64;
        match waiting {
            0 => self.wait(1 + self.dice.clone().below(80)).await,
            _ => self.apps.steps.grant(self.dice.below(waiting) as usize),
        }
        self.settle();
    }

    fn settle(&mut self) {
        let done = settle(&mut self.tasks, &self.apps.steps);
        let sent = std::mem::take(&mut self.apps.cloud.lock().sent);
        self.mail.extend(sent.iter().map(|(queue, body)| message(queue, body)));
        for (number, done) in done {
            match done {
                Done::Handled(false) => self.mail.extend(self.born[number].2.take()),
                Done::Published(Ok(post)) if post.author() != id(ASH) => {
                    self.acknowledged.insert(post);
                }
                Done::Dropped { done: true } => self.dropped = true,
                _ => {}
            }
        }
    }

    fn kill(&mut self, at: usize) {
        let number = self.tasks.remove(at).number;
        self.mail.extend(self.born[number].2.take());
    }

    /// Nobody outlives their function. An order lives for long, but no call of it outlasts its time-out.
    async fn wait(&mut self, ms: u64) {
        self.now_ms += ms;
        tokio::time::advance(Duration::from_millis(ms)).await;
        while let Some(at) = self.tasks.iter().position(|task| {
            let (born, lives, _) = &self.born[task.number];
            let times_out = *lives == ADMIN_LIVES_MS && ms > CALL_LIVES_MS;
            self.now_ms > born + lives || times_out
        }) {
            self.kill(at);
        }
    }

    fn dropping(&self) -> bool {
        self.tasks.iter().any(|task| self.born[task.number].1 == ADMIN_LIVES_MS)
    }

    /// An order may have begun after another was done, and died: what stands for the profile has no handle.
    fn is_half_dropped(&self) -> bool {
        let cloud = self.apps.cloud.lock();
        let pk = format!("user#{}", id(ASH));
        let mut notes = cloud.items(USERS).filter(|item| item["pk"]["S"] == pk.as_str());
        notes.any(|item| !item.contains_key("handle"))
    }

    /// A past in which everybody follows and posts, and much is still on its way.
    async fn past(&mut self) {
        self.apps.steps.set_free(true);
        self.put_profile();
        self.settle();
        for _ in 0..60 {
            self.something();
            self.now_ms += 1;
            self.settle();
        }
        self.apps.steps.set_free(false);
    }

    async fn history(&mut self) {
        self.past().await;
        self.drop_ash(self.dice.clone().one_in(2));
        for _ in 0..250 + self.dice.below(300) {
            match self.dice.below(40) {
                0..6 => self.something(),
                6 if !self.dropped => {
                    let hurry = self.dice.one_in(2);
                    self.drop_ash(hurry);
                }
                7 if !self.tasks.is_empty() => {
                    let at = self.dice.below(self.tasks.len() as u64) as usize;
                    self.kill(at);
                }
                8 if self.dice.one_in(3) => {
                    let pauses = [200, LIVES_MS, DROP_SETTLES_MS, DROP_LEASE_MS];
                    let ms = *self.dice.pick(&pauses);
                    self.wait(ms).await;
                }
                _ => self.step().await,
            }
        }
        self.apps.cloud.lock().faults = Faults::default();
        self.apps.valkey.set_faults(Faults::default());
        self.rest().await;
    }

    /// The order is given again until it is done, and all messages are handled.
    async fn rest(&mut self) {
        for round in 0..20_000 {
            let dropped = self.dropped && !self.is_half_dropped();
            if self.tasks.is_empty() && self.mail.is_empty() && dropped {
                return;
            }
            if !dropped && !self.dropping() {
                self.drop_ash(false);
            }
            if self.tasks.len() < 3 {
                self.arrive();
            }
            self.step().await;
            if round % 200 == 199 {
                self.wait(COMMIT_GRACE_MS).await;
            }
        }
        panic!("it never comes to rest: {:?}", self.mail);
    }

    async fn check(&mut self) -> Result<(), String> {
        self.apps.steps.set_free(true);
        self.apps.valkey.delete("lock:*"); // leases of those who died end
        let truth = {
            let cloud = self.apps.cloud.lock();
            agreement(&cloud)?;
            Truth::of(&cloud)
        };
        if let Some(lost) = self.acknowledged.iter().find(|post| !truth.posts.contains_key(post)) {
            return Err(format!("{lost} of somebody else is gone"));
        }
        let back = self.apps.users.users.profile(id(ASH)).await.expect("read").is_some();
        if !back {
            self.tells_nothing_of(id(ASH))?;
        }
        for who in PEOPLE {
            for feed in Feed::own(id(who)) {
                let shown = Rc::default();
                walk(&self.apps, feed, 3, self.now_ms, &shown).await?;
                let (shown, expected) = (shown.borrow().clone(), expected(&truth, feed));
                if shown != expected {
                    return Err(format!("{feed} of {who} shows {shown:?}, not {expected:?}"));
                }
            }
        }
        // once more, when all is at rest: now no feed of ash's is left either
        self.apps.steps.set_free(false);
        self.settle();
        self.rest().await;
        self.apps.steps.set_free(true);
        self.dropped = false;
        while !self.dropped {
            self.drop_ash(true);
            self.settle();
            self.wait(DROP_SETTLES_MS).await;
        }
        self.apps.steps.set_free(false);
        self.rest().await;
        self.apps.steps.set_free(true);
        agreement(&self.apps.cloud.lock())?;
        self.tells_nothing_of(id(ASH))?;
        let feed = self.apps.valkey.keys().into_iter().find(|(key, members)| {
            let live = key.starts_with("live:");
            !key.starts_with("rel:") && in_text(id(ASH), key)
                || live && members.iter().any(|member| in_member(id(ASH), member))
        });
        if let Some(feed) = feed {
            return Err(format!("a feed is left: {feed:?}"));
        }
        // the sweep forgets what Valkey remembers of relations
        let later = self.now_ms + REL_KEPT_MS;
        let swept = fanfold_sweep::handler::sweep(&self.apps.sweep, later).await;
        swept.map_err(|error| format!("the sweep: {error:?}"))?;
        let left = self.apps.valkey.keys().into_iter().find(|(key, members)| {
            let holds = members.iter().any(|member| in_member(id(ASH), member));
            key.starts_with("rel") && (in_text(id(ASH), key) || holds)
        });
        left.map_or(Ok(()), |left| Err(format!("a relation is left: {left:?}")))
    }

    /// Nothing but what expires, and what readers may have brought back: an empty feed.
    fn tells_nothing_of(&self, user: UserId) -> Result<(), String> {
        let cloud = self.apps.cloud.lock();
        for table in [USERS, POSTS, GRAPH] {
            let telling =
                cloud.items(table).filter(|item| tells(user, &Value::Object((*item).clone())));
            for item in telling {
                let pk = item["pk"]["S"].as_str().unwrap_or_default();
                let others = pk.starts_with("following#") && !in_text(user, pk);
                let expires = item.contains_key("expires_at");
                if !(expires && (pk.starts_with("receipt#") || others)) {
                    return Err(format!("{table}: {item:?}"));
                }
            }
        }
        for (key, members) in self.apps.valkey.keys() {
            if ["rel:", "rels:", "live:"].iter().any(|kind| key.starts_with(kind)) {
                continue;
            }
            if let Some(member) = members.iter().find(|member| in_member(user, member)) {
                return Err(format!("{key} holds {member:?}"));
            }
        }
        Ok(())
    }
}

fn tells(user: UserId, value: &Value) -> bool {
    match value {
        Value::String(text) => in_text(user, text),
        Value::Array(values) => values.iter().any(|value| tells(user, value)),
        Value::Object(fields) => {
            fields.iter().any(|(name, value)| in_text(user, name) || tells(user, value))
        }
        _ => false,
    }
}

fn fanout(dice: &mut Dice) -> FanOutSettings {
    let (small, pull) = (dice.below(3), dice.below(4));
    FanOutSettings { chunk: 1 + dice.below(2) as usize, small, bulk: dice.below(4), pull }
}

/// From a seed: what went wrong, if anything did, and whether ash came back as somebody new.
async fn play(server: &Server, start: &Cloud, seed: u64) -> Result<bool, String> {
    fastrand::seed(seed);
    let mut dice = Dice(seed);
    let mut apps = Apps::new(server);
    *apps.cloud.lock() = start.clone();
    apps.valkey.start_anew();
    apps.dispatch.fanout = fanout(&mut dice);
    let one_in = *dice.pick(&[0, 0, 40]);
    apps.cloud.lock().faults = Faults { one_in, dice: Dice(seed ^ 1) };
    let mut stage = Stage {
        apps: Rc::new(apps),
        dice,
        now_ms: 1_800_000_000_000,
        tasks: Vec::new(),
        born: Vec::new(),
        mail: Vec::new(),
        dropped: false,
        acknowledged: BTreeSet::new(),
    };
    stage.history().await;
    let back = stage.apps.users.users.profile(id(ASH));
    stage.apps.steps.set_free(true);
    let back = back.await.expect("read").is_some();
    let checked = stage.check().await;
    checked.map(|()| back).map_err(|why| {
        let log = stage.apps.steps.log();
        format!("{}\nseed {seed}: {why}", log.join("\n"))
    })
}

#[test]
fn a_user_is_dropped_whatever_goes_on_meanwhile() {
    let (server, runtime) = (Server::start(), runtime());
    let start = {
        let apps = Apps::new(&server);
        apps.steps.set_free(true);
        runtime.block_on(async {
            for name in PEOPLE {
                let put = fanfold_users::handler::put_profile;
                put(&apps.users, &identity(name), name, name).await.expect("a profile");
            }
        });
        apps.cloud.lock().clone()
    };
    let first = super::number("FANFOLD_SEED", 1);
    let count = super::number("FANFOLD_DROPS", 180);
    let mut back = 0;
    for seed in first..first + count {
        match runtime.block_on(play(&server, &start, seed)) {
            Ok(came) => back += u64::from(came),
            Err(why) => panic!("{why}"),
        }
    }
    println!("{count} users dropped, {back} of them came back meanwhile");
    assert!(count < 100 || (back > 5 && back < count - 5), "{back} came back");
}
