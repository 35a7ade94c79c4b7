//! Thousands of users act within two seconds, on tables with the limits of AWS. A transaction takes 15 ms,
//! any other call 5 ms. Transactions that write the same item at the same time are cancelled. An item or a
//! partition key takes at most 1,000 write units and 3,000 read units per second. The clock is simulated.

use std::cell::Cell;
use std::collections::VecDeque;
use std::time::Duration;

use aws_sdk_dynamodb::config::retry::RetryConfig;
use fanfold_core::fanout::{FirstPartitions, partition_of};
use fanfold_core::limits::BOARD_PARTS;
use fanfold_core::message::Received as _;
use fanfold_core::{BoardId, FeedId, PostId, Ranking, Relation, Scores, Time, UserId, UserRef};
use fanfold_engines::reading::ReadContext;
use fanfold_engines::recent::Recent;
use fanfold_engines::tally::Tallied;
use fanfold_engines::valkey::{PageOf, Ranked};
use fanfold_functions::timeline::feed::FeedQuery;
use fanfold_kinds::App;
use fanfold_kinds::boards::BoardRef;
use fanfold_kinds::boards::change::{ScoreChange, ScoreOutcome as Changed, What};
use fanfold_kinds::boards::events::continue_round;
use fanfold_kinds::boards::messages::RebuildBoard;
use fanfold_kinds::boards::round::BoardRound;
use fanfold_kinds::posts::NewPost;
use fanfold_kinds::present::Viewer;
use fanfold_kinds::rankings::{Shown, page};
use fanfold_kinds::subscriptions::ChangeEvent;
use fanfold_runtime::clock::{self, Deadline};
use fanfold_runtime::sqs::{Announced, Outcome};
use futures::future::join_all;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use tokio::time::{Instant, sleep};

use super::apps::{Apps, BOARDS, GRAPH, POSTS as POSTS_TABLE, START, USERS, id, identity};
use super::oracle::check_agreement;
use super::play::{Message, handle, message};
use super::server::Server;
use super::tasks::runtime;
use crate::harness::board_settings;

const PEOPLE: usize = 2_000;
const WITHIN: Duration = Duration::from_secs(2);
const POSTS: u64 = 10;
const TRANSACTION: Duration = Duration::from_millis(15);
const CALL: Duration = Duration::from_millis(5);
const STAR: &str = "star";

/// Invocations of a queue's function at the same time, and messages in one.
const WORKERS: usize = 10;
const BATCH: usize = 10;

/// A deployment with queues and a clock.
pub(super) struct Deployment {
    pub(super) apps: Apps,
    pub(super) began: Instant,
    /// Messages, each with the time from which a function may take it.
    waiting: std::cell::RefCell<VecDeque<(Instant, Message)>>,
    /// The number of functions that handle a batch.
    busy: Cell<usize>,
    /// The number of messages that were tried again.
    retried: Cell<u64>,
}

pub(super) fn fan(n: usize) -> String {
    format!("fan{n}")
}

fn author(n: usize) -> String {
    format!("author{n}")
}

impl Deployment {
    pub(super) fn new(server: &Server, settings: &[(&'static str, String)]) -> Self {
        Self::on(server, settings, false)
    }

    /// `is_cluster`: the functions use the server like a cluster.
    fn on(server: &Server, settings: &[(&'static str, String)], is_cluster: bool) -> Self {
        fastrand::seed(7);
        let defaults = [
            ("SMALL_FOLLOWERS", "2000".to_owned()),
            ("CHUNK_FOLLOWERS", "2000".to_owned()),
            ("BULK_FOLLOWERS", "50000".to_owned()),
        ];
        let settings: Vec<_> = defaults.into_iter().chain(settings.iter().cloned()).collect();
        // the retries of `aws::sdk_config`
        let retry = RetryConfig::standard().with_max_attempts(4);
        let mut apps = Apps::on(server, &settings, retry, is_cluster);
        apps.app.settings.page_followers = 5_000;
        apps.valkey.reset();
        apps.steps.set_free(true);
        Self {
            apps,
            began: Instant::now(),
            waiting: std::cell::RefCell::default(),
            busy: Cell::new(0),
            retried: Cell::new(0),
        }
    }

    pub(super) fn now(&self) -> Time {
        START + self.began.elapsed()
    }

    pub(super) async fn put_profiles(&self, names: impl Iterator<Item = String>) {
        for name in names {
            let put = self
                .apps
                .app
                .users
                .put_profile(
                    Announced::assumed(),
                    &identity(&name),
                    &name.parse().expect("a handle"),
                    &name,
                )
                .await;
            assert!(put.is_ok(), "{put:?}");
        }
    }

    /// From now on, calls take time, as on AWS. Drops the messages that were sent so far.
    pub(super) fn start_latency(&self) {
        let mut cloud = self.apps.cloud.lock();
        cloud.latency = (TRANSACTION, CALL);
        cloud.sent.clear();
    }

    /// Changes a relation. Returns the duration of the request.
    async fn relate(&self, follower: &str, author: &str, relation: Relation) -> Duration {
        let (start, user) = (Instant::now(), UserRef::Id(id(author)));
        let relate = fanfold_kinds::follows::relate;
        let done = relate(&self.apps.app, &identity(follower), &user, relation, self.now()).await;
        assert!(done.is_ok(), "{follower} {author} {relation:?}: {done:?}");
        start.elapsed()
    }

    /// The fan of this number changes a like, at a time of its own within a second. Returns the duration of the request.
    async fn like(&self, n: usize, post: PostId, liked: bool) -> Duration {
        sleep(Duration::from_secs(1) * n as u32 / PEOPLE as u32).await;
        let (start, likes, me) = (Instant::now(), &self.apps.app, identity(&fan(n)));
        let put = fanfold_kinds::marks::put(
            likes,
            &me,
            fanfold_kinds::marks::MarkKind::Like,
            post,
            liked,
            self.now(),
        );
        let changed = Box::pin(put).await;
        assert!(changed.is_ok(), "{n}, liked {liked}: {changed:?}");
        start.elapsed()
    }

    /// One of the fans answers a post, at a time of the second. Returns the duration.
    async fn answer(&self, n: usize, post: PostId) -> Duration {
        sleep(Duration::from_secs(1) * n as u32 / ANSWERS as u32).await;
        let (start, app, me) = (Instant::now(), &self.apps.app, identity(&fan(n)));
        let new = NewPost { in_reply_to: Some(post), .."an answer".into() };
        let publish = fanfold_kinds::posts::publish(app, &me, new, None, self.now());
        let published = Box::pin(publish).await;
        assert!(published.is_ok(), "{n}: {published:?}");
        start.elapsed()
    }

    async fn publish(&self, author: &str) -> PostId {
        let publish = fanfold_kinds::posts::publish;
        let post = publish(&self.apps.app, &identity(author), "text", None, self.now()).await;
        post.unwrap_or_else(|problem| panic!("{author} publishes: {problem:?}")).post.id
    }

    /// Every fan changes one relation, evenly distributed over the time. Returns the time until the last
    /// request was answered, and the mean duration of a request.
    async fn all_relate(
        &self,
        relation: Relation,
        author: impl Fn(usize) -> String,
    ) -> (Duration, Duration) {
        let start = Instant::now();
        let durations = join_all((0..PEOPLE).map(|n| {
            let (follower, author) = (fan(n), author(n));
            async move {
                sleep(WITHIN * n as u32 / PEOPLE as u32).await;
                self.relate(&follower, &author, relation).await
            }
        }));
        let total: Duration = durations.await.into_iter().sum();
        (start.elapsed(), total / PEOPLE as u32)
    }

    /// Runs the functions until no message is left and `more` says that no client sends one.
    async fn functions(&self, more: &Cell<bool>) {
        join_all((0..WORKERS).map(|_| self.function(more))).await;
    }

    async fn function(&self, more: &Cell<bool>) {
        loop {
            self.collect();
            let batch = self.take();
            if batch.is_empty() {
                if !more.get() && self.busy.get() == 0 && self.waiting.borrow().is_empty() {
                    return;
                }
                sleep(Duration::from_millis(10)).await;
                continue;
            }
            self.busy.set(self.busy.get() + 1);
            let left = join_all(batch.into_iter().map(|message| self.handle(message))).await;
            for message in left.into_iter().flatten() {
                self.retried.set(self.retried.get() + 1);
                let retry_at = Instant::now() + Duration::from_secs(1);
                self.waiting.borrow_mut().push_back((retry_at, message));
            }
            self.collect();
            self.busy.set(self.busy.get() - 1);
        }
    }

    /// Moves sent messages into the queue.
    fn collect(&self) {
        let sent = std::mem::take(&mut self.apps.cloud.lock().sent);
        for (queue, body) in sent {
            let message = message(&queue, &body);
            let is_count = matches!(
                message,
                Message::Change(
                    ChangeEvent::CountFollowers(_)
                        | ChangeEvent::CountLikes(_)
                        | ChangeEvent::CountReplies(_)
                )
            );
            let delay = if is_count { Duration::from_secs(1) } else { Duration::ZERO };
            self.waiting.borrow_mut().push_back((Instant::now() + delay, message));
        }
    }

    /// Takes a batch of messages that are due.
    fn take(&self) -> Vec<Message> {
        let (mut waiting, now) = (self.waiting.borrow_mut(), Instant::now());
        let (mut batch, mut later) = (Vec::new(), VecDeque::new());
        while let Some((at, message)) = waiting.pop_front() {
            match at <= now && batch.len() < BATCH {
                true => batch.push(message),
                false => later.push_back((at, message)),
            }
        }
        *waiting = later;
        batch
    }

    /// Handles a message. Returns the message, or the part of it, that must be tried again.
    pub(super) async fn handle(&self, message: Message) -> Option<Message> {
        let now = self.now();
        match handle(&self.apps, &message, now).await {
            Outcome::Done => None,
            Outcome::Failed(error) => {
                println!("retry: {error:?}");
                Some(message)
            }
            Outcome::Left { rest, .. } => Some(rest),
        }
    }

    async fn home(&self, reader: &str) -> Vec<String> {
        let (query, read) = (FeedQuery::page(20, None), fanfold_functions::timeline::read);
        let (viewer, feed) = (Viewer::of(id(reader)), FeedId::home(id(reader)));
        let page = read(&self.apps.app, &viewer, feed, &query, self.now()).await;
        page.expect("a page").items.into_iter().map(|post| post.id).collect()
    }

    /// Asserts that a live feed has these posts down to its floor. Does not count as a read of the feed.
    async fn assert_live(&self, reader: &str, posts: &[PostId]) {
        let cached = self.apps.app.valkey.peek(FeedId::home(id(reader)), 100).await;
        let slice = cached.expect("read").known().expect("a live feed").slice;
        let expected: Vec<PostId> =
            posts.iter().copied().filter(|post| *post > slice.bound).collect();
        assert!(
            !expected.is_empty() && slice.posts == expected,
            "{reader}: {slice:?}, not {posts:?}"
        );
    }

    /// Sets the counter in a profile, as if so many users followed and were counted.
    fn set_followers(&self, user: UserId, followers: u64) {
        let mut cloud = self.apps.cloud.lock();
        let pk = format!("user#{user}");
        let found = cloud.items(USERS).find(|item| item["pk"]["S"] == pk.as_str()).cloned();
        let mut profile = found.expect("a profile");
        profile.insert("followers".to_owned(), json!({"N": followers.to_string()}));
        cloud.put(USERS, profile);
    }

    /// The number of calls above a limit, by table and key.
    pub(super) fn refused(&self) -> Vec<(String, u64)> {
        let cloud = self.apps.cloud.lock();
        let refused = cloud.capacity.iter().flat_map(|capacity| &capacity.refused);
        refused.map(|(key, count)| (key.clone(), *count)).collect()
    }

    async fn followers(&self, name: &str) -> u64 {
        self.apps.app.users.profile(id(name)).await.expect("read").expect("a profile").followers
    }
}

/// 2,000 users follow one author, who publishes posts at the same time. Their requests take at most three
/// times as long as if each user followed a different author.
#[test]
fn a_crowd_follows_one_author_who_posts() {
    let server = Server::start();
    runtime().block_on(async {
        let apart = {
            let deployment = Deployment::new(&server, &[]);
            deployment.put_profiles((0..PEOPLE).flat_map(|n| [fan(n), author(n)])).await;
            deployment.start_latency();
            let more = Cell::new(true);
            let crowd = async {
                let times = deployment.all_relate(Relation::Following, author).await;
                more.set(false);
                times
            };
            let (times, ()) = futures::join!(crowd, deployment.functions(&more));
            check_agreement(&deployment.apps.cloud.lock()).expect("both directions and all counters agree");
            times
        };
        let deployment = Deployment::new(&server, &[]);
        deployment.put_profiles((0..PEOPLE).map(fan).chain([STAR.to_owned()])).await;
        let readers = [0, 1, 1_000, PEOPLE - 1];
        for n in readers {
            assert!(deployment.home(&fan(n)).await.is_empty());
        }
        deployment.start_latency();
        let more = Cell::new(true);
        let crowd = async {
            let posts = async {
                let mut posts = Vec::new();
                for _ in 0..POSTS {
                    posts.push(deployment.publish(STAR).await);
                    sleep(WITHIN / POSTS as u32 - Duration::from_millis(50)).await;
                }
                posts
            };
            let all = futures::join!(deployment.all_relate(Relation::Following, |_| STAR.into()), posts);
            more.set(false);
            all
        };
        let ((together, mut posts), ()) = futures::join!(crowd, deployment.functions(&more));
        println!(
            "2,000 follows of one author in {:?} ({:?} each), of 2,000 authors in {:?} ({:?} each); \
             calls above a limit: {:?}; retried messages: {}",
            together.0,
            together.1,
            apart.0,
            apart.1,
            deployment.refused(),
            deployment.retried.get()
        );
        assert!(together.0 <= apart.0 * 3, "one author: {together:?}, 2,000 authors: {apart:?}");
        assert!(together.1 <= apart.1 * 3, "one author: {together:?}, 2,000 authors: {apart:?}");
        assert_eq!(deployment.followers(STAR).await, PEOPLE as u64);
        check_agreement(&deployment.apps.cloud.lock()).expect("both directions and all counters agree");
        posts.sort_unstable_by(|a, b| b.cmp(a));
        for n in readers {
            // their feeds were live before, so their posts were pushed or backfilled
            deployment.assert_live(&fan(n), &posts).await;
            let shown = posts.iter().map(PostId::to_string).collect::<Vec<_>>();
            assert_eq!(deployment.home(&fan(n)).await, shown);
        }
        // a few messages arrive before their change is committed
        assert!(deployment.retried.get() <= PEOPLE as u64 / 100, "{} retried", deployment.retried.get());
        // all unfollow
        let more = Cell::new(true);
        let crowd = async {
            let times = deployment.all_relate(Relation::NotFollowing, |_| STAR.into()).await;
            more.set(false);
            times
        };
        let (unfollowing, ()) = futures::join!(crowd, deployment.functions(&more));
        assert!(unfollowing.0 <= apart.0 * 3 && unfollowing.1 <= apart.1 * 3, "one author: {unfollowing:?}, 2,000 authors: {apart:?}");
        assert_eq!(deployment.followers(STAR).await, 0);
        check_agreement(&deployment.apps.cloud.lock()).expect("both directions and all counters agree");
    });
}

#[test]
fn all_users_post_at_once() {
    let server = Server::start();
    runtime().block_on(async {
        let deployment = Deployment::new(&server, &[]);
        deployment.put_profiles((0..PEOPLE).map(fan)).await;
        deployment.start_latency();
        let more = Cell::new(true);
        let crowd = async {
            join_all((0..PEOPLE).map(|n| {
                let (deployment, author) = (&deployment, fan(n));
                async move {
                    sleep(Duration::from_millis(n as u64 % 100)).await;
                    deployment.publish(&author).await
                }
            }))
            .await;
            more.set(false);
        };
        futures::join!(crowd, deployment.functions(&more));
        check_agreement(&deployment.apps.cloud.lock()).expect("all counters agree");
        assert_eq!((deployment.refused(), deployment.retried.get()), (Vec::new(), 0));
    });
}

/// 7,000 readers a second read one post. Its author changes the name meanwhile, and then deletes the post.
#[test]
fn a_viral_post_is_read_from_its_card() {
    let server = Server::start();
    for is_cluster in [false, true] {
        read_a_viral_post(&server, is_cluster);
    }
}

fn read_a_viral_post(server: &Server, is_cluster: bool) {
    const READERS: u32 = 14_000;
    runtime().block_on(async {
        let deployment = Deployment::on(server, &[], is_cluster);
        deployment.put_profiles([STAR.to_owned()].into_iter()).await;
        let post = deployment.publish(STAR).await;
        let author = format!("{USERS} user#{}", id(STAR));
        deployment.start_latency();
        let (renamed, deleted) = (Cell::new(None), Cell::new(None));
        let more = Cell::new(true);
        let writer = async {
            for (at, name) in [(300, "one"), (600, "two"), (900, "three")] {
                sleep(Duration::from_millis(at) - deployment.began.elapsed()).await;
                let (handle, now) = (STAR, deployment.now());
                let put = fanfold_kinds::people::put_profile;
                let put = put(&deployment.apps.app, &identity(STAR), handle, name, now).await;
                assert!(put.is_ok(), "{put:?}");
                renamed.set(Some((Instant::now(), name)));
            }
            sleep(Duration::from_millis(1_500) - deployment.began.elapsed()).await;
            let delete = fanfold_kinds::posts::delete;
            let (posts, now) = (&deployment.apps.app, deployment.now());
            delete(posts, &identity(STAR), post, now).await.expect("deleted");
            deleted.set(Some(Instant::now()));
            more.set(false);
        };
        let readers = join_all((0..READERS).map(|n| {
            let (deployment, renamed, deleted) = (&deployment, &renamed, &deleted);
            async move {
                sleep(WITHIN * n / READERS).await;
                let (viewer, now) = (Viewer::of(UserId(n.into())), deployment.now());
                let (is_gone, name) = (deleted.get().is_some(), renamed.get());
                let posts = &deployment.apps.app;
                match fanfold_kinds::posts::read(posts, &viewer, post, now).await {
                    Ok(shown) => {
                        assert!(!is_gone, "a deleted post is shown");
                        let order = [STAR, "one", "two", "three"];
                        let place = |name: &str| order.iter().position(|other| *other == name);
                        let oldest = name.map_or(STAR, |(_, name)| name);
                        assert!(place(&shown.author.name) >= place(oldest), "an old name is shown");
                        true
                    }
                    Err(fanfold_kinds::Error::NoSuchPost(_)) => false,
                    Err(error) => panic!("a reader is refused: {error:?}"),
                }
            }
        }));
        let (shown, (), ()) = futures::join!(readers, writer, deployment.functions(&more));
        let shown = shown.into_iter().filter(|shown| *shown).count();
        assert!(shown > READERS as usize / 2 && shown < READERS as usize, "{shown} saw the post");
        let cloud = deployment.apps.cloud.lock();
        let read =
            |key: &str| cloud.capacity.as_ref().map_or(0.0, |capacity| capacity.read_units(key));
        let of_post = read(&format!("{POSTS_TABLE} {} {post}", id(STAR)));
        let of_author = read(&author);
        println!("{READERS} readers: {of_post} read units of the post, {of_author} of the author");
        assert!(of_post + of_author < 100.0, "most readers read the cards");
        drop(cloud);
        assert_eq!((deployment.refused(), deployment.retried.get()), (Vec::new(), 0));
    });
}

/// 3,000 followers of one author return in each of two seconds, to 300 environments of a function, while the author posts. Each
/// page has what was published before. No call is above a limit, and publications are not held up.
#[test]
fn a_crowd_returns_to_one_author_who_posts() {
    const READERS: u32 = 6_000;
    const ENVIRONMENTS: usize = 300;
    let server = Server::start();
    runtime().block_on(async {
        // the small feeds of simulations end within a page
        let deployment = Deployment::new(&server, &[("FEED_CAP", "120".to_owned())]);
        deployment.put_profiles([STAR.to_owned()].into_iter()).await;
        deployment.set_followers(id(STAR), 1_000_000);
        for reader in 0..READERS {
            let row = json!({
                "pk": {"S": format!("following#{}", UserId(reader.into()))}, "sk": {"S": id(STAR).to_string()},
                "v": {"N": "1"}, "relation": {"S": "following"}, "partition": {"N": "0"},
                "changed_at_ms": {"N": START.ms().to_string()},
            });
            deployment.apps.cloud.lock().put(GRAPH, row.as_object().expect("a row").clone());
        }
        let newest = Cell::new(deployment.publish(STAR).await);
        deployment.start_latency();
        let app = &deployment.apps.app;
        let environments: Vec<App> = (0..ENVIRONMENTS)
            .map(|_| App { hot: Recent::of(Duration::from_secs(600)), ..app.clone() })
            .collect();
        let readers = join_all((0..READERS).map(|n| {
            let (app, newest, deployment) =
                (&environments[n as usize % ENVIRONMENTS], &newest, &deployment);
            async move {
                sleep(WITHIN * n / READERS).await;
                let (known, reader) = (newest.get(), UserId(n.into()));
                let (query, now) = (FeedQuery::page(20, None), deployment.now());
                let (viewer, feed) = (Viewer::of(reader), FeedId::home(reader));
                let read = fanfold_functions::timeline::read;
                let page = read(app, &viewer, feed, &query, now).await.expect("a page");
                let first = page.items.first().map(|post| post.id.clone());
                assert!(first >= Some(known.to_string()), "{first:?}, not {known}");
            }
        }));
        let posts = async {
            let mut slowest = Duration::ZERO;
            for _ in 0..POSTS {
                let start = Instant::now();
                newest.set(deployment.publish(STAR).await);
                slowest = slowest.max(start.elapsed());
                sleep(WITHIN / POSTS as u32 - Duration::from_millis(50)).await;
            }
            slowest
        };
        let (_, slowest) = futures::join!(readers, posts);
        let capacity = deployment.apps.cloud.lock().capacity.clone().expect("limits");
        let of_author = capacity.read_units(&format!("{USERS} user#{}", id(STAR)));
        println!("{READERS} returns: {of_author} read units of the author, posts within {slowest:?}");
        assert!(of_author < 2.0 * ENVIRONMENTS as f64, "most returns read the live feed");
        assert!(slowest < Duration::from_millis(100), "a post took {slowest:?}");
        assert_eq!(deployment.refused(), Vec::new());
    });
}

/// 2,000 users like one post within a second, and later take the likes back within another. No call is above a limit, every
/// request succeeds, and a request takes at most three times as long as if each user liked a different post.
#[test]
fn a_crowd_likes_one_post() {
    let server = Server::start();
    runtime().block_on(async {
        let (apart, of_many_posts) = like_all(&server, PEOPLE).await;
        let (together, deployment) = like_all(&server, 1).await;
        for (doing, [apart, together]) in
            [("likes", [apart[0], together[0]]), ("likes taken back", [apart[1], together[1]])]
        {
            println!(
                "2,000 {doing}: of one post in {:?} ({:?} each), of 2,000 posts in {:?} ({:?} each)",
                together.0, together.1, apart.0, apart.1
            );
            assert!(together.0 <= apart.0 * 3, "one post: {together:?}, 2,000 posts: {apart:?}");
            assert!(together.1 <= apart.1 * 3, "one post: {together:?}, 2,000 posts: {apart:?}");
        }
        println!("messages that were tried again: {}", deployment.retried.get());
        assert_eq!(deployment.refused(), Vec::new());
        // a few messages arrive before their change is committed
        for deployment in [deployment, of_many_posts] {
            // the counts of so many posts of one author are above the limits of the author's partition keys, and are slower
            let retried = deployment.retried.get();
            assert!(retried <= PEOPLE as u64 / 50, "{retried} retried");
        }
    });
}

/// The time until the last request was answered, and the mean duration of a request.
type Times = (Duration, Duration);

/// Every fan likes one of some posts within a second, and when all numbers are right, takes the like back.
async fn like_all(server: &Server, posts: usize) -> ([Times; 2], Deployment) {
    let deployment = Deployment::new(server, &[("POSTS_PER_MINUTE", "0".to_owned())]);
    deployment.put_profiles((0..PEOPLE).map(fan).chain([STAR.to_owned()])).await;
    let mut all = Vec::new();
    for _ in 0..posts {
        all.push(deployment.publish(STAR).await);
        // 200 posts a second, which the profile of one author takes
        sleep(Duration::from_millis(5)).await;
    }
    deployment.start_latency();
    let mut times = [Times::default(); 2];
    for (liked, times) in [true, false].into_iter().zip(&mut times) {
        let (more, start) = (Cell::new(true), Instant::now());
        let crowd = async {
            let changes = (0..PEOPLE).map(|n| deployment.like(n, all[n % posts], liked));
            let total: Duration = join_all(changes).await.into_iter().sum();
            more.set(false);
            (start.elapsed(), total / PEOPLE as u32)
        };
        (*times, ()) = futures::join!(crowd, deployment.functions(&more));
        let likes = super::oracle::likes(&deployment.apps.cloud.lock()).expect("all numbers agree");
        assert_eq!(likes.len(), if liked { PEOPLE } else { 0 });
    }
    (times, deployment)
}

/// 1,000 users answer one post within a second: half of what its parts take. No call is above a limit, every request succeeds, and a request takes at most
/// twice as long as if each user answered a different post.
#[test]
fn a_crowd_answers_one_post() {
    let server = Server::start();
    runtime().block_on(async {
        // the counts of 2,000 posts of one author are above the limits of the author's partition keys
        let (apart, _) = answer_all(&server, ANSWERS).await;
        let (together, deployment) = answer_all(&server, 1).await;
        assert_eq!(deployment.refused(), Vec::new());
        println!(
            "{ANSWERS} replies: to one post in {:?} ({:?} each), each to another in {:?} ({:?} each)",
            together.0, together.1, apart.0, apart.1
        );
        assert!(together.0 <= apart.0 * 2, "one post: {together:?}, many posts: {apart:?}");
        assert!(together.1 <= apart.1 * 2, "one post: {together:?}, many posts: {apart:?}");
    });
}

/// 2,000 users publish two posts each within a second, and each post mentions one user, and a handle that nobody has: more than
/// an item takes. No call is above a limit.
#[test]
fn a_crowd_mentions_one_user() {
    let server = Server::start();
    runtime().block_on(async {
        let deployment = Deployment::new(&server, &[]);
        deployment.put_profiles((0..PEOPLE).map(fan).chain([STAR.to_owned()])).await;
        deployment.start_latency();
        let publish = async |n: usize| {
            sleep(Duration::from_secs(1) * n as u32 / (2 * PEOPLE) as u32).await;
            let (app, me) = (&deployment.apps.app, identity(&fan(n % PEOPLE)));
            let text = format!("@{STAR} and @nobody_at_all");
            let publish = fanfold_kinds::posts::publish;
            let shown = Box::pin(publish(app, &me, text.as_str(), None, deployment.now())).await;
            let entities = shown.unwrap_or_else(|problem| panic!("{n}: {problem:?}")).post.entities;
            assert_eq!(String::from(entities), format!("0-5@{}", id(STAR)));
        };
        join_all((0..2 * PEOPLE).map(publish)).await;
        assert_eq!(deployment.refused(), Vec::new());
    });
}

/// The users who answer.
const ANSWERS: usize = 1_000;

/// Each of them answers one of some posts within a second.
async fn answer_all(server: &Server, posts: usize) -> (Times, Deployment) {
    let deployment = Deployment::new(server, &[("POSTS_PER_MINUTE", "0".to_owned())]);
    deployment.put_profiles((0..ANSWERS).map(fan).chain([STAR.to_owned()])).await;
    let mut all = Vec::new();
    for _ in 0..posts {
        all.push(deployment.publish(STAR).await);
        // 200 posts a second, which the profile of one author takes
        sleep(Duration::from_millis(5)).await;
    }
    deployment.start_latency();
    let (more, start) = (Cell::new(true), Instant::now());
    let crowd = async {
        let answers = (0..ANSWERS).map(|n| deployment.answer(n, all[n % posts]));
        let total: Duration = join_all(answers).await.into_iter().sum();
        more.set(false);
        (start.elapsed(), total / ANSWERS as u32)
    };
    let (times, ()) = futures::join!(crowd, deployment.functions(&more));
    let threads = super::threads::check_rows(&deployment.apps.cloud.lock()).expect("exact");
    assert_eq!(threads.values().filter(|above| !above.is_empty()).count(), ANSWERS);
    (times, deployment)
}

/// A board that everybody may change.
async fn open_board(deployment: &Deployment) -> BoardRef {
    let settings = board_settings(json!({"kept_days": 1, "open": true}));
    let board = BoardRef { owner: id(STAR), name: "b".parse().expect("a name"), day: None };
    let (boards, star) = (&deployment.apps.app, identity(STAR));
    let put = fanfold_kinds::boards::settings::put;
    put(boards, &star, &board.name, settings, deployment.now()).await.expect("a board");
    board
}

/// A user changes a member of the board.
async fn score(deployment: &Deployment, user: &str, board: &BoardRef, member: &str, what: What) {
    let change = ScoreChange { member: member.parse().expect("a name"), what };
    let (boards, me) = (&deployment.apps.app, identity(user));
    let changed = fanfold_kinds::boards::change::change;
    let done = changed(boards, &me, board, &[change], None, deployment.now()).await;
    let done = done.unwrap_or_else(|error| panic!("{user} {member}: {error:?}"));
    assert!(matches!(done.outcomes[0].1, Changed::Placed { .. }), "{user} {member}: {done:?}");
}

/// 2,000 users set a score of one board within a second, and ten of them add to one member at the same time.
#[test]
fn a_crowd_changes_one_board() {
    let server = Server::start();
    runtime().block_on(async {
        let deployment = Deployment::new(&server, &[]);
        deployment.put_profiles((0..PEOPLE).map(fan).chain([STAR.to_owned()])).await;
        let board = open_board(&deployment).await;
        deployment.start_latency();
        let (more, start) = (Cell::new(true), Instant::now());
        let scores = |score| Scores::new(&[score]).expect("a score");
        let crowd = async {
            let sets = (0..PEOPLE).map(|n| {
                let (deployment, board, what) = (&deployment, &board, What::Set(scores(n as i64)));
                async move {
                    sleep(Duration::from_secs(1) * n as u32 / PEOPLE as u32).await;
                    score(deployment, &fan(n), board, &fan(n), what).await;
                }
            });
            join_all(sets).await;
            let set_in = start.elapsed();
            let additions = (0..10).map(|n| {
                let (deployment, board, what) = (&deployment, &board, What::Add(scores(1)));
                async move {
                    for _ in 0..10 {
                        score(deployment, &fan(n), board, "one", what).await;
                    }
                }
            });
            join_all(additions).await;
            println!(
                "2,000 scores set in {set_in:?}, 100 additions in {:?}",
                start.elapsed() - set_in
            );
            more.set(false);
            set_in
        };
        let (set_in, ()) = futures::join!(crowd, deployment.functions(&more));
        assert!(set_in < Duration::from_secs(3), "{set_in:?}");
        assert_eq!(deployment.refused(), Vec::new());
        let page = fanfold_kinds::boards::read::page;
        let first = PageOf::Rank { from: 1, limit: 1 };
        let shown = page(&deployment.apps.app, &board, first, deployment.now()).await;
        assert_eq!(shown.expect("a page").page.members, PEOPLE as u64 + 1);
        let one = PageOf::Between { scores: (100, 100), skip: 0, limit: 9 };
        let shown = page(&deployment.apps.app, &board, one, deployment.now()).await;
        let rows = shown.expect("a page").page.rows;
        let names: Vec<&str> = rows.iter().map(|row| row.member.as_str()).collect();
        assert_eq!(names, ["fan100", "one"]);
    });
}

/// DynamoDB is so slow that a copy takes minutes, and a page of rows seconds. No invocation begins a page that it might not
/// end: a function that is stopped would repeat the same pages in vain.
#[test]
fn a_copy_that_takes_minutes_is_divided() {
    const CALL: Duration = Duration::from_secs(8);
    let server = Server::start();
    runtime().block_on(async {
        let deployment = Deployment::new(&server, &[]);
        deployment.put_profiles([STAR.to_owned()].into_iter()).await;
        let board = open_board(&deployment).await;
        for n in 0..100 {
            let what = What::Set(Scores::new(&[n]).expect("a score"));
            score(&deployment, STAR, &board, &fan(n as usize), what).await;
        }
        let copies = &deployment.apps.app;
        let stored = copies.boards.board(BoardId::of(board.owner, &board.name)).await;
        let target = stored.expect("asked").expect("a board");
        let target = BoardRound::new(target.clone(), target.settings.round(START), START);
        copies.valkey.drop_board(&target.copy()).await.expect("dropped");
        {
            let mut cloud = deployment.apps.cloud.lock();
            // the first part has two pages
            let long = (0_u64..).map(|n| format!("{n:0>128}"));
            let first = long.filter(|name| Sha256::digest(name)[0].is_multiple_of(BOARD_PARTS));
            for name in first.take(6_000) {
                let row = json!({
                    "pk": {"S": format!("scores#{}#0", target.rows().id)}, "sk": {"S": name},
                    "v": {"N": "1"}, "revision": {"N": "1"}, "s0": {"N": "1"},
                });
                cloud.put(BOARDS, serde_json::from_value(row).expect("an item"));
            }
            (cloud.latency, cloud.keeps_delays) = ((CALL, CALL), false);
            cloud.sent.clear();
        }
        let (mut next, mut invocations) = (Some(target.order("lease")), 0);
        while let Some(order) = next {
            // less than twice the time of a page is left after the first one
            let deadline = Deadline::at(clock::now() + 3 * CALL / 2);
            let copied = continue_round(copies, &order, deployment.now(), deadline).await;
            copied.expect("copied in part");
            invocations += 1;
            let sent = std::mem::take(&mut deployment.apps.cloud.lock().sent);
            next = sent.first().map(|(_, body)| RebuildBoard::decode(body).expect("an order"));
        }
        assert_eq!(invocations, BOARD_PARTS + 1, "one page in each invocation");
        let first = PageOf::Rank { from: 1, limit: 1 };
        let shown = copies.valkey.board_page(&target.copy(), first).await.expect("asked");
        let Some(Ranked::Page(shown)) = shown.ready() else { panic!("no page") };
        assert_eq!(shown.members, 6_100);
    });
}

/// 2,000 users read a ranking within a second in which a new snapshot begins. The rows are read once for each snapshot.
#[test]
fn a_crowd_reads_a_ranking() {
    let server = Server::start();
    runtime().block_on(async {
        let deployment = Deployment::new(&server, &[("POSTS_PER_MINUTE", "0".to_owned())]);
        deployment.put_profiles([STAR.to_owned()].into_iter()).await;
        let (posts, boards) = (&deployment.apps.app.posts, &deployment.apps.app.boards);
        let mut all = Vec::new();
        for likes in 1..=30 {
            all.push(deployment.publish(STAR).await);
            let count = Tallied { number: likes, changes: likes };
            let put = posts.put_likes(boards, all[all.len() - 1], count, deployment.now()).await;
            put.expect("counted");
            sleep(Duration::from_millis(50)).await;
        }
        all.reverse();
        // half a second before the next snapshot
        let every = deployment.apps.app.settings.ranking_every.as_millis() as u64;
        let rest = every - deployment.now().ms() % every;
        sleep(Duration::from_millis((rest + every - 500) % every)).await;
        deployment.start_latency();
        let before = deployment.apps.cloud.lock().units.reads;
        let viewer = Viewer::of(id(STAR));
        let read = async || {
            let (rankings, reading) = (&deployment.apps.app, ReadContext::new(deployment.now()));
            let page = page(rankings, &viewer, Ranking::PostsDay, None, 20, &reading).await;
            page.unwrap_or_else(|error| panic!("a reader is refused: {error:?}"))
        };
        let readers = (0..PEOPLE).map(|n| {
            let read = &read;
            async move {
                sleep(Duration::from_secs(1) * n as u32 / PEOPLE as u32).await;
                let started = Instant::now();
                (read().await, started.elapsed())
            }
        });
        let shown = join_all(readers).await;
        let slowest = shown.iter().map(|(_, took)| *took).max();
        let mut snapshots: Vec<Time> = shown.iter().map(|(page, _)| page.at).collect();
        snapshots.sort_unstable();
        snapshots.dedup();
        let read = deployment.apps.cloud.lock().units.reads - before;
        println!("{PEOPLE} readers: {read} read units, the slowest took {slowest:?}");
        for (page, _) in &shown {
            let ids = page.entries.iter().map(|entry| match &entry.shown {
                Shown::Post(shown) => shown.post.id,
                other => panic!("{other:?}"),
            });
            assert_eq!(ids.collect::<Vec<_>>(), all[..20]);
        }
        assert_eq!(snapshots.len(), 2);
        // 32 queries for each snapshot, and the cards
        assert!(read < 150.0, "{read} read units");
        assert_eq!(deployment.refused(), Vec::new());
    });
}

/// An author has 100,000 followers in 64 partitions, and 40 of them read. Ten posts reach all of them.
#[test]
fn a_large_audience_in_many_partitions_has_every_post() {
    const FOLLOWERS: u64 = 100_000;
    const PARTITIONS: u16 = 64;
    let server = Server::start();
    runtime().block_on(async {
        let deployment =
            Deployment::new(&server, &[("FOLLOWER_PARTITIONS", PARTITIONS.to_string())]);
        deployment.put_profiles((0..40).map(fan).chain([STAR.to_owned()])).await;
        for n in 0..40 {
            deployment.relate(&fan(n), STAR, Relation::Following).await;
        }
        let more = Cell::new(false);
        deployment.functions(&more).await;
        let star = id(STAR);
        for n in 0..FOLLOWERS - 40 {
            let user = UserId((n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let partition = partition_of(user, PARTITIONS, FirstPartitions(PARTITIONS));
            let row = json!({
                "pk": {"S": format!("followers#{star}#{partition}")},
                "sk": {"S": format!("{:04x}{user}", user.bucket(2).0)}, "v": {"N": "1"},
            });
            deployment.apps.cloud.lock().put(GRAPH, row.as_object().expect("an item").clone());
        }
        deployment.set_followers(star, FOLLOWERS);
        for n in 0..40 {
            assert!(deployment.home(&fan(n)).await.is_empty());
        }
        deployment.start_latency();
        let more = Cell::new(true);
        let posts = async {
            let mut posts = Vec::new();
            for _ in 0..POSTS {
                posts.push(deployment.publish(STAR).await);
                sleep(Duration::from_millis(100)).await;
            }
            more.set(false);
            posts
        };
        let (mut posts, ()) = futures::join!(posts, deployment.functions(&more));
        posts.sort_unstable_by(|a, b| b.cmp(a));
        for post in &posts {
            let receipt = deployment.apps.app.receipts.receipt(*post).await.expect("a receipt");
            let reached = receipt.reached;
            assert!(receipt.completed_at.is_some(), "{post}: {receipt:?}");
            assert_eq!((reached.delivered, reached.not_live), (40, FOLLOWERS - 40), "{receipt:?}");
        }
        for n in 0..40 {
            deployment.assert_live(&fan(n), &posts).await;
        }
        println!(
            "{POSTS} posts to {FOLLOWERS} followers in {:?}; calls above a limit: {:?}",
            deployment.began.elapsed(),
            deployment.refused()
        );
        assert_eq!(deployment.retried.get(), 0);
    });
}
