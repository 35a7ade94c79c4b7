//! The limits of ElastiCache: the length of a call, restricted commands, unknown scripts, throttling.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fanfold_core::limits::{
    DROP_PAGE, FEED_CAP_MAX, PAGE_ITEMS_MAX, PULLED_AUTHORS_MAX, REL_KEPT, SWEEP_BATCH,
    VALKEY_ARGUMENTS_MAX, VALKEY_THROTTLED_TRIES_MAX, trim_to,
};
use fanfold_core::{Bucket, FeedId, PostId, Relation, RelationChange, Slice, Time, UserId};
use fanfold_engines::valkey::{
    Address, Answers, Backfill, CardId, CardRead, Chosen, FeedSettings, Fill, Link, Push, Read,
    RebuildStart, RelationApplied, Valkey,
};
use fanfold_kinds::sweep;
use fanfold_runtime::Config;
use fanfold_runtime::aws::SdkConfig;
use fanfold_runtime::log::Chain;
use redis::aio::{ConnectionLike as _, MultiplexedConnection};
use redis::{Cmd, RedisFuture, Value};

use crate::cluster::people;
use crate::harness::root;
use crate::harness::valkeys::Node;
use crate::harness::world::World;

/// A server that counts the arguments of each command, fails on too many of them, and throttles the next few
/// commands.
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
            card_memory: 1,
            redis: Address::parse(&node.url()).unwrap(),
            iam: None,
            authority: None,
            buckets: 1,
            cap,
            inactive_after: Duration::from_secs(100),
        };
        (strict.clone(), Valkey::over(Link::given(strict), &settings))
    }

    fn take(&self) -> Vec<(String, usize)> {
        std::mem::take(&mut self.commands.lock().unwrap())
    }
}

/// The longest calls that the settings allow: the most entries of a feed, each by another author, and the most
/// pulled authors.
#[tokio::test]
async fn every_call_fits_the_largest_feed_and_the_most_authors() {
    let node = Node::start(&[]);
    let (strict, valkey) = Strict::start(&node, FEED_CAP_MAX).await;
    let now = Time::from_ms(1_800_000_000_000);
    let reader = UserId(7);
    let feed = FeedId::home(reader);
    let count = trim_to(FEED_CAP_MAX);
    let posts: Vec<PostId> = (0..count as u64)
        .map(|n| PostId::new(now - Duration::from_millis(n), 1, UserId(1_000 + n)))
        .collect();
    let pulled: Vec<UserId> = (0..PULLED_AUTHORS_MAX as u64).map(|n| UserId(900_000 + n)).collect();
    let slice = Slice::above_floor(posts.clone(), count + 1, Time::from_ms(5));
    assert_eq!(valkey.begin(feed, "token", now).await.unwrap(), RebuildStart::Begun);
    assert!(valkey.commit(feed, "token", &slice, &pulled).await.unwrap());
    let Read::Known(held) = valkey.read(feed, PostId::MAX, 5_000, now).await.unwrap() else {
        panic!("the feed is not live");
    };
    assert_eq!(held.slice.posts, posts);
    assert_eq!(held.pulled.len(), pulled.len());
    // a new follower of an author with that many posts
    let author = UserId(5);
    let theirs =
        (0..count as u64).map(|n| PostId::new(now - Duration::from_millis(n), 2, author)).collect();
    let backfill =
        Backfill { slice: Slice::above_floor(theirs, count + 1, Time::from_ms(5)), pulled: true };
    let change = RelationChange { relation: Relation::Following, at: now };
    let memory = valkey.memory(reader).await.unwrap();
    let related = valkey.relate(reader, author, change, Some(backfill), &memory).await.unwrap();
    assert_eq!(related, RelationApplied::Done(count as u64));
    // ten posts with ten thousand followers each, and a thousand posts with one
    let pushes = |posts: u64, followers: u64| -> Vec<Push> {
        let feeds = (0..followers).map(|n| FeedId::home(UserId(n))).collect::<Vec<_>>();
        let push = |n| Push {
            post: PostId::new(now + Duration::from_millis(n), 3, UserId(n)),
            feeds: feeds.clone(),
            chosen: Chosen::At(now + Duration::from_secs(60)),
            pointer: true,
        };
        (0..posts).map(push).collect()
    };
    for (posts, followers) in [(10, 10_000), (1_000, 1)] {
        for pushed in valkey.push_all(&pushes(posts, followers)).await {
            assert!(pushed.failed.is_none(), "{pushed:?}");
            assert_eq!(pushed.delivered + pushed.not_live, followers);
        }
    }
    // the most feeds and relations of a bucket that one sweep drops
    for n in 0..SWEEP_BATCH as u64 + 5 {
        let user = UserId(50_000 + n);
        valkey.begin(FeedId::home(user), "token", now).await.unwrap();
        valkey.relate(user, UserId(n), change, None, &memory).await.unwrap();
    }
    assert_eq!(valkey.expire(Bucket(0), now, 10_000).await.unwrap(), SWEEP_BATCH as u64);
    assert_eq!(valkey.forget(Bucket(0), now, 10_000).await.unwrap(), SWEEP_BATCH as u64);
    valkey.remove(feed, &posts).await.unwrap();
    // the cards of the largest page, and of the most followers that a dropped user loses at once
    let page: Vec<CardId> = (0..PAGE_ITEMS_MAX as u64)
        .map(|n| PostId::new(now, 1, UserId(n)))
        .flat_map(|post| [CardId::post(post), CardId::user(post.author())])
        .collect();
    let mut fills = Vec::new();
    for (ids, read) in valkey.read_cards(&page, "token", now).await {
        assert!(read.unwrap().iter().all(|read| *read == CardRead::Leased));
        let text = Some(vec![b'x'; 500]);
        let fill = |id| Fill { id, text: text.clone(), kept: REL_KEPT, counts: true };
        fills.extend(ids.into_iter().map(fill));
    }
    assert_eq!(fills.len(), 2 * PAGE_ITEMS_MAX);
    valkey.fill_cards(&fills, "token", now).await.unwrap();
    for (_, read) in valkey.read_cards(&page, "", now).await {
        assert!(read.unwrap().iter().all(|read| matches!(read, CardRead::Known(_))));
    }
    let followers = (0..DROP_PAGE as u64).map(UserId);
    let followers = followers.flat_map(|user| [CardId::user(user), CardId::relation(user, author)]);
    let followers: Vec<CardId> = followers.collect();
    valkey.cards_changed(&followers).await.unwrap();
    valkey.forget_cards(&followers).await.unwrap();
    let longest = strict.take().into_iter().map(|(_, words)| words).max().unwrap();
    assert!(longest > 1_000, "only {longest} arguments: no large call was made");
}

#[tokio::test]
async fn a_script_that_the_server_lacks_is_sent_as_text() {
    let node = Node::start(&[]);
    let (strict, valkey) = Strict::start(&node, 10).await;
    let names = |strict: &Strict| -> Vec<String> {
        strict.take().into_iter().map(|(name, _)| name).collect()
    };
    let read = async || valkey.peek(FeedId::home(UserId(1)), 1).await.unwrap();
    assert_eq!(read().await, Read::Unknown);
    assert_eq!(names(&strict), ["EVALSHA", "EVAL"]);
    assert_eq!(read().await, Read::Unknown);
    assert_eq!(names(&strict), ["EVALSHA"]);
    node.cli(&["SCRIPT", "FLUSH"]);
    assert_eq!(read().await, Read::Unknown);
    assert_eq!(names(&strict), ["EVALSHA", "EVAL"]);
}

#[tokio::test]
async fn a_throttled_command_is_retried_briefly() {
    let node = Node::start(&[]);
    let (strict, valkey) = Strict::start(&node, 10).await;
    let tries = VALKEY_THROTTLED_TRIES_MAX as usize;
    strict.throttled.store(tries, Ordering::SeqCst);
    assert_eq!(valkey.due(Bucket(0), Time::from_ms(1)).await.unwrap(), 0);
    assert_eq!(strict.take().len(), tries + 1);
    // after the last retry, the call fails and the message returns to its queue
    strict.throttled.store(tries + 1, Ordering::SeqCst);
    let error = valkey.due(Bucket(0), Time::from_ms(1)).await.expect_err("throttled");
    assert!(error.is_valkey() && strict.take().len() == tries + 1, "{error:?}");
}

/// The names of commands in a text: the quoted names that follow one of these words.
fn commands(text: &str, after: &[&str]) -> BTreeSet<String> {
    let calls = after.iter().flat_map(|word| text.split(word).skip(1));
    let quoted = calls.filter_map(|rest| rest.get(1..)?.split(['\'', '"']).next());
    let is_name = |name: &&str| name.len() > 2 && name.chars().all(|c| c.is_ascii_uppercase());
    quoted.filter(is_name).map(str::to_owned).collect()
}

/// Commands that AWS lists as restricted in ElastiCache, and further ones that are restricted in Serverless.
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
fn no_restricted_command_is_used_and_the_doctor_tries_every_used_command() {
    let folder = root().join("shared/engines/src/valkey");
    let (mut scripts, mut tried, mut sent) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for entry in std::fs::read_dir(folder.join("lua")).unwrap() {
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
    // INFO has its own check; the others call a script or log in
    let apart = ["INFO", "EVAL", "EVALSHA", "AUTH"].map(str::to_owned);
    let missing: Vec<_> = used.difference(&tried).filter(|name| !apart.contains(name)).collect();
    assert!(missing.is_empty(), "try.lua does not try {missing:?}");
}

/// Keys that a rule relies on have no time to live, because a full server evicts keys with one first.
#[tokio::test]
async fn only_locks_have_a_time_to_live_and_the_sweep_drops_relations() {
    let node = Node::start(&[]);
    let url = node.url();
    let world = World::with(&[("REDIS_URL", &url), ("BUCKETS", "2")]).await;
    people(&world).await;
    world.unfollow("fir", "ash").await;
    world.unfollow("elm", "birch").await;
    world.drain().await;
    world.app.valkey.begin(FeedId::home(UserId(1)), "a rebuild", world.now()).await.unwrap();
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
    let sweep = async || sweep::sweep(&world.app, world.now()).await.unwrap();
    world.advance(REL_KEPT - Duration::from_secs(60));
    assert_eq!(sweep().await.forgotten, 0, "a relation is dropped while messages rely on it");
    // a relation that changes meanwhile stays
    world.follow("fir", "ash").await;
    world.drain().await;
    world.advance(Duration::from_secs(70));
    let forgotten = sweep().await.forgotten;
    assert!(forgotten >= 1 && forgotten < relations, "{forgotten} of {relations}");
    world.advance(REL_KEPT);
    assert_eq!(sweep().await.forgotten + forgotten, relations);
    assert_eq!((keys("rel:*").len(), keys("rels:*").len()), (0, 0));
}

/// A URL with a user and without a password logs in as that user, not as the default user.
#[tokio::test]
async fn the_user_of_the_url_logs_in_without_a_password() {
    for scheme in ["redis", "redis-cluster"] {
        let node = Node::of_scheme(scheme);
        node.cli(&["ACL", "SETUSER", "feeds", "on", "nopass", "~live:*", "+@all"]);
        let url = format!("{scheme}://feeds@127.0.0.1:{}", node.port);
        let config = Config::from_pairs([("REDIS_URL", url)]);
        let sdk = SdkConfig::builder().build();
        let valkey = Valkey::new(&sdk, &config).unwrap();
        assert_eq!(valkey.due(Bucket(0), Time::from_ms(1)).await.unwrap(), 0);
        let refused = valkey.memory(UserId(1)).await.expect_err("another kind of key");
        assert!(Chain(&refused).to_string().contains("No permissions"), "{refused:?}");
        let clients = node.cli(&["CLIENT", "LIST"]);
        assert!(clients.contains("user=feeds"), "{clients}");
    }
}
