//! What ElastiCache takes: the length of a call, commands, scripts that are not known, throttling.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use fanfold_core::limits::{
    FEED_CAP_MAX, PULLED_AUTHORS_MAX, REL_KEPT_MS, SWEEP_BATCH, VALKEY_ARGUMENTS_MAX,
    VALKEY_THROTTLED_TRIES_MAX, trim_to,
};
use fanfold_core::{Change, PostId, Relation, Slice, UserId};
use fanfold_store::config::FeedSettings;
use fanfold_store::valkey::{
    Address, Answers, Backfill, Begun, Chosen, Feed, Link, Push, Read, Related, Valkey,
};
use redis::aio::{ConnectionLike as _, MultiplexedConnection};
use redis::{Cmd, RedisFuture, Value};

use crate::harness::valkeys::Node;

/// A server that counts the arguments of each command, refuses too many as Serverless does, and throttles
/// the next few commands.
struct Strict {
    connection: MultiplexedConnection,
    commands: Mutex<Vec<(String, usize)>>,
    throttled: AtomicUsize,
}

impl Answers for Strict {
    fn answer<'a>(&'a self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(async move {
            let words: Vec<_> = command.args_iter().collect();
            let Some(redis::Arg::Simple(name)) = words.first() else { panic!("no name") };
            let name = String::from_utf8_lossy(name).into_owned();
            assert!(words.len() <= VALKEY_ARGUMENTS_MAX, "{name} has {} arguments", words.len());
            self.commands.lock().unwrap().push((name, words.len()));
            let throttle = |left: usize| left.checked_sub(1);
            let order = Ordering::SeqCst;
            if self.throttled.fetch_update(order, order, throttle).is_ok() {
                let error = "-ERR Request throttled: the limit of ECPUs is reached\r\n";
                return redis::parse_redis_value(error.as_bytes())?.extract_error();
            }
            self.connection.clone().req_packed_command(command).await
        })
    }
}

impl Strict {
    async fn start(node: &Node, cap: usize) -> (Arc<Self>, Valkey) {
        let client = redis::Client::open(node.url()).unwrap();
        let connection = client.get_multiplexed_async_connection().await.unwrap();
        let (commands, throttled) = (Mutex::default(), AtomicUsize::new(0));
        let strict = Arc::new(Self { connection, commands, throttled });
        let settings = FeedSettings {
            redis: Address::parse(&node.url()).unwrap(),
            iam: None,
            authority: None,
            buckets: 1,
            cap,
            inactive_after_s: 100,
        };
        (strict.clone(), Valkey::over(Link::given(strict), &settings))
    }

    fn take(&self) -> Vec<(String, usize)> {
        std::mem::take(&mut self.commands.lock().unwrap())
    }
}

/// The longest calls that settings allow: as many entries as a feed may hold, each by another author, and
/// as many pulled authors as there may be.
#[tokio::test]
async fn the_largest_feed_and_the_most_authors_fit_every_call() {
    let node = Node::start(&[]);
    let (strict, valkey) = Strict::start(&node, FEED_CAP_MAX).await;
    let now = 1_800_000_000_000;
    let reader = UserId(7);
    let feed = Feed::home(reader);
    let count = trim_to(FEED_CAP_MAX);
    let posts: Vec<PostId> =
        (0..count as u64).map(|n| PostId::new(now - n, 1, UserId(1_000 + n))).collect();
    let pulled: Vec<UserId> = (0..PULLED_AUTHORS_MAX as u64).map(|n| UserId(900_000 + n)).collect();
    let slice = Slice::above_floor(posts.clone(), count + 1, 5);
    assert_eq!(valkey.begin(feed, "token", now).await.unwrap(), Begun::Begun);
    assert!(valkey.commit(feed, "token", &slice, &pulled).await.unwrap());
    let Read::Known(held) = valkey.read(feed, PostId::MAX, 5_000, now).await.unwrap() else {
        panic!("the feed is not live");
    };
    assert_eq!(held.slice.posts, posts);
    assert_eq!(held.pulled.len(), pulled.len());
    // a new follower of an author with that many posts
    let author = UserId(5);
    let theirs = (0..count as u64).map(|n| PostId::new(now - n, 2, author)).collect();
    let backfill = Backfill { slice: Slice::above_floor(theirs, count + 1, 5), pulled: true };
    let change = Change { relation: Relation::Following, at_ms: now };
    let memory = valkey.memory(reader).await.unwrap();
    let related = valkey.relate(reader, author, change, Some(backfill), &memory).await.unwrap();
    assert_eq!(related, Related::Done(count as u64));
    // ten posts with ten thousand followers each, and a thousand posts with one
    let pushes = |posts: u64, followers: u64| -> Vec<Push> {
        let feeds = (0..followers).map(|n| Feed::home(UserId(n))).collect::<Vec<_>>();
        let push = |n| Push {
            post: PostId::new(now + n, 3, UserId(n)),
            feeds: feeds.clone(),
            chosen: Chosen::AtMs(now + 60_000),
            pointer: true,
        };
        (0..posts).map(push).collect()
    };
    for (posts, followers) in [(10, 10_000), (1_000, 1)] {
        for pushed in valkey.push_all(&pushes(posts, followers)).await {
            let pushed = pushed.unwrap();
            assert_eq!(pushed.delivered + pushed.not_live, followers);
        }
    }
    // everything of a bucket that the sweep takes at once
    for n in 0..SWEEP_BATCH as u64 + 5 {
        let user = UserId(50_000 + n);
        valkey.begin(Feed::home(user), "token", now).await.unwrap();
        valkey.relate(user, UserId(n), change, None, &memory).await.unwrap();
    }
    assert_eq!(valkey.expire(0, now, 10_000).await.unwrap(), SWEEP_BATCH as u64);
    assert_eq!(valkey.forget(0, now, 10_000).await.unwrap(), SWEEP_BATCH as u64);
    valkey.remove(feed, &posts).await.unwrap();
    let longest = strict.take().into_iter().map(|(_, words)| words).max().unwrap();
    assert!(longest > 1_000, "only {longest} arguments: nothing large was called");
}

#[tokio::test]
async fn a_script_that_a_server_does_not_know_is_sent_as_text() {
    let node = Node::start(&[]);
    let (strict, valkey) = Strict::start(&node, 10).await;
    let names = |strict: &Strict| -> Vec<String> {
        strict.take().into_iter().map(|(name, _)| name).collect()
    };
    let read = async || valkey.peek(Feed::home(UserId(1)), 1).await.unwrap();
    assert_eq!(read().await, Read::Unknown);
    assert_eq!(names(&strict), ["EVALSHA", "EVAL"]);
    assert_eq!(read().await, Read::Unknown);
    assert_eq!(names(&strict), ["EVALSHA"]);
    node.cli(&["SCRIPT", "FLUSH"]);
    assert_eq!(read().await, Read::Unknown);
    assert_eq!(names(&strict), ["EVALSHA", "EVAL"]);
}

#[tokio::test]
async fn a_command_that_is_throttled_is_sent_again_for_a_moment() {
    let node = Node::start(&[]);
    let (strict, valkey) = Strict::start(&node, 10).await;
    let tries = VALKEY_THROTTLED_TRIES_MAX as usize;
    strict.throttled.store(tries, Ordering::SeqCst);
    assert_eq!(valkey.due(0, 1).await.unwrap(), 0);
    assert_eq!(strict.take().len(), tries + 1);
    // and then the message goes back to its queue
    strict.throttled.store(tries + 1, Ordering::SeqCst);
    let error = valkey.due(0, 1).await.expect_err("throttled");
    assert!(error.is_valkey() && strict.take().len() == tries + 1, "{error:?}");
}

/// The names of commands in a text: what stands in quotes after one of these words.
fn commands(text: &str, after: &[&str]) -> BTreeSet<String> {
    let calls = after.iter().flat_map(|word| text.split(word).skip(1));
    let quoted = calls.filter_map(|rest| rest.get(1..)?.split(['\'', '"']).next());
    let is_name = |name: &&str| name.len() > 2 && name.chars().all(|c| c.is_ascii_uppercase());
    quoted.filter(is_name).map(str::to_owned).collect()
}

/// From the lists of AWS: what no ElastiCache takes, and what Serverless does not take either.
const RESTRICTED: &[&str] = &[
    "ACL",
    "BGREWRITEAOF",
    "BGSAVE",
    "CONFIG",
    "DEBUG",
    "FAILOVER",
    "MIGRATE",
    "PSYNC",
    "REPLICAOF",
    "SAVE",
    "SHUTDOWN",
    "SLAVEOF",
    "SYNC",
    "CLIENT",
    "COMMANDLOG",
    "FCALL",
    "FUNCTION",
    "LATENCY",
    "MEMORY",
    "MODULE",
    "MONITOR",
    "OBJECT",
    "REPLCONF",
    "ROLE",
    "SCRIPT",
    "SELECT",
    "SLOWLOG",
    "SWAPDB",
    "TIME",
    "WAIT",
    "WAITAOF",
    "FLUSHALL",
    "FLUSHDB",
    "KEYS",
    "SCAN",
    "RANDOMKEY",
    "SORT",
];

#[test]
fn no_restricted_command_is_used_and_the_check_for_operators_tries_every_one_that_is() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/store/src/valkey");
    let (mut scripts, mut tried, mut sent) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for entry in std::fs::read_dir(format!("{folder}/lua")).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        match path.file_name().unwrap() == "try.lua" {
            true => tried.extend(commands(&text, &["\ntry("])),
            false => scripts.extend(commands(&text, &["redis.call(", "redis.pcall(", " call("])),
        }
    }
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            sent.extend(commands(&text, &["redis::cmd(", ".command(", "call("]));
        }
    }
    assert!(scripts.len() > 12 && sent.contains("EVALSHA") && sent.contains("ZRANDMEMBER"));
    let used: BTreeSet<String> = scripts.union(&sent).cloned().collect();
    let restricted: Vec<_> =
        used.iter().filter(|name| RESTRICTED.contains(&name.as_str())).collect();
    assert!(restricted.is_empty(), "{restricted:?}");
    // INFO has a check of its own; the others are the way to call a script and to log in
    let apart = ["INFO", "EVAL", "EVALSHA", "AUTH"].map(str::to_owned);
    let missing: Vec<_> = used.difference(&tried).filter(|name| !apart.contains(name)).collect();
    assert!(missing.is_empty(), "try.lua does not try {missing:?}");
}

/// Nothing that a rule relies on has a time to live: a full server evicts such keys first.
#[tokio::test]
async fn only_locks_have_a_time_to_live_and_the_sweep_forgets_relations() {
    let node = Node::start(&[]);
    let url = node.url();
    let world = crate::harness::world::World::with(&[("REDIS_URL", &url), ("BUCKETS", "2")]).await;
    crate::cluster::people(&world).await;
    world.unfollow("fir", "ash").await;
    world.unfollow("elm", "birch").await;
    world.drain().await;
    world
        .timeline
        .feeds
        .valkey
        .begin(Feed::home(UserId(1)), "a rebuild", world.now())
        .await
        .unwrap();
    let keys = |pattern: &str| -> Vec<String> {
        node.cli(&["KEYS", pattern])
            .lines()
            .map(str::to_owned)
            .filter(|key| !key.is_empty())
            .collect()
    };
    for key in keys("*") {
        let lives = node.cli(&["PTTL", &key]).trim() != "-1";
        assert_eq!(lives, key.starts_with("lock:"), "{key}");
    }
    let relations = keys("rel:*").len() as u64;
    assert!(relations >= 2 && !keys("lock:*").is_empty());
    let sweep = async || fanfold_sweep::handler::sweep(&world.sweep, world.now()).await.unwrap();
    world.advance(REL_KEPT_MS - 60_000);
    assert_eq!(sweep().await.forgotten, 0, "messages may still rely on them");
    // one that changes meanwhile stays
    world.follow("fir", "ash").await;
    world.drain().await;
    world.advance(70_000);
    let forgotten = sweep().await.forgotten;
    assert!(forgotten >= 1 && forgotten < relations, "{forgotten} of {relations}");
    world.advance(REL_KEPT_MS);
    assert_eq!(sweep().await.forgotten + forgotten, relations);
    assert_eq!((keys("rel:*").len(), keys("rels:*").len()), (0, 0));
}

/// A user without a password is logged in as, too: else a connection would be the default user's.
#[tokio::test]
async fn the_url_s_user_is_the_one_that_is_logged_in() {
    for scheme in ["redis", "redis-cluster"] {
        let node = Node::of_scheme(scheme);
        node.cli(&["ACL", "SETUSER", "feeds", "on", "nopass", "~live:*", "+@all"]);
        let url = format!("{scheme}://feeds@127.0.0.1:{}", node.port);
        let config = fanfold_store::Config::from_pairs([("REDIS_URL", url)]);
        let sdk = fanfold_store::aws::SdkConfig::builder().build();
        let valkey = Valkey::new(&sdk, &config.feeds().unwrap()).unwrap();
        assert_eq!(valkey.due(0, 1).await.unwrap(), 0);
        let refused = valkey.memory(UserId(1)).await.expect_err("another kind of key");
        assert!(
            fanfold_store::log::Chain(&refused).to_string().contains("No permissions"),
            "{refused:?}"
        );
        let clients = node.cli(&["CLIENT", "LIST"]);
        assert!(clients.contains("user=feeds"), "{clients}");
    }
}
