//! The user `ash` is erased while everything else goes on. `ash` continues to publish, to follow and to
//! create new profiles, other users follow `ash`, and messages arrive. The function that erases dies or
//! runs out of time between any two calls. At rest, the only data of `ash` is data that expires, or data
//! of the new profile. The counters and feeds of all users are right.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use aws_sdk_dynamodb::config::retry::RetryConfig;
use fanfold_core::kinds::{ItemKind, KeyKind};
use fanfold_core::limits::{DROP_LEASE, DROP_SETTLES, REL_KEPT};
use fanfold_core::{FeedId, PostId, Relation, Time, UserId, UserRef};
use fanfold_functions::admin::execute;
use fanfold_functions::admin::order::AdminOrder;
use fanfold_kinds::fanout::settings::FanOutSettings;
use fanfold_kinds::marks::MarkKind;
use fanfold_kinds::people::NewProfile;
use fanfold_kinds::people::about::AboutChange;
use fanfold_kinds::posts::NewPost;
use fanfold_kinds::scheduled::{self, NewScheduled};
use fanfold_kinds::timers::{self, NewTimer};
use fanfold_runtime::clock::Deadline;
use fanfold_runtime::sqs::Outcome;
use futures::future::LocalBoxFuture;
use serde_json::Value;

use super::apps::{Apps, BOARDS, DUE, GRAPH, MARKS, PEOPLE, POSTS, USERS, id, identity};
use super::cloud::Cloud;
use super::expression::Item;
use super::history::{Checked, History, Kind, Play, TIMEOUT, play_all};
use super::oracle::{Truth, check_agreement, check_marks};
use super::plan::Name;
use super::play::{
    Message, Shown, WalkError, check_cards, expected, handle_within, message, walk, walk_list,
};
use super::server::Server;
use super::threads;
use crate::harness::dice::Dice;
use crate::harness::traces::{in_member, in_text};

const ASH: &str = "ash";
/// The time after which the AWS SDK gives up a call.
const CALL_TIMEOUT: Duration = Duration::from_secs(8);
/// The timeout of the function that erases.
const ADMIN_TIMEOUT: Duration = Duration::from_secs(60);

/// The result of a worker.
pub enum Done {
    Walked(Result<(), WalkError>),
    Erased { done: bool },
    Published(Result<PostId, ()>),
    Other,
}

/// What the histories of an erased user know.
#[derive(Default)]
struct Dropping {
    /// Whether an order to erase `ash` is done.
    erased: bool,
    /// Whether `ash` comes back while all work finishes.
    returns: bool,
    /// Acknowledged posts of other users.
    acknowledged: BTreeSet<PostId>,
    /// Whether `ash` ever had followers in the second partition.
    spread: bool,
}

impl History<Dropping> {
    /// Orders to erase `ash`. `hurry`: the function has no time left.
    fn erase_ash(&mut self, hurry: bool) {
        let (apps, now) = (self.apps.clone(), self.now);
        let deadline = if hurry { Deadline::at(Time::EPOCH) } else { Deadline::NONE };
        let order = AdminOrder::DropUser { user: id(ASH).to_string() };
        let work = async move {
            let answer = execute(&apps.admin, order, now, deadline).await;
            Done::Erased { done: answer.is_ok_and(|answer| answer["done"] == true) }
        };
        self.begin_within([ADMIN_TIMEOUT, CALL_TIMEOUT], (), work);
    }

    fn publish(&mut self, author: Name) {
        let (apps, now, key) = (self.apps.clone(), self.now, self.dice.below(9).to_string());
        let posts: Vec<PostId> = Truth::of(&apps.cloud.lock()).posts.into_keys().collect();
        let is_reply = !posts.is_empty() && self.dice.one_in(2);
        let in_reply_to = is_reply.then(|| *self.dice.pick(&posts));
        // another request than that of the key before
        let key = (!is_reply).then_some(key);
        let work = async move {
            let publish = fanfold_kinds::posts::publish;
            let new = NewPost { in_reply_to, .."text".into() };
            let post = publish(&apps.app, &identity(author), new, key.as_deref(), now).await;
            Done::Published(post.map(|shown| shown.post.id).map_err(drop))
        };
        self.begin((), work);
    }

    fn relate(&mut self, follower: Name, author: Name, relation: Relation) {
        let (apps, now) = (self.apps.clone(), self.now);
        let work = async move {
            let (relate, user) = (fanfold_kinds::follows::relate, UserRef::Id(id(author)));
            let _answer = relate(&apps.app, &identity(follower), &user, relation, now).await;
            Done::Other
        };
        self.begin((), work);
    }

    /// Schedules a post for later, or puts a timer.
    fn plan_ahead(&mut self, user: Name) {
        let (apps, now) = (self.apps.clone(), self.now);
        let (is_post, key) = (self.dice.one_in(2), self.dice.below(9).to_string());
        let at = now + Duration::from_secs(60 + self.dice.below(7_200));
        let work = async move {
            let me = identity(user);
            if is_post {
                let new = NewScheduled { post: "later".into(), publish_at: at, key: Some(&key) };
                let _answer = scheduled::schedule(&apps.app, &me, new, now).await;
            } else {
                let new = NewTimer { due_at: at, every: None, payload: Value::Null };
                let name = key.parse().expect("a name");
                let _answer = timers::put(&apps.app, &me, &name, new, now).await;
            }
            Done::Other
        };
        self.begin((), work);
    }

    /// Marks a post of anybody, or removes the mark.
    fn mark(&mut self, user: Name) {
        let posts: Vec<PostId> = Truth::of(&self.apps.cloud.lock()).posts.into_keys().collect();
        if posts.is_empty() {
            return;
        }
        let (apps, now, post) = (self.apps.clone(), self.now, *self.dice.pick(&posts));
        let (kind, marked) = (*self.dice.pick(MarkKind::ALL), !self.dice.one_in(4));
        let work = async move {
            let me = identity(user);
            let put = fanfold_kinds::marks::put;
            let _answer = put(&apps.app, &me, kind, post, marked, now).await;
            Done::Other
        };
        self.begin((), work);
    }

    /// The sweep drops all feeds and keeps copies.
    fn sweep(&mut self) {
        let (mut app, now) = (self.apps.app.clone(), self.now);
        app.settings.inactive_after = Duration::ZERO;
        let work = async move {
            let _result = fanfold_kinds::sweep::sweep(&app, now).await;
            Done::Other
        };
        self.begin((), work);
    }

    fn put_profile(&mut self) {
        let (apps, now) = (self.apps.clone(), self.now);
        let work = async move {
            let put = fanfold_kinds::people::put_profile;
            let about = AboutChange::new(Some(&now.to_string()), None, None).expect("a bio");
            let new = NewProfile { name: ASH, about };
            let _answer = put(&apps.app, &identity(ASH), ASH, new, now).await;
            Done::Other
        };
        self.begin((), work);
    }

    fn read(&mut self, feed: FeedId) {
        let (apps, now) = (self.apps.clone(), self.now);
        let work = async move { Done::Walked(walk(&apps, feed, 3, now, &Rc::default()).await) };
        self.begin((), work);
    }

    fn list(&mut self, owner: UserId, followers: bool) {
        let (apps, now) = (self.apps.clone(), self.now);
        let work = async move {
            Done::Walked(walk_list(&apps, owner, followers, 1, now, &Rc::default()).await)
        };
        self.begin((), work);
    }

    fn delete(&mut self) {
        let posts: Vec<PostId> = Truth::of(&self.apps.cloud.lock()).posts.into_keys().collect();
        if posts.is_empty() {
            return;
        }
        let (apps, now, post) = (self.apps.clone(), self.now, *self.dice.pick(&posts));
        let author = super::apps::name(post.author());
        self.kind.acknowledged.remove(&post);
        let work = async move {
            let delete = fanfold_kinds::posts::delete;
            let _answer = delete(&apps.app, &identity(author), post, now).await;
            Done::Other
        };
        self.begin((), work);
    }

    fn edit(&mut self) {
        let posts: Vec<PostId> = Truth::of(&self.apps.cloud.lock()).posts.into_keys().collect();
        if posts.is_empty() {
            return;
        }
        let (apps, now, post) = (self.apps.clone(), self.now, *self.dice.pick(&posts));
        let author = super::apps::name(post.author());
        let text = format!("edit {}", self.dice.below(100));
        let work = async move {
            let edit = fanfold_kinds::posts::edit;
            let _answer = edit(&apps.app, &identity(author), post, text.as_str(), None, now).await;
            Done::Other
        };
        self.begin((), work);
    }

    /// Begins a random action.
    fn random_action(&mut self) {
        let (user, other) = (*self.dice.pick(&PEOPLE), *self.dice.pick(&PEOPLE));
        // `ash` acts more often than other users
        let user = if self.dice.one_in(3) { ASH } else { user };
        match self.dice.below(17) {
            16 if self.dice.one_in(2) => self.sweep(),
            16 => self.mark(user),
            0..3 => self.publish(user),
            3..6 => self.relate(user, other, Relation::Following),
            6 => self.relate(user, other, Relation::NotFollowing),
            7 if self.dice.one_in(2) => self.edit(),
            7 => self.delete(),
            8 => self.put_profile(),
            9 if self.dice.one_in(2) => self.plan_ahead(user),
            9 => self.read(FeedId::home(id(other))),
            10 if self.dice.one_in(2) => self.read(FeedId::author(id(user))),
            10 => {
                let followers = self.dice.one_in(2);
                self.list(id(other), followers);
            }
            _ => _ = self.arrive(false),
        }
    }

    /// Whether an order began and died after another one was done: the item of the user has no handle.
    fn is_half_erased(&self) -> bool {
        let cloud = self.apps.cloud.lock();
        let pk = format!("user#{}", id(ASH));
        let mut items = cloud.items(USERS).filter(|item| item["pk"]["S"] == pk.as_str());
        items.any(|item| !item.contains_key("handle"))
    }

    /// All users follow and publish, and many messages are not handled yet.
    fn earlier_activity(&mut self) {
        self.set_free();
        self.put_profile();
        self.settle();
        for _ in 0..70 {
            self.random_action();
            self.now += Duration::from_millis(1);
            self.settle();
        }
        self.set_ordered();
    }

    async fn check_all(&mut self) -> Checked {
        self.set_free();
        self.apps.valkey.delete("lock:*"); // the leases of dead workers end
        let truth = {
            let cloud = self.apps.cloud.lock();
            check_agreement(&cloud)?;
            check_marks(&cloud)?;
            threads::check_rows(&cloud)?;
            Truth::of(&cloud)
        };
        if let Some(lost) =
            self.kind.acknowledged.iter().find(|post| !truth.posts.contains_key(post))
        {
            return Err(format!("{lost} of another user is lost"));
        }
        let came_back = self.apps.app.users.profile(id(ASH)).await.expect("read").is_some();
        if !came_back {
            self.check_no_trace(id(ASH))?;
        }
        for user in PEOPLE {
            for feed in FeedId::own(id(user)) {
                let shown = Shown::default();
                let walked = walk(&self.apps, feed, 3, self.now, &shown).await;
                walked.map_err(|error| format!("{error:?}"))?;
                let (shown, expected) = (shown.items.into_inner(), expected(&truth, feed));
                if shown != expected {
                    return Err(format!("{feed} of {user} shows {shown:?}, not {expected:?}"));
                }
            }
        }
        check_cards(&self.apps, self.now).await?;
        // erases once more, at rest: now there is no feed of `ash` either
        self.set_ordered();
        self.settle();
        self.rest().await;
        self.set_free();
        self.kind.erased = false;
        while !self.kind.erased {
            self.erase_ash(true);
            self.settle();
            self.wait(DROP_SETTLES).await;
        }
        self.set_ordered();
        self.rest().await;
        self.set_free();
        check_agreement(&self.apps.cloud.lock())?;
        check_marks(&self.apps.cloud.lock())?;
        check_cards(&self.apps, self.now).await?;
        self.check_no_trace(id(ASH))?;
        let feed = self.apps.valkey.keys().into_iter().find(|(key, members)| {
            let live = key.starts_with("live:");
            // a card of a relation stays for an hour at most
            let expires = key.starts_with("rel:") || key.starts_with("follows:");
            !expires && in_text(id(ASH), key)
                || live && members.iter().any(|member| in_member(id(ASH), member))
        });
        if let Some(feed) = feed {
            return Err(format!("a feed is left: {feed:?}"));
        }
        // the sweep deletes the old relations in Valkey
        let later = self.now + REL_KEPT;
        let swept = fanfold_kinds::sweep::sweep(&self.apps.app, later).await;
        swept.map_err(|error| format!("the sweep: {error:?}"))?;
        let left = self.apps.valkey.keys().into_iter().find(|(key, members)| {
            let holds = members.iter().any(|member| in_member(id(ASH), member));
            key.starts_with("rel") && (in_text(id(ASH), key) || holds)
        });
        left.map_or(Ok(()), |left| Err(format!("a relation is left: {left:?}")))
    }

    /// Checks that there is no data of a user, apart from data that expires, from private marks of others that they have not
    /// read since, and from an empty feed that a reader may have created.
    fn check_no_trace(&self, user: UserId) -> Checked {
        let cloud = self.apps.cloud.lock();
        for table in [USERS, POSTS, GRAPH, DUE, MARKS, BOARDS] {
            let about = |item: &&Item| contains(user, &Value::Object(of_others((*item).clone())));
            for item in cloud.items(table).filter(about) {
                let pk = item["pk"]["S"].as_str().unwrap_or_default();
                let of_others = ["following#", "kept#"].iter().any(|kind| pk.starts_with(kind));
                let others = of_others && !in_text(user, pk);
                let expires = item.contains_key("expires_at");
                if private(pk).is_some_and(|other| other != user.to_string()) {
                    continue;
                }
                if !(expires && (pk.starts_with("receipt#") || others)) {
                    return Err(format!("{table}: {item:?}"));
                }
            }
        }
        for (key, members) in self.apps.valkey.keys() {
            if ["rel:", "rels:", "live:"].iter().any(|kind| key.starts_with(kind)) {
                continue;
            }
            let is_private = |kind: &MarkKind| {
                !kind.spec().is_public && KeyKind::of(&key) == Some(kind.spec().card)
            };
            if MarkKind::ALL.iter().any(is_private) && !in_text(user, &key) {
                continue;
            }
            if KeyKind::of(&key) == Some(KeyKind::PostCard) && !in_text(user, &key) {
                continue;
            }
            if let Some(member) = members.iter().find(|member| in_member(user, member)) {
                return Err(format!("{key} contains {member:?}"));
            }
        }
        Ok(())
    }
}

/// An item without what a post says of the posts that it answers.
fn of_others(mut item: Item) -> Item {
    let kind = item["pk"]["S"].as_str().and_then(ItemKind::of);
    match kind {
        Some(ItemKind::Post) => item.remove("above"),
        Some(ItemKind::Reply) => item.remove("pk"),
        _ => None,
    };
    item
}

/// Whether a value contains the id of a user or of one of the user's posts.
fn contains(user: UserId, value: &Value) -> bool {
    match value {
        Value::String(text) => in_text(user, text),
        Value::Array(values) => values.iter().any(|value| contains(user, value)),
        Value::Object(fields) => {
            fields.iter().any(|(name, value)| in_text(user, name) || contains(user, value))
        }
        _ => false,
    }
}

fn fanout(dice: &mut Dice) -> FanOutSettings {
    let (small, pull) = (dice.below(3), dice.below(4));
    FanOutSettings { chunk: 1 + dice.below(2) as usize, small, bulk: dice.below(4), pull }
}

impl Kind for Dropping {
    const HANDLERS: usize = 3;
    type Done = Done;
    type Subject = ();
    type Message = Message;

    fn receive(history: &mut History<Self>, queue: &str, body: &str, delay: Duration) {
        // items that are due are not handled here: they belong to the histories of `due`
        if queue != "due-items" {
            history.mail.push((history.now + delay, message(queue, body)));
        }
    }

    fn handle(
        history: &History<Self>,
        message: Message,
        now: Time,
        _deadline: Deadline,
    ) -> LocalBoxFuture<'static, Outcome<Message>> {
        Box::pin(handle_within(history.apps.clone(), message, now, Deadline::NONE))
    }

    fn note(history: &mut History<Self>, _worker: usize, done: Done) {
        match done {
            Done::Walked(Err(WalkError::Wrong(reason))) => history.fail_with(reason),
            Done::Published(Ok(post)) if post.author() != id(ASH) => {
                history.kind.acknowledged.insert(post);
            }
            Done::Erased { done: true } => history.kind.erased = true,
            _ => {}
        }
        let second = format!("followers#{}#1", id(ASH));
        let cloud = history.apps.cloud.lock();
        history.kind.spread |= cloud.items(GRAPH).any(|item| item["pk"]["S"] == second.as_str());
    }

    /// Repeats the order until it is done. The erased user may come back meanwhile.
    fn is_done(history: &mut History<Self>) -> bool {
        let is_erased = history.kind.erased && !history.is_half_erased();
        if is_erased && std::mem::take(&mut history.kind.returns) {
            history.put_profile();
            history.settle();
        }
        if !is_erased && history.working().all(|(_, worker)| !worker.is_patient()) {
            history.erase_ash(false);
        }
        is_erased
    }
}

impl Play for Dropping {
    const NAME: &'static str = "dropping";

    fn begin(server: &Server, start: &Cloud, seed: u64) -> History<Self> {
        let mut dice = Dice(seed);
        // one or two followers in each partition, so that an author has up to four partitions
        let followers = 1 + seed % 2;
        let settings = [
            ("FOLLOWER_PARTITIONS", "1".to_owned()),
            ("FOLLOWERS_PER_PARTITION", followers.to_string()),
        ];
        let mut apps = Apps::with(server, &settings, RetryConfig::disabled());
        apps.app.settings.partitions_per_part = 1;
        apps.app.settings.fanout = fanout(&mut dice);
        let one_in = *dice.pick(&[0, 0, 40]);
        // nothing is to be erased until the history begins
        let kind = Self { erased: true, ..Self::default() };
        let history = History::new(apps, start, dice, kind);
        history.set_faults([one_in, 0], seed);
        history
    }

    async fn play(history: &mut History<Self>) {
        history.earlier_activity();
        history.kind.erased = false;
        let hurry = history.dice.one_in(2);
        history.erase_ash(hurry);
        for _ in 0..250 + history.dice.below(300) {
            match history.dice.below(40) {
                0..6 => history.random_action(),
                6 if !history.kind.erased => {
                    let hurry = history.dice.one_in(2);
                    history.erase_ash(hurry);
                }
                7 => history.go_on(7, &[]).await,
                8 => {
                    let waits = [Duration::from_millis(200), TIMEOUT, DROP_SETTLES, DROP_LEASE];
                    history.go_on(9, &waits).await;
                }
                _ => history.step().await,
            }
        }
        history.set_faults([0, 0], 0);
        history.kind.returns = history.dice.one_in(8);
        history.rest().await;
        history.set_free();
        let profile = history.apps.app.users.profile(id(ASH)).await;
        let came_back = profile.expect("read").is_some();
        history.count("came back", came_back);
        history.count("stayed away", !came_back);
        history.count("spread", history.kind.spread);
    }

    async fn check(history: &mut History<Self>) -> Checked {
        history.check_all().await
    }
}

#[test]
fn a_user_is_erased_while_everything_else_goes_on() {
    play_all::<Dropping>(120, 3, &["came back", "stayed away", "spread"]);
}

/// The user who put a private mark, by the partition key of one of its rows.
fn private(pk: &str) -> Option<&str> {
    let specs = MarkKind::ALL.iter().map(|kind| kind.spec()).filter(|spec| !spec.is_public);
    specs.flat_map(|spec| [spec.by_post, spec.by_time]).find_map(|kind| kind.owner(pk))
}
