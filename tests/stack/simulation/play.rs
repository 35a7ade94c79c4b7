//! Runs a plan and checks what readers see. Then lets all work finish, and checks feeds and tables.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;
use std::str::FromStr;
use std::time::Duration;

use fanfold_core::kinds::{Form, KeyKind};
use fanfold_core::limits::{CARD_MARK_WITHIN, COMMIT_GRACE, REL_KEPT};
use fanfold_core::message::Received as _;
use fanfold_core::{FeedId, FeedKind, PostId, Relation, TagHash, Time, UserId, UserRef};
use fanfold_engines::reading::ReadContext;
use fanfold_engines::valkey::{CachedSlice, CardId, Read};
use fanfold_functions::timeline::feed::FeedQuery;
use fanfold_kinds::fanout::dispatch::Dispatched;
use fanfold_kinds::fanout::messages::DeliverChunk;
use fanfold_kinds::people::NewProfile;
use fanfold_kinds::people::about::AboutChange;
use fanfold_kinds::posts::NewPost;
use fanfold_kinds::posts::entities::{Entity, Meaning};
use fanfold_kinds::posts::items::Post;
use fanfold_kinds::present::{SeenUser, ShownPost, Viewer};
use fanfold_kinds::subscriptions::{ChangeEvent, ChunkOrder, PostEvent, RebuildOrder, deliver};
use fanfold_runtime::StoreError;
use fanfold_runtime::clock::Deadline;
use fanfold_runtime::sqs::Outcome;
use fanfold_web::ListQuery;
use fanfold_web::{Problem, ProblemKind};
use futures::future::LocalBoxFuture;

use super::apps::{Apps, GRAPH, PEOPLE, USERS, id, identity, name};
use super::cloud::Cloud;
use super::expression::Item;
use super::history::{Checked, Counts, History, Kind, Worker, add};
use super::oracle::{self, Truth};
use super::plan::{Action, NEWEST, Name, Order, Plan, PushFaults, SHARED_HANDLE, viewer_of};
use super::threads;
use crate::harness::dice::Dice;

/// The timeout of a function.
const FUNCTION_TIMEOUT: Duration = Duration::from_secs(10);
/// A walk with more pages than this has no end.
const PAGES_MAX: usize = 200;

/// The failure of a history: the reason, and the log of all actions and calls.
#[derive(Debug)]
pub struct Failure {
    pub reason: String,
    pub log: Vec<String>,
}

#[derive(Debug, Clone)]
pub enum Message {
    Post(PostEvent),
    Chunk(ChunkOrder),
    Change(ChangeEvent),
    Rebuild(RebuildOrder),
}

/// The post or relation that a message or a client may change.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    Post(PostId),
    /// The text of a post.
    Edit(PostId),
    /// The tag feeds of a post.
    Tags(PostId),
    /// A post that is being published by this author.
    NewPost(UserId),
    Pair(UserId, UserId),
    Profile(UserId),
    #[default]
    Nothing,
}

impl Subject {
    /// Whether the numbers of this user's posts or followed users may change.
    fn changes_numbers_of(self, user: UserId) -> bool {
        match self {
            Self::Post(post) => post.author() == user,
            Self::NewPost(author) => author == user,
            Self::Pair(follower, _) => follower == user,
            Self::Edit(_) | Self::Tags(_) | Self::Profile(_) | Self::Nothing => false,
        }
    }
}

/// The result of a worker.
pub enum Done {
    /// A new post, with the handles that it mentions. The post of a repeated request has none here.
    Published(Result<(PostId, Vec<(String, UserId)>), Problem>),
    Deleted(PostId, Result<(), Problem>),
    /// An edit made a version of a post. It was of this version alone, if the author named one.
    Edited(PostId, Option<u64>, Result<Post, Problem>),
    /// The versions of a post, newest first.
    Versions(PostId, Result<Vec<u64>, Problem>),
    Related(UserId, UserId, Relation, Result<(), Problem>),
    /// A user's name got this number.
    Renamed(UserId, u64, Result<(), Problem>),
    /// A user was looked up.
    Looked(Look),
    Walked(Result<(), WalkError>),
    Listed(Result<(), WalkError>),
    /// The sweep, the audit, or a new memory.
    Maintained(Result<(), StoreError>),
}

/// A look at a user, and what it must show.
pub struct Look {
    user: UserRef,
    shown: Result<Option<SeenUser>, Problem>,
}

/// The number of posts and of followed users that a profile shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Numbers {
    posts: u64,
    following: u64,
}

/// What was shown of a user.
struct ShownUser {
    id: UserId,
    name: String,
    /// `None`: a page of posts shows no numbers.
    numbers: Option<Numbers>,
    /// `None`: a page of posts does not show it.
    is_followed: Option<bool>,
    /// The post of a page of posts, with its version.
    version: Option<(PostId, u64)>,
}

/// What a reader must see of users. Users about whom nothing is certain are not here.
pub struct Profiles {
    /// The numbers of the names that were acknowledged at the beginning.
    names: BTreeMap<UserId, u64>,
    /// The versions of posts that were acknowledged at the beginning.
    versions: BTreeMap<PostId, u64>,
    /// The numbers that hold from the beginning to the end.
    numbers: BTreeMap<UserId, Numbers>,
    /// Whether the viewer follows each user, from the beginning to the end. `None`: the viewer's relations changed.
    followed: Option<BTreeSet<UserId>>,
    viewer: UserId,
}

impl Profiles {
    /// Checks what was shown of a user. A name ends with its number. Returns whether the numbers were checked, and whether
    /// the relation was.
    fn check(&self, shown: &ShownUser) -> Result<(bool, bool), String> {
        let ShownUser { id: user, name: shown, numbers: found, is_followed, version } = shown;
        if let Some((post, version)) = version
            && self.versions.get(post).is_some_and(|least| version < least)
        {
            return Err(format!("version {version} of {post} was shown after a newer one"));
        }
        if let (Some(followed), Some(is_followed)) = (&self.followed, is_followed)
            && followed.contains(user) != *is_followed
        {
            let (viewer, user) = (name(self.viewer), name(*user));
            return Err(format!("{viewer} was shown that they follow {user}: {is_followed}"));
        }
        let number = shown.rsplit(' ').next().and_then(|number| number.parse::<u64>().ok());
        if let Some(least) = self.names.get(user).filter(|least| number.unwrap_or(0) < **least) {
            let user = name(*user);
            return Err(format!("{user} was shown as {shown:?}, which is older than {least}"));
        }
        match (self.numbers.get(user), found) {
            (Some(numbers), Some(found)) if numbers != found => {
                Err(format!("{} was shown with {found:?}, not {numbers:?}", name(*user)))
            }
            (numbers, found) => Ok((
                numbers.is_some() && found.is_some(),
                self.followed.is_some() && is_followed.is_some(),
            )),
        }
    }
}

/// The items of a walk, and what it showed of their users.
pub(super) struct Shown<T> {
    pub items: RefCell<Vec<T>>,
    users: RefCell<Vec<ShownUser>>,
}

impl<T> Default for Shown<T> {
    fn default() -> Self {
        Self { items: RefCell::default(), users: RefCell::default() }
    }
}

/// The reason why a walk did not reach its end.
#[derive(Debug)]
pub enum WalkError {
    Refused(Problem),
    /// A page is not as it must be.
    Wrong(String),
}

impl From<Problem> for WalkError {
    fn from(problem: Problem) -> Self {
        Self::Refused(problem)
    }
}

/// A walk down a list of users that has not ended, the users that it must and must not show, and those that
/// it has shown. Users whose relation changes during the walk are in neither set.
pub struct ListWalk {
    owner: UserId,
    followers: bool,
    must: BTreeSet<UserId>,
    never: BTreeSet<UserId>,
    shown: Rc<Shown<UserId>>,
}

/// A walk down a feed that has not ended, the posts that it must and must not show, and those that it has
/// shown.
pub struct Walk {
    feed: FeedId,
    must: BTreeSet<PostId>,
    never: BTreeSet<PostId>,
    shown: Rc<Shown<PostId>>,
}

/// What the histories of feeds know.
pub struct Feeds {
    plan: Plan,
    walks: HashMap<usize, Walk>,
    lists: HashMap<usize, ListWalk>,
    /// Users whose numbers may have changed without a mark, until the message about it is handled.
    unmarked: BTreeSet<UserId>,
    /// What open looks and walks must show of users.
    profiles: HashMap<usize, Profiles>,
    published: BTreeSet<PostId>,
    deleted: BTreeSet<PostId>,
    /// Deletions that may be shown only when their message is handled.
    late_deletions: BTreeSet<PostId>,
    /// Workers that changed a relation at the same time as other workers, or that could not mark a card in time.
    overlapped: BTreeSet<usize>,
    /// The last acknowledged change of each pair. None: several changes overlapped, or one failed.
    related: BTreeMap<(UserId, UserId), Option<Relation>>,
    /// The number of each user's last acknowledged name. None: several changes overlapped, or one failed.
    renamed: BTreeMap<UserId, Option<u64>>,
    /// The version of the last acknowledged edit of each post.
    edited: BTreeMap<PostId, u64>,
    /// What handlers did.
    handled: Rc<RefCell<Counts>>,
    /// The worker that made the last call.
    last: usize,
    /// The rank of each worker, for `Order::Ranks`.
    ranks: HashMap<usize, u64>,
    /// The paused workers.
    paused: BTreeSet<usize>,
    /// Who had each handle at some time while a worker published or edited.
    owners: BTreeMap<usize, BTreeSet<(String, UserId)>>,
    /// The same, of edits that every reader sees from then on.
    seen_edits: BTreeMap<PostId, u64>,
    /// The versions that edits made.
    made: BTreeSet<(PostId, u64)>,
    /// Whom an earlier version of a post may mention.
    bound: BTreeMap<PostId, BTreeSet<(String, UserId)>>,
}

/// Who has each handle.
fn owners(cloud: &Cloud) -> BTreeSet<(String, UserId)> {
    let owner = |item: &Item| {
        let handle = item["pk"]["S"].as_str()?.strip_prefix("handle#")?.to_owned();
        Some((handle, item["user"]["S"].as_str()?.parse().ok()?))
    };
    cloud.items(USERS).filter_map(owner).collect()
}

/// The handles that a post mentions, each with its user.
fn mentions(post: &Post) -> Vec<(String, UserId)> {
    let mention = |entity: &Entity| match entity.means {
        Meaning::Mention(user) => {
            let handle = post.text.chars().skip(entity.start + 1);
            Some((handle.take(entity.end - entity.start - 1).collect(), user))
        }
        _ => None,
    };
    post.entities.0.iter().filter_map(mention).collect()
}

/// Plays a plan from this cloud on.
pub async fn play(apps: Apps, start: &Cloud, plan: Plan) -> Result<Counts, Failure> {
    fastrand::seed(plan.seed);
    let dice = Dice(plan.seed ^ 0x5eed);
    let kind = Feeds {
        plan,
        walks: HashMap::new(),
        lists: HashMap::new(),
        unmarked: BTreeSet::new(),
        profiles: HashMap::new(),
        published: BTreeSet::new(),
        deleted: BTreeSet::new(),
        late_deletions: BTreeSet::new(),
        overlapped: BTreeSet::new(),
        related: BTreeMap::new(),
        renamed: BTreeMap::new(),
        handled: Rc::default(),
        last: 0,
        ranks: HashMap::new(),
        paused: BTreeSet::new(),
        owners: BTreeMap::new(),
        seen_edits: BTreeMap::new(),
        made: BTreeSet::new(),
        bound: BTreeMap::new(),
        edited: BTreeMap::new(),
    };
    let mut history = History::new(apps, start, dice, kind);
    let played = history.play_plan().await;
    let checked = history.wrong.take().map_or(played, Err);
    let log = history.apps.steps.log();
    let handled = history.kind.handled.take();
    add(&mut history.counts, handled);
    checked.map(|()| history.counts).map_err(|reason| Failure { reason, log })
}

impl History<Feeds> {
    async fn play_plan(&mut self) -> Checked {
        self.count("histories", true);
        let plan = &self.kind.plan;
        self.set_faults([plan.cloud_fault_in, plan.valkey_fault_in], plan.seed);
        self.apps.valkey.set_push_faults(plan.push_faults, plan.seed ^ 2);
        for action in plan.actions.clone() {
            self.apps.steps.record(format!("{action}"));
            self.act(action).await;
            self.settle();
            if self.wrong.is_some() {
                return Ok(());
            }
        }
        self.apps.steps.record("faults and pauses end; all work finishes".to_owned());
        self.kind.paused.clear();
        self.set_faults([0, 0], 0);
        self.apps.valkey.set_full(false);
        self.apps.valkey.set_push_faults(PushFaults::default(), 0);
        self.rest().await;
        self.set_free();
        self.check_at_rest().await
    }

    async fn act(&mut self, action: Action) {
        match action {
            Action::Publish { author, key } => self.publish(author, key),
            Action::Delete { nth } => self.delete(nth),
            Action::Edit { nth } => self.edit(nth),
            Action::Versions { nth } => self.versions(nth),
            Action::Follow { follower, author } => {
                self.relate(follower, author, Relation::Following);
            }
            Action::Unfollow { follower, author } => {
                self.relate(follower, author, Relation::NotFollowing);
            }
            Action::Read { user, author_feed, limit } => self.walk(user, author_feed, limit),
            Action::ReadTag { nth, limit } => self.walk_tag(nth, limit),
            Action::List { user, followers, limit } => self.list(user, followers, limit),
            Action::Rename { user, shared } => self.rename(user, shared),
            Action::Look { user, handle } => self.look(user, handle),
            Action::Arrive { nth, again, hurry } => self.arrive_nth(nth, again, hurry),
            Action::Kill { nth } => self.kill_nth(nth),
            Action::Pause { nth, calls } => self.pause(nth, calls),
            Action::Rush => self.rush(),
            Action::Steps { count } => {
                for _ in 0..count {
                    self.one_call();
                }
            }
            Action::Wait { ms } => self.wait(Duration::from_millis(ms)).await,
            Action::Hours => self.hours().await,
            Action::Absence => {
                self.wait(Duration::from_secs(30)).await;
                self.sweep();
            }
            Action::Sweep => self.sweep(),
            Action::Audit => self.audit(),
            Action::Flush => self.apps.valkey.flush(),
            Action::ForgetScripts => self.apps.valkey.forget_scripts(),
            Action::Replicate => self.apps.valkey.replicate(),
            Action::FailOver => self.apps.valkey.fail_over(),
            Action::Evict => self.apps.valkey.evict(),
            Action::Full => self.apps.valkey.set_full(true),
            Action::Room => self.apps.valkey.set_full(false),
            Action::BeginMemory => self.begin_memory(),
            Action::LeaseEnds { user } => {
                self.apps.valkey.delete(&format!("lock:*{}", id(user)));
            }
        }
    }

    // ---- workers -----------------------------------------------------------------------------

    fn begin_named(
        &mut self,
        name: &str,
        subject: Subject,
        work: impl Future<Output = Done> + 'static,
    ) -> usize {
        self.apps.steps.record(format!("    #{} {name}", self.workers.len()));
        self.begin(subject, work)
    }

    fn publish(&mut self, author: Name, key: Option<u8>) {
        let (apps, now, identity) = (self.apps.clone(), self.now, identity(author));
        let key = key.map(|key| key.to_string());
        let mentioned = *self.dice.pick(&PEOPLE);
        // a request with a key is often repeated, unchanged
        let tags = if key.is_some() { " #x" } else { tags(self.workers.len()) };
        let text = match self.dice.one_in(3) && key.is_none() {
            true => format!("@{mentioned}, @{SHARED_HANDLE}: a post{tags}"),
            false => format!("a post{tags}"),
        };
        let published: Vec<PostId> = self.kind.published.iter().copied().collect();
        let is_reply = self.dice.one_in(3) && key.is_none() && !published.is_empty();
        let in_reply_to = is_reply.then(|| *self.dice.pick(&published));
        self.watch_handles();
        let work = async move {
            let publish = fanfold_kinds::posts::publish;
            let new = NewPost { in_reply_to, ..text.as_str().into() };
            let published = publish(&apps.app, &identity, new, key.as_deref(), now).await;
            let mentions = |post: &Post| match key {
                Some(_) => Vec::new(),
                None => mentions(post),
            };
            let published = published.map(|ShownPost { post, .. }| {
                assert!(key.is_some() || post.thread.answered() == in_reply_to, "{post:?}");
                (post.id, mentions(&post))
            });
            Done::Published(published.map_err(Problem::from))
        };
        self.begin_named(&format!("{author} publishes"), Subject::NewPost(id(author)), work);
    }

    /// Notes who has each handle, for the worker that begins next.
    fn watch_handles(&mut self) {
        let mut owners = owners(&self.apps.cloud.lock());
        // a change that nobody has acknowledged may come later
        let open = self.open();
        let changing = PEOPLE.iter().filter(|name| open.contains(&Subject::Profile(id(name))));
        owners.extend(
            changing.flat_map(|name| {
                [*name, SHARED_HANDLE].map(|handle| (handle.to_owned(), id(name)))
            }),
        );
        self.kind.owners.insert(self.workers.len(), owners);
    }

    fn delete(&mut self, nth: usize) {
        let truth = Truth::of(&self.apps.cloud.lock());
        let posts: Vec<PostId> = truth.posts.into_keys().collect();
        let Some(post) = posts.get(nth % posts.len().max(1)).copied() else { return };
        let (apps, now, author) = (self.apps.clone(), self.now, identity(name(post.author())));
        let work = async move {
            let delete = fanfold_kinds::posts::delete;
            let deleted = delete(&apps.app, &author, post, now).await;
            Done::Deleted(post, deleted.map_err(Problem::from))
        };
        self.begin_named(&format!("deletes {post}"), Subject::Post(post), work);
    }

    fn edit(&mut self, nth: usize) {
        let published: Vec<PostId> = self.kind.published.iter().copied().collect();
        if published.is_empty() {
            return;
        }
        let post = published[nth % published.len()];
        let (apps, now, author) = (self.apps.clone(), self.now, identity(name(post.author())));
        let number = self.workers.len();
        let handle = [SHARED_HANDLE, PEOPLE[number % PEOPLE.len()]][number % 2];
        let text = format!("edit {number} @{handle}{}", tags(number / 2));
        let newest = self.kind.edited.get(&post).copied().unwrap_or(1);
        let only = number.is_multiple_of(3).then_some(newest);
        self.watch_handles();
        let work = async move {
            let (edit, versions) = (fanfold_kinds::posts::edit, only.map(|only| [only]));
            let versions = versions.as_ref().map(|versions| &versions[..]);
            let edited = edit(&apps.app, &author, post, text.as_str(), versions, now).await;
            Done::Edited(post, only, edited.map(|shown| shown.post).map_err(Problem::from))
        };
        self.begin_named(&format!("edits {post}"), Subject::Edit(post), work);
    }

    fn versions(&mut self, nth: usize) {
        let published: Vec<PostId> = self.kind.published.iter().copied().collect();
        if published.is_empty() {
            return;
        }
        let post = published[nth % published.len()];
        let viewer = id(viewer_of(name(post.author())));
        let profiles = self.profiles(viewer);
        self.kind.profiles.insert(self.workers.len(), profiles);
        let (apps, now) = (self.apps.clone(), self.now);
        let work = async move {
            let (viewer, reading) = (Viewer::of(viewer), ReadContext::new(now));
            let read = fanfold_kinds::posts::history(&apps.app, &viewer, post, &reading).await;
            let numbers = read.map(|all| all.into_iter().map(|version| version.number).collect());
            Done::Versions(post, numbers.map_err(Problem::from))
        };
        self.begin_named(&format!("reads the versions of {post}"), Subject::Nothing, work);
    }

    fn relate(&mut self, follower: Name, author: Name, relation: Relation) {
        let (apps, now) = (self.apps.clone(), self.now);
        let work = async move {
            let relate = fanfold_kinds::follows::relate;
            let user = UserRef::Id(id(author));
            let done = relate(&apps.app, &identity(follower), &user, relation, now).await;
            Done::Related(id(follower), id(author), relation, done.map_err(Problem::from))
        };
        let pair = Subject::Pair(id(follower), id(author));
        let others = self.writers(pair);
        // a dead worker's transaction may still be open in DynamoDB
        let key = (format!("following#{}", id(follower)), id(author).to_string());
        let is_locked = self.apps.cloud.lock().is_locked(GRAPH, &key);
        let number = self.begin_named(&format!("{follower} {author}: {relation:?}"), pair, work);
        // the last answer need not belong to the last write
        if !others.is_empty() || is_locked {
            self.kind.related.insert((id(follower), id(author)), None);
            self.kind.overlapped.extend(others.into_iter().chain([number]));
        }
    }

    /// The workers that change this subject for a client.
    fn writers(&self, subject: Subject) -> Vec<usize> {
        let writes =
            |worker: &Worker<Feeds>| worker.handles().is_none() && worker.subject == subject;
        self.working().filter(|(_, worker)| writes(worker)).map(|(number, _)| number).collect()
    }

    fn rename(&mut self, user: Name, shared: bool) {
        let (apps, now, subject) = (self.apps.clone(), self.now, Subject::Profile(id(user)));
        let others = self.writers(subject);
        let key = (format!("user#{}", id(user)), String::new());
        let is_locked = self.apps.cloud.lock().is_locked(USERS, &key);
        let (name_number, handle) =
            (1 + self.workers.len() as u64, if shared { SHARED_HANDLE } else { user });
        let work = async move {
            let put = fanfold_kinds::people::put_profile;
            let name = format!("{user} {name_number}");
            let about = AboutChange::new(Some(&name), None, None).expect("a bio");
            let new = NewProfile { name: &name, about };
            let put = put(&apps.app, &identity(user), handle, new, now).await;
            Done::Renamed(id(user), name_number, put.map(drop).map_err(Problem::from))
        };
        let number = self.begin_named(&format!("{user} takes @{handle}"), subject, work);
        if !others.is_empty() || is_locked {
            self.kind.renamed.insert(id(user), None);
            self.kind.overlapped.extend(others.into_iter().chain([number]));
        }
    }

    fn look(&mut self, user: Name, handle: Option<&'static str>) {
        let (apps, now) = (self.apps.clone(), self.now);
        let wanted = match handle {
            None => UserRef::Id(id(user)),
            Some(handle) => UserRef::Handle(handle.parse().expect("a handle")),
        };
        let viewer = viewer_of(user);
        let profiles = self.profiles(id(viewer));
        self.kind.profiles.insert(self.workers.len(), profiles);
        let work = async move {
            let (viewer, reading) = (Viewer::of(id(viewer)), ReadContext::new(now));
            let shown =
                fanfold_kinds::present::profile(&apps.app, &viewer, &wanted, &reading).await;
            let shown = match shown.map_err(Problem::from) {
                Err(problem) if problem.kind == ProblemKind::NoSuchUser => Ok(None),
                shown => shown.map(Some),
            };
            Done::Looked(Look { user: wanted, shown })
        };
        self.begin_named(&format!("looks up {user} {handle:?}"), Subject::Nothing, work);
    }

    /// Whether a change that was acknowledged is seen by the next request although its event is not handled yet. A
    /// writer that cannot reach Valkey relies on the event.
    fn is_seen_at_once(&self) -> bool {
        self.kind.plan.valkey_fault_in == 0
    }

    /// The changes that workers make, or that messages announce.
    fn open(&self) -> Vec<Subject> {
        let mail = self.mail.iter().map(|(_, message)| subject(message));
        mail.chain(self.working().map(|(_, worker)| changed_by(worker))).collect()
    }

    /// What every reader must see of users from now on.
    fn profiles(&self, viewer: UserId) -> Profiles {
        let open = self.open();
        let acknowledged =
            self.kind.renamed.iter().filter_map(|(user, number)| Some((*user, (*number)?)));
        let names = acknowledged
            .filter(|(user, _)| self.is_seen_at_once() || !open.contains(&Subject::Profile(*user)));
        let numbers =
            PEOPLE.map(id).into_iter().filter_map(|user| Some((user, self.numbers(user)?)));
        let versions = self.kind.seen_edits.iter().map(|(post, version)| (*post, *version));
        let versions = versions
            .filter(|(post, _)| self.is_seen_at_once() || !open.contains(&Subject::Edit(*post)));
        let (names, numbers, versions) = (names.collect(), numbers.collect(), versions.collect());
        Profiles { names, versions, numbers, followed: self.followed(viewer), viewer }
    }

    /// The users whom a viewer follows. `None` while a writer may change this, or the message of a writer that died.
    fn followed(&self, viewer: UserId) -> Option<BTreeSet<UserId>> {
        self.numbers(viewer)?;
        let follows = Truth::of(&self.apps.cloud.lock()).follows.into_iter();
        Some(follows.filter(|(user, _)| *user == viewer).map(|(_, author)| author).collect())
    }

    /// The numbers that a reader of this user's profile must see. `None` while a writer may change them, or while the
    /// message of a writer that died may.
    fn numbers(&self, user: UserId) -> Option<Numbers> {
        let changes = |worker: &Worker<Feeds>| {
            worker.handles().is_none() && worker.subject.changes_numbers_of(user)
        };
        if self.working().any(|(_, worker)| changes(worker)) {
            return None;
        }
        let needs_messages = !self.is_seen_at_once() || self.kind.unmarked.contains(&user);
        if needs_messages && self.is_announced(user) {
            return None;
        }
        let truth = Truth::of(&self.apps.cloud.lock());
        let following = truth.follows.iter().filter(|(follower, _)| *follower == user).count();
        Some(Numbers { posts: truth.author(user).len() as u64, following: following as u64 })
    }

    /// Whether a message announces a change of this user's numbers.
    fn is_announced(&self, user: UserId) -> bool {
        let waiting = self.mail.iter().map(|(_, message)| message);
        let mut messages = waiting.chain(self.working().filter_map(|(_, worker)| worker.handles()));
        messages.any(|message| subject(message).changes_numbers_of(user))
    }

    /// Notes that a client's worker died or failed, so that it may have changed numbers without marking their card.
    fn note_unmarked(&mut self, worker: usize) {
        let subject = self.workers[worker].subject;
        let users = PEOPLE.map(id).into_iter();
        self.kind.unmarked.extend(users.filter(|user| subject.changes_numbers_of(*user)));
    }

    fn walk(&mut self, user: Name, author_feed: bool, limit: usize) {
        let feed = if author_feed { FeedId::author(id(user)) } else { FeedId::home(id(user)) };
        let kind = if author_feed { "author feed" } else { "home feed" };
        self.walk_feed(feed, &format!("the {kind} of {user}"), limit);
    }

    fn walk_tag(&mut self, nth: usize, limit: usize) {
        let feeds = self.shared_feeds();
        let feed = feeds[nth % feeds.len()];
        self.walk_feed(feed, &format!("{feed}"), limit);
    }

    /// The feeds that everybody reads.
    fn shared_feeds(&self) -> Vec<FeedId> {
        let public = self.apps.app.settings.public.is_on().then_some(FeedId::tag(TagHash::PUBLIC));
        TAGS.map(feed_of).into_iter().chain(public).collect()
    }

    fn walk_feed(&mut self, feed: FeedId, what: &str, limit: usize) {
        let (apps, now, shown) = (self.apps.clone(), self.now, Rc::default());
        let (must, never) = self.expected(feed);
        let (number, profiles) = (self.workers.len(), self.profiles(reader_of(feed)));
        self.kind.profiles.insert(number, profiles);
        self.kind.walks.insert(number, Walk { feed, must, never, shown: Rc::clone(&shown) });
        let work = async move { Done::Walked(walk(&apps, feed, limit, now, &shown).await) };
        self.begin_named(&format!("reads {what}"), Subject::Nothing, work);
    }

    fn list(&mut self, user: Name, followers: bool, limit: usize) {
        let (apps, owner, now, shown) = (self.apps.clone(), id(user), self.now, Rc::default());
        let (must, never) = self.expected_list(owner, followers);
        let (number, profiles) = (self.workers.len(), self.profiles(owner));
        self.kind.profiles.insert(number, profiles);
        let walk = ListWalk { owner, followers, must, never, shown: Rc::clone(&shown) };
        self.kind.lists.insert(number, walk);
        let work = async move {
            Done::Listed(walk_list(&apps, owner, followers, limit, now, &shown).await)
        };
        let list = if followers { "the followers of" } else { "the users followed by" };
        self.begin_named(&format!("lists {list} {user}"), Subject::Nothing, work);
    }

    fn arrive_nth(&mut self, nth: usize, again: bool, hurry: bool) {
        if self.mail.is_empty() {
            return;
        }
        let at = nth % self.mail.len();
        if let Message::Chunk(ChunkOrder::DeliverChunk(DeliverChunk {
            share: Some(share), ..
        })) = &self.mail[at].1
        {
            let partition = share.partition.0;
            let is_grown = partition >= self.kind.plan.partitions.first;
            self.count("partitions", partition > 0);
            self.count("grown", is_grown);
        }
        self.deliver(at, again, hurry, self.now);
    }

    fn sweep(&mut self) {
        let (apps, now) = (self.apps.clone(), self.now);
        // every feed counts as idle
        let mut app = apps.app.clone();
        app.settings.inactive_after = Duration::ZERO;
        let work =
            async move { Done::Maintained(fanfold_kinds::sweep::sweep(&app, now).await.map(drop)) };
        self.begin_named("sweeps", Subject::Nothing, work);
    }

    fn begin_memory(&mut self) {
        let (apps, now) = (self.apps.clone(), self.now);
        let work = async move {
            let order = fanfold_functions::admin::order::AdminOrder::BeginMemory;
            let execute = fanfold_functions::admin::execute;
            // an operator would repeat a failed order; here the begun part stays
            let _result = execute(&apps.admin, order, now, Deadline::NONE).await;
            Done::Maintained(Ok(()))
        };
        self.begin_named("begins a new memory", Subject::Nothing, work);
    }

    fn audit(&mut self) {
        let (apps, now) = (self.apps.clone(), self.now);
        let work = async move {
            let audit = fanfold_kinds::audit::audit;
            Done::Maintained(audit(&apps.app, now, Deadline::NONE).await.map(drop))
        };
        self.begin_named("audits", Subject::Nothing, work);
    }

    fn kill_nth(&mut self, nth: usize) {
        if !self.tasks.is_empty() {
            self.kill(nth % self.tasks.len());
        }
    }

    /// Forgets what a worker that has ended had to show.
    fn forget(&mut self, number: usize) {
        self.kind.walks.remove(&number);
        self.kind.lists.remove(&number);
        self.kind.profiles.remove(&number);
    }

    /// A client's worker gives up its mark of a card after [`CARD_MARK_WITHIN`], and answers as usual. The card is then
    /// marked when the message is handled.
    fn note_late_marks(&mut self) {
        let is_late = |worker: &Worker<Feeds>| {
            worker.handles().is_none() && self.now >= worker.began + CARD_MARK_WITHIN
        };
        let late = self.working().filter(|(_, worker)| is_late(worker));
        let late: Vec<(usize, Subject)> =
            late.map(|(number, worker)| (number, worker.subject)).collect();
        for (number, subject) in late {
            self.note_unmarked(number);
            match subject {
                Subject::Post(post) => _ = self.kind.late_deletions.insert(post),
                Subject::Edit(_) => _ = self.kind.overlapped.insert(number),
                Subject::Profile(user) => {
                    self.kind.renamed.insert(user, None);
                    self.kind.overlapped.insert(number);
                }
                _ => {}
            }
        }
    }

    async fn hours(&mut self) {
        while !self.tasks.is_empty() {
            self.kill(0);
        }
        self.apps.valkey.evict();
        self.wait(REL_KEPT + COMMIT_GRACE).await;
        // the next actions may run during the sweep, which deletes old relations, or without it
        if self.dice.one_in(2) {
            self.sweep();
        }
    }

    fn one_call(&mut self) {
        Feeds::grant(self);
        self.settle();
    }

    fn pause(&mut self, nth: usize, calls: usize) {
        let Some(newest) = self.tasks.len().checked_sub(1) else { return };
        let nth = if nth == NEWEST { newest } else { nth % self.tasks.len() };
        let number = self.tasks[nth].number;
        for _ in 0..calls {
            let waiting = self.apps.steps.waiting();
            let Some(at) = waiting.iter().position(|task| *task == number) else { break };
            self.apps.steps.grant(at);
            self.count("calls", true);
            self.settle();
        }
        self.kind.paused.insert(number);
    }

    /// Runs all workers that are not paused to their end, and handles all messages.
    fn rush(&mut self) {
        for _ in 0..300 {
            let waiting = self.apps.steps.waiting();
            if waiting.iter().any(|task| !self.kind.paused.contains(task)) {
                self.one_call();
            } else if !self.mail.is_empty() {
                let nth = self.dice.below(self.mail.len() as u64) as usize;
                self.arrive_nth(nth, false, false);
                self.settle();
            } else {
                return;
            }
        }
    }

    /// The position of the call to grant next. With random choice alone, one worker would almost never do
    /// all of its work between two calls of another, so there are other orders.
    fn choose(&mut self, waiting: &[usize]) -> usize {
        let any = self.dice.below(waiting.len() as u64) as usize;
        match self.kind.plan.order {
            Order::Random => any,
            Order::Bursts => {
                let same = waiting.iter().position(|task| *task == self.kind.last);
                let nth = same.filter(|_| !self.dice.one_in(8)).unwrap_or(any);
                self.kind.last = waiting[nth];
                nth
            }
            Order::Ranks => {
                for task in waiting {
                    let rank = self.dice.next();
                    self.kind.ranks.entry(*task).or_insert(rank);
                }
                let first = (0..waiting.len()).max_by_key(|nth| self.kind.ranks[&waiting[*nth]]);
                let nth = first.unwrap_or(any);
                if self.dice.one_in(12) {
                    self.kind.ranks.insert(waiting[nth], 0);
                }
                nth
            }
        }
    }

    /// Records and checks the result of a worker.
    fn take(&mut self, number: usize, done: Done) -> Checked {
        let calm = self.kind.plan.cloud_fault_in == 0;
        // other problems are correct answers: for example, the post of a repeated request was deleted
        let failed = |action: &str, problem: &Problem| match calm
            && problem.kind == ProblemKind::Unavailable
        {
            true => Err(format!("#{number} {action} failed: {problem:?}")),
            false => Ok(()),
        };
        match done {
            Done::Published(Ok((post, mentions))) => {
                self.kind.published.insert(post);
                let owners = self.kind.owners.remove(&number).unwrap_or_default();
                self.count("mentions", mentions.len() as u64);
                if let Some(wrong) = mentions.iter().find(|mention| !owners.contains(mention)) {
                    return Err(format!(
                        "{post} mentions {wrong:?}, and the owners were {owners:?}"
                    ));
                }
                self.kind.bound.entry(post).or_default().extend(mentions);
            }
            Done::Published(Err(problem)) => {
                self.note_unmarked(number);
                failed("publishing", &problem)?;
            }
            Done::Deleted(post, Ok(())) => {
                self.kind.deleted.insert(post);
            }
            Done::Deleted(_, Err(problem)) => {
                self.note_unmarked(number);
                failed("deleting", &problem)?;
            }
            Done::Edited(id, only, Ok(post)) => {
                if only.is_some_and(|only| post.version != only + 1) {
                    return Err(format!("{only:?} of {id} was edited, and is {}", post.version));
                }
                if !self.kind.made.insert((id, post.version)) {
                    return Err(format!("two edits made version {} of {id}", post.version));
                }
                let newest = self.kind.edited.entry(id).or_default();
                *newest = post.version.max(*newest);
                if !self.kind.overlapped.contains(&number) {
                    let seen = self.kind.seen_edits.entry(id).or_default();
                    *seen = post.version.max(*seen);
                }
                self.count("edits", true);
                self.edited(id, &mentions(&post))?;
                self.bind(number, id);
            }
            Done::Edited(id, _, Err(problem)) => {
                self.bind(number, id);
                failed("editing", &problem)?;
            }
            Done::Versions(post, Ok(numbers)) => {
                let newest = numbers.first().copied().unwrap_or(0);
                let profiles = self.kind.profiles.remove(&number);
                let least = profiles.and_then(|all| all.versions.get(&post).copied()).unwrap_or(1);
                if newest < least || numbers != (1..=newest).rev().collect::<Vec<_>>() {
                    return Err(format!("{post} has version {least}, and shows {numbers:?}"));
                }
                self.count("histories", true);
            }
            Done::Versions(_, Err(problem)) => failed("reading versions", &problem)?,
            Done::Related(reader, author, relation, Ok(())) => {
                let alone = !self.kind.overlapped.contains(&number);
                self.kind.related.insert((reader, author), alone.then_some(relation));
            }
            Done::Related(reader, author, _, Err(problem)) => {
                self.kind.related.insert((reader, author), None);
                self.note_unmarked(number);
                failed("changing a relation", &problem)?;
            }
            Done::Renamed(user, name, Ok(())) => {
                let alone = !self.kind.overlapped.contains(&number);
                self.kind.renamed.insert(user, alone.then_some(name));
            }
            Done::Renamed(user, _, Err(problem)) => {
                // a handle that is taken changes nothing
                if problem.kind != ProblemKind::HandleTaken
                    || self.kind.overlapped.contains(&number)
                {
                    self.kind.renamed.insert(user, None);
                }
                failed("changing a profile", &problem)?;
            }
            Done::Looked(look) => self.looked(number, &look)?,
            Done::Walked(walked) => self.walked(number, walked)?,
            Done::Listed(walked) => self.listed(number, walked)?,
            // without Valkey there is nothing to do, and the schedule repeats
            Done::Maintained(Err(error)) if calm && !error.is_valkey() => {
                return Err(format!("#{number} failed: {error:?}"));
            }
            Done::Maintained(_) => {}
        }
        Ok(())
    }

    // ---- checks of walks ---------------------------------------------------------------------

    /// The posts that a feed must show, and those that it must not show. Posts and relations that a worker
    /// or a message may still change are in neither set.
    fn expected(&self, feed: FeedId) -> (BTreeSet<PostId>, BTreeSet<PostId>) {
        let truth = Truth::of(&self.apps.cloud.lock());
        let open = self.open();
        let (mut must, mut never) = (BTreeSet::new(), BTreeSet::new());
        for (post, published) in &truth.posts {
            let author = post.author();
            let pair = Subject::Pair(feed.user(), author);
            // a tombstone has no tag, and its deletion may not be acknowledged yet
            let changes = [Subject::Tags(*post), Subject::Edit(*post), Subject::Post(*post)];
            let (belongs, settled) = match feed.kind {
                FeedKind::Home => (
                    truth.sees(feed.user(), author),
                    author == feed.user() || !open.contains(&pair),
                ),
                FeedKind::Author => (author == feed.user(), true),
                FeedKind::Tag | FeedKind::Public => (
                    truth.has_tag(*post, feed),
                    changes.iter().all(|change| !open.contains(change)),
                ),
            };
            if *published && belongs && settled && !open.contains(&Subject::Post(*post)) {
                must.insert(*post);
            }
            // Once the deletion is acknowledged, nobody sees the post. If its writer died or could not reach Valkey,
            // nobody sees it once the event is handled.
            let is_marked = self.is_seen_at_once() && !self.kind.late_deletions.contains(post);
            let is_shown_deleted = is_marked && self.kind.deleted.contains(post)
                || !open.contains(&Subject::Post(*post));
            if (!*published && is_shown_deleted) || (!belongs && settled) {
                never.insert(*post);
            }
        }
        (must, never)
    }

    /// Reduces the expectations of each open walk to those that also hold now: they must hold from the
    /// beginning of the walk to its end.
    fn update_walks(&mut self) {
        let walks: Vec<usize> = self.kind.walks.keys().copied().collect();
        for number in walks {
            let feed = self.kind.walks[&number].feed;
            let (must, never) = self.expected(feed);
            if let Some(walk) = self.kind.walks.get_mut(&number) {
                walk.must.retain(|post| must.contains(post));
                walk.never.retain(|post| never.contains(post));
            }
        }
        let mut unmarked = std::mem::take(&mut self.kind.unmarked);
        unmarked.retain(|user| self.is_announced(*user));
        self.kind.unmarked = unmarked;
        let mut profiles = std::mem::take(&mut self.kind.profiles);
        for open in profiles.values_mut() {
            open.numbers.retain(|user, numbers| self.numbers(*user) == Some(*numbers));
            let followed = open.followed.take();
            open.followed = followed.filter(|old| self.followed(open.viewer).as_ref() == Some(old));
        }
        self.kind.profiles = profiles;
        let lists: Vec<usize> = self.kind.lists.keys().copied().collect();
        for number in lists {
            let ListWalk { owner, followers, .. } = self.kind.lists[&number];
            let (must, never) = self.expected_list(owner, followers);
            if let Some(walk) = self.kind.lists.get_mut(&number) {
                walk.must.retain(|user| must.contains(user));
                walk.never.retain(|user| never.contains(user));
            }
        }
    }

    /// The users that a list must show, and those that it must not show.
    fn expected_list(
        &self,
        owner: UserId,
        followers: bool,
    ) -> (BTreeSet<UserId>, BTreeSet<UserId>) {
        let truth = Truth::of(&self.apps.cloud.lock());
        let open: Vec<Subject> = self.working().map(|(_, worker)| changed_by(worker)).collect();
        let (mut must, mut never) = (BTreeSet::new(), BTreeSet::new());
        for other in PEOPLE.map(id) {
            let (follower, author) = if followers { (other, owner) } else { (owner, other) };
            if open.contains(&Subject::Pair(follower, author)) {
                continue;
            }
            match truth.follows.contains(&(follower, author)) {
                true => must.insert(other),
                false => never.insert(other),
            };
        }
        (must, never)
    }

    /// Whether a walk reached its end. Fails if a page was wrong, or if the walk was refused without a reason.
    fn has_ended(
        &self,
        number: usize,
        what: &str,
        walked: Result<(), WalkError>,
    ) -> Result<bool, String> {
        match walked {
            Ok(()) => Ok(true),
            Err(WalkError::Wrong(reason)) => Err(format!("#{number}: {reason}")),
            // DynamoDB may be unavailable, and then no page can be shown
            Err(WalkError::Refused(_)) if self.kind.plan.cloud_fault_in > 0 => Ok(false),
            Err(WalkError::Refused(problem)) => {
                Err(format!("#{number} reading {what} failed: {problem:?}"))
            }
        }
    }

    /// Notes whom a version of a post may mention that an edit has written, or may have.
    fn bind(&mut self, number: usize, post: PostId) {
        let owners = self.kind.owners.remove(&number).unwrap_or_default();
        self.kind.bound.entry(post).or_default().extend(owners);
    }

    /// Checks the mentions of an edited post: of earlier versions, or of those who had the handles meanwhile.
    fn edited(&mut self, post: PostId, mentions: &[(String, UserId)]) -> Checked {
        self.count("edited mentions", mentions.len() as u64);
        let bound = self.kind.bound.entry(post).or_default();
        let owners = &self.kind.owners;
        let is_known = |mention| {
            bound.contains(mention) || owners.values().any(|owners| owners.contains(mention))
        };
        match mentions.iter().find(|mention| !is_known(mention)) {
            Some(wrong) => Err(format!("{post} mentions {wrong:?} after an edit")),
            None => Ok(()),
        }
    }

    /// Checks a look at a user.
    fn looked(&mut self, number: usize, look: &Look) -> Checked {
        let shown = match &look.shown {
            Ok(Some(shown)) => shown,
            Ok(None) => {
                return match look.user {
                    UserRef::Id(_) => Err(format!("#{number} looked up a user, who is missing")),
                    UserRef::Handle(_) => Ok(()),
                };
            }
            Err(problem)
                if self.kind.plan.cloud_fault_in == 0
                    && problem.kind == ProblemKind::Unavailable =>
            {
                return Err(format!("#{number} looking up a user failed: {problem:?}"));
            }
            Err(_) => return Ok(()),
        };
        if let UserRef::Handle(handle) = &look.user
            && shown.card.handle != *handle
        {
            return Err(format!("#{number} looked up @{handle} and saw @{}", shown.card.handle));
        }
        let SeenUser { card, is_followed, about } = shown;
        let numbers = Some(Numbers { posts: card.posts, following: card.following });
        let is_followed = Some(*is_followed);
        let (id, name) = (card.id, card.name.clone());
        let card = ShownUser { id, name, numbers, is_followed, version: None };
        // each change writes the name here, too
        let name = about.bio.clone();
        let about = ShownUser { id, name, numbers: None, is_followed: None, version: None };
        self.check_profiles(number, &[card, about])?;
        Ok(())
    }

    /// Checks what a look or a walk showed of users.
    fn check_profiles(&mut self, number: usize, shown: &[ShownUser]) -> Checked {
        let Some(profiles) = self.kind.profiles.remove(&number) else { return Ok(()) };
        for user in shown {
            let found = profiles.check(user).map_err(|reason| format!("#{number}: {reason}"))?;
            self.count("profiles", found.0);
            self.count("relations", found.1);
        }
        Ok(())
    }

    /// Checks a walk down a list of users that has ended.
    fn listed(&mut self, number: usize, walked: Result<(), WalkError>) -> Checked {
        self.count("reads", true);
        let Some(walk) = self.kind.lists.remove(&number) else { return Ok(()) };
        let shown = walk.shown.items.borrow();
        if !self.has_ended(number, "a list", walked)? {
            return Ok(());
        }
        self.check_profiles(number, &walk.shown.users.borrow())?;
        let distinct: BTreeSet<UserId> = shown.iter().copied().collect();
        let missed: Vec<&UserId> = walk.must.difference(&distinct).collect();
        let wrong: Vec<&UserId> = distinct.intersection(&walk.never).collect();
        let twice: Vec<&UserId> = walk
            .must
            .iter()
            .filter(|user| shown.iter().filter(|other| other == user).count() > 1)
            .collect();
        if !twice.is_empty() {
            return Err(format!("#{number}: the list shows users twice: {twice:?}"));
        }
        if !missed.is_empty() || !wrong.is_empty() {
            return Err(format!(
                "#{number}: the list lacks {missed:?}, and shows {wrong:?} wrongly"
            ));
        }
        Ok(())
    }

    /// Checks a walk down a feed that has ended.
    fn walked(&mut self, number: usize, walked: Result<(), WalkError>) -> Checked {
        self.count("reads", true);
        let Some(walk) = self.kind.walks.remove(&number) else { return Ok(()) };
        let shown = walk.shown.items.borrow();
        if !self.has_ended(number, "a feed", walked)? {
            return Ok(());
        }
        self.check_profiles(number, &walk.shown.users.borrow())?;
        if !shown.is_sorted_by(|a, b| a > b) {
            return Err(format!("#{number} saw posts out of order, or twice: {shown:?}"));
        }
        let missed: Vec<_> = walk.must.iter().filter(|post| !shown.contains(post)).collect();
        if !missed.is_empty() {
            return Err(format!("#{number} did not see {missed:?}, but {shown:?}"));
        }
        let wrong: Vec<_> = shown.iter().filter(|post| walk.never.contains(post)).collect();
        if !wrong.is_empty() {
            return Err(format!("#{number} saw {wrong:?}, which do not belong in the feed"));
        }
        Ok(())
    }

    // ---- rest --------------------------------------------------------------------------------

    async fn check_at_rest(&mut self) -> Checked {
        let truth = {
            let cloud = self.apps.cloud.lock();
            oracle::check_agreement(&cloud)?;
            oracle::check_receipts(&cloud, &self.kind.published)?;
            Truth::of(&cloud)
        };
        for post in &self.kind.published {
            if !truth.posts.contains_key(post) {
                return Err(format!("{post} was acknowledged, but is lost"));
            }
        }
        for post in &self.kind.deleted {
            if truth.posts.get(post) != Some(&false) {
                return Err(format!("{post} was deleted, but still exists"));
            }
        }
        for ((reader, author), relation) in &self.kind.related {
            let is = truth.follows.contains(&(*reader, *author));
            if relation.is_some_and(|relation| is != (relation == Relation::Following)) {
                let (reader, author) = (name(*reader), name(*author));
                return Err(format!("the relation of {reader} to {author} is not {relation:?}"));
            }
        }
        self.compare_cards().await?;
        threads::check_versions(&self.apps.cloud.lock(), &self.kind.edited)?;
        let threads = threads::check_rows(&self.apps.cloud.lock())?;
        let read = threads::check_contexts(&self.apps, &threads, self.now).await?;
        self.count("contexts", read);
        self.count("replies", threads.values().filter(|above| !above.is_empty()).count() as u64);
        let rows = oracle::check_tags(&self.apps.cloud.lock(), &self.shared_feeds())?;
        self.count("tagged", rows);
        self.apps.valkey.delete("lock:*"); // the leases of dead workers end
        let feeds = PEOPLE.iter().flat_map(|user| FeedId::own(id(user)));
        let feeds: Vec<FeedId> = feeds.chain(self.shared_feeds()).collect();
        // checks live feeds, then walks, then the live feeds that the walks left
        for round in 0..2 {
            for feed in &feeds {
                self.check_live(&truth, *feed, round == 1).await?;
            }
            if round == 1 {
                break;
            }
            for feed in &feeds {
                self.check_walk(&truth, *feed).await?;
            }
            oracle::check_merged(&self.apps, &TAGS, self.now).await?;
            for user in PEOPLE {
                for followers in [true, false] {
                    self.check_list(&truth, user, followers).await?;
                }
            }
            self.set_ordered();
            self.settle();
            self.rest().await;
            self.set_free();
        }
        self.compare_cards().await
    }

    async fn compare_cards(&mut self) -> Checked {
        let cards = check_cards(&self.apps, self.now).await?;
        self.count("cards", cards);
        Ok(())
    }

    /// Checks that a live feed in Valkey has exactly the expected posts, down to its floor.
    async fn check_live(&self, truth: &Truth, feed: FeedId, must_live: bool) -> Checked {
        let read = self.apps.app.valkey.peek(feed, 1_000).await;
        let mut expected = expected(truth, feed);
        // a feed of everybody without posts is not kept
        let must_live = must_live && !(feed.tag_of().is_some() && expected.is_empty());
        let CachedSlice { slice, pulled } = match read.map_err(|error| format!("{error:?}"))? {
            Read::Known(cached) => cached,
            _ if must_live => return Err(format!("{feed:?} was read, but is not live")),
            _ => return Ok(()),
        };
        expected.retain(|post| *post > slice.bound);
        let mut posts = slice.posts.clone();
        // a read removes the entries of deleted posts, so there may be some; not in feeds that everybody reads
        posts.retain(|post| feed.tag_of().is_some() || truth.posts.get(post) != Some(&false));
        // the feed may lack posts of pulled authors, to whom it has pointers
        expected.retain(|post| !pulled.contains(&post.author()) || posts.contains(post));
        match posts == expected {
            true => Ok(()),
            false => Err(format!(
                "the live {:?} feed of {} has {posts:?} above {}, not {expected:?}",
                feed.kind,
                name(feed.user()),
                slice.bound
            )),
        }
    }

    async fn check_list(&self, truth: &Truth, user: Name, followers: bool) -> Checked {
        let (owner, shown) = (id(user), Shown::default());
        let walked = walk_list(&self.apps, owner, followers, 1, self.now, &shown).await;
        walked.map_err(|error| format!("{error:?}"))?;
        let mut shown = shown.items.into_inner();
        shown.sort_unstable();
        let belongs = |other: &UserId| match followers {
            true => truth.follows.contains(&(*other, owner)),
            false => truth.follows.contains(&(owner, *other)),
        };
        let mut expected: Vec<UserId> = PEOPLE.map(id).into_iter().filter(belongs).collect();
        expected.sort_unstable();
        match shown == expected {
            true => Ok(()),
            false => {
                let list = if followers { "followers of" } else { "users followed by" };
                Err(format!("the {list} {user} are shown as {shown:?}, not {expected:?}"))
            }
        }
    }

    async fn check_walk(&self, truth: &Truth, feed: FeedId) -> Checked {
        let shown = Shown::default();
        let walked = walk(&self.apps, feed, 3, self.now, &shown).await;
        walked.map_err(|error| format!("{error:?}"))?;
        let (shown, expected) = (shown.items.into_inner(), expected(truth, feed));
        match shown == expected {
            true => Ok(()),
            false => Err(format!(
                "the {:?} feed of {} shows {shown:?}, not {expected:?}",
                feed.kind,
                name(feed.user())
            )),
        }
    }
}

impl Kind for Feeds {
    type Done = Done;
    type Subject = Subject;
    type Message = Message;
    const HANDLERS: usize = 3;
    const HURRIES: bool = false;
    const TIMEOUT: Duration = FUNCTION_TIMEOUT;

    fn receive(history: &mut History<Self>, queue: &str, body: &str, delay: Duration) {
        history.mail.push((history.now + delay, message(queue, body)));
    }

    fn handle(
        history: &History<Self>,
        message: Message,
        now: Time,
        deadline: Deadline,
    ) -> LocalBoxFuture<'static, Outcome<Message>> {
        let (apps, fanout) = (history.apps.clone(), history.kind.plan.fanout);
        let counts = history.kind.handled.clone();
        Box::pin(async move {
            let Message::Post(PostEvent::PostPublished(event)) = &message else {
                return handle_within(apps, message, now, deadline).await;
            };
            let mut app = apps.app.clone();
            app.settings.fanout = fanout;
            let dispatched =
                fanfold_kinds::fanout::dispatch::dispatch(&app, event, now, deadline).await;
            let is_divided = matches!(dispatched, Ok(Dispatched::Divided { parts: 2.. }));
            let is_pulled = matches!(dispatched, Ok(Dispatched::Pulled));
            for (what, is_so) in [("divided", is_divided), ("pulled", is_pulled)] {
                *counts.borrow_mut().entry(what).or_default() += u64::from(is_so);
            }
            dispatched.map(drop).into()
        })
    }

    fn note(history: &mut History<Self>, worker: usize, done: Done) {
        if let Err(reason) = history.take(worker, done) {
            history.fail_with(reason);
        }
        history.forget(worker);
    }

    fn settled(history: &mut History<Self>) {
        let now = owners(&history.apps.cloud.lock());
        history.kind.owners.values_mut().for_each(|owners| owners.extend(now.iter().cloned()));
        history.update_walks();
    }

    fn died(history: &mut History<Self>, worker: usize) {
        history.note_unmarked(worker);
        // the change may have been written
        match history.workers[worker].subject {
            Subject::Pair(reader, author) => {
                _ = history.kind.related.insert((reader, author), None)
            }
            Subject::Profile(user) => _ = history.kind.renamed.insert(user, None),
            Subject::Edit(post) => history.bind(worker, post),
            _ => {}
        }
        history.forget(worker);
    }

    fn passed(history: &mut History<Self>) {
        history.note_late_marks();
    }

    /// Grants a call of a worker that is not paused, chosen by the plan's order.
    fn grant(history: &mut History<Self>) -> bool {
        let waiting = history.apps.steps.waiting();
        let places: Vec<usize> =
            (0..waiting.len()).filter(|at| !history.kind.paused.contains(&waiting[*at])).collect();
        if places.is_empty() {
            return false;
        }
        let tasks: Vec<usize> = places.iter().map(|at| waiting[*at]).collect();
        let nth = places[history.choose(&tasks)];
        history.apps.steps.grant(nth);
        history.count("calls", true);
        true
    }
}

/// What a worker may change, for a client or by a message.
fn changed_by(worker: &Worker<Feeds>) -> Subject {
    worker.handles().map_or(worker.subject, subject)
}

/// Checks that every card equals its item, whether its name is in a queue or not. Returns the number of cards.
pub(super) async fn check_cards(apps: &Apps, now: Time) -> Result<u64, String> {
    let keys = apps.valkey.keys().into_iter();
    let ids: Vec<CardId> = keys.filter_map(|(key, _)| card_of(&key)).collect();
    let compared = fanfold_kinds::audit::compare_cards(&apps.app, &ids, now);
    let compared = compared.await.map_err(|e| format!("{e:?}"))?;
    match compared.differing.is_empty() {
        true => Ok(compared.cards),
        false => Err(format!("cards differ from their items: {:?}", compared.differing)),
    }
}

/// The card with this key. `None` for other keys.
fn card_of(key: &str) -> Option<CardId> {
    let (kind, name) = (KeyKind::of(key)?, key.split_once("}:")?.1);
    Some(match kind.card()?.form {
        Form::Post => CardId::post(name.parse().expect("a post id")),
        Form::One => CardId::of_user(kind, name.parse().expect("an id")),
        Form::Two if kind == KeyKind::BoardCard => CardId::board(name.parse().expect("a board")),
        Form::Two => {
            let (viewer, user) = name.split_once(':').expect("two ids");
            let [viewer, user] = [viewer, user].map(|id| id.parse().expect("an id"));
            CardId::relation(viewer, user)
        }
    })
}

/// The posts that belong in a feed, newest first.
pub(super) fn expected(truth: &Truth, feed: FeedId) -> Vec<PostId> {
    match feed.kind {
        FeedKind::Home => truth.home(feed.user()),
        FeedKind::Author => truth.author(feed.user()),
        FeedKind::Tag | FeedKind::Public => truth.tagged(feed),
    }
}

/// The tags of the histories.
pub(super) const TAGS: [&str; 2] = ["x", "y"];

/// The tags of the text that a worker writes.
fn tags(number: usize) -> &'static str {
    ["", " #x", "", " #y #X"][number % 4]
}

pub(super) fn feed_of(tag: &str) -> FeedId {
    FeedId::of_tag(&tag.parse().expect("a tag"))
}

/// Who reads a feed.
fn reader_of(feed: FeedId) -> UserId {
    match feed.kind {
        FeedKind::Home | FeedKind::Author => feed.user(),
        FeedKind::Tag | FeedKind::Public => id(PEOPLE[0]),
    }
}

/// Reads a feed page by page down to its end, as a client does, and adds its posts to `shown`. The author
/// feed of a user without a profile counts as empty.
pub(super) async fn walk(
    apps: &Apps,
    feed: FeedId,
    limit: usize,
    now: Time,
    shown: &Shown<PostId>,
) -> Result<(), WalkError> {
    let (app, user) = (&apps.app, UserRef::Id(feed.user()));
    let viewer = &Viewer::of(reader_of(feed));
    walk_pages(limit, shown, async |cursor| {
        let query = FeedQuery::page(limit, cursor);
        let page = match feed.kind {
            FeedKind::Home | FeedKind::Tag | FeedKind::Public => {
                fanfold_functions::timeline::read(app, viewer, feed, &query, now).await?
            }
            FeedKind::Author => {
                match fanfold_functions::timeline::author(app, viewer, &user, &query, now).await {
                    Err(problem) if problem.kind == ProblemKind::NoSuchUser => {
                        return Ok(Page::END);
                    }
                    page => page?,
                }
            }
        };
        let posts = page.items.into_iter().map(|post| {
            let id = post.author.id.parse().expect("an id");
            let version = Some((post.id.parse().expect("a post"), post.version));
            let user =
                ShownUser { id, name: post.author.name, numbers: None, is_followed: None, version };
            (post.id, user)
        });
        Ok(Page { items: posts.collect(), next_cursor: page.next_cursor })
    })
    .await
}

/// Reads the list of a user's followers, or of the users that the user follows, page by page down to its
/// end, and adds the users to `shown`. The list of a user without a profile counts as empty.
pub(super) async fn walk_list(
    apps: &Apps,
    owner: UserId,
    followers: bool,
    limit: usize,
    now: Time,
    shown: &Shown<UserId>,
) -> Result<(), WalkError> {
    let (app, user) = (&apps.app, UserRef::Id(owner));
    let viewer = &Viewer::of(owner);
    walk_pages(limit, shown, async |cursor| {
        let page = match followers {
            true => {
                let query = ListQuery::page(limit, cursor);
                fanfold_functions::users::followers(app, viewer, &user, &query, now).await
            }
            false => {
                let query = ListQuery::page(limit, cursor);
                fanfold_functions::users::following(app, viewer, &user, &query, now).await
            }
        };
        let page = match page {
            Err(problem) if problem.kind == ProblemKind::NoSuchUser => return Ok(Page::END),
            page => page?,
        };
        let users = page.items.into_iter().map(|user| {
            let numbers = Some(Numbers { posts: user.posts, following: user.following });
            let id = user.id.parse().expect("an id");
            let is_followed = Some(user.you_follow);
            (user.id, ShownUser { id, name: user.name, numbers, is_followed, version: None })
        });
        Ok(Page { items: users.collect(), next_cursor: page.next_cursor })
    })
    .await
}

/// A page of a feed or of a list of users.
struct Page {
    /// The id of each item, and what the page shows of its user.
    items: Vec<(String, ShownUser)>,
    next_cursor: Option<String>,
}

impl Page {
    /// A page without items, after which there is none.
    const END: Self = Self { items: Vec::new(), next_cursor: None };
}

/// Follows the cursors of pages to the end, and adds the ids to `shown`. All pages but the last must be
/// full.
async fn walk_pages<T: FromStr>(
    limit: usize,
    shown: &Shown<T>,
    fetch: impl AsyncFn(Option<String>) -> Result<Page, Problem>,
) -> Result<(), WalkError> {
    let mut cursor = None;
    for _ in 0..PAGES_MAX {
        let Page { items, next_cursor } = fetch(cursor).await?;
        if next_cursor.is_some() && items.len() != limit {
            let count = items.len();
            return Err(WalkError::Wrong(format!("a page of {count} items that is not the last")));
        }
        for (id, user) in items {
            shown.items.borrow_mut().push(id.parse().ok().expect("an id"));
            shown.users.borrow_mut().push(user);
        }
        cursor = next_cursor;
        if cursor.is_none() {
            return Ok(());
        }
    }
    Err(WalkError::Wrong("a walk without an end".to_owned()))
}

/// Decodes a message that was sent to a queue.
pub(super) fn message(queue: &str, body: &str) -> Message {
    let read = "a valid message";
    match queue {
        "post-events" | "bulk-events" => Message::Post(PostEvent::decode(body).expect(read)),
        "chunks" | "bulk-chunks" => Message::Chunk(ChunkOrder::decode(body).expect(read)),
        "change-events" => Message::Change(ChangeEvent::decode(body).expect(read)),
        "rebuilds" => Message::Rebuild(RebuildOrder::decode(body).expect(read)),
        other => panic!("{other} is not a queue"),
    }
}

/// The post or relation that a message may change.
fn subject(message: &Message) -> Subject {
    match message {
        Message::Post(PostEvent::PostPublished(event)) => Subject::Post(event.post),
        Message::Post(PostEvent::PostDeleted(event)) => Subject::Post(event.post),
        Message::Chunk(ChunkOrder::DeliverChunk(chunk)) => Subject::Post(chunk.post),
        Message::Chunk(ChunkOrder::UpdateTagFeeds(order)) => Subject::Tags(order.post),
        Message::Change(ChangeEvent::RelationChanged(event)) => {
            Subject::Pair(event.follower, event.author)
        }
        Message::Change(ChangeEvent::ProfileChanged(event)) => Subject::Profile(event.user),
        Message::Change(ChangeEvent::PostEdited(event)) => Subject::Edit(event.post),
        Message::Change(_) | Message::Rebuild(_) => Subject::Nothing,
    }
}

/// Handles a message of any queue.
pub(super) async fn handle(apps: &Apps, message: &Message, now: Time) -> Outcome<Message> {
    handled(apps, message, now, Deadline::NONE).await
}

/// The same, with the time that is left, as a worker of a history.
pub(super) async fn handle_within(
    apps: Rc<Apps>,
    message: Message,
    now: Time,
    deadline: Deadline,
) -> Outcome<Message> {
    handled(&apps, &message, now, deadline).await
}

async fn handled(
    apps: &Apps,
    message: &Message,
    now: Time,
    deadline: Deadline,
) -> Outcome<Message> {
    match message {
        Message::Post(event) => event.handle(&apps.app, now, deadline).await.into(),
        Message::Chunk(chunk) => {
            let mut done = deliver(&apps.app, vec![chunk.clone()], &[], now).await;
            done.pop().expect("an outcome for the chunk").map(Message::Chunk)
        }
        Message::Change(event) => event.handle(&apps.app, now, deadline).await.into(),
        Message::Rebuild(order) => order.handle(&apps.app, now, deadline).await.into(),
    }
}
