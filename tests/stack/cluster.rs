//! Real Valkey servers that fail: clusters with moving slots and dying primaries, replicas that answer, servers
//! that hang, connections that are cut. Each test has its own servers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fanfold_core::{DueEntry, DuePart, FeedId, PostId};
use fanfold_engines::due::ItemDue;
use fanfold_engines::feed::Source;
use fanfold_kinds::App;
use fanfold_kinds::due::{handle, look_ahead};
use fanfold_kinds::home::Span;
use fanfold_kinds::scheduled::{self, NewScheduled};
use fanfold_runtime::clock::Deadline;
use tokio::task::JoinSet;

use crate::harness::dice::fresh;
use crate::harness::valkeys::{Cluster, Node};
use crate::harness::world::{Message, World, page};
use crate::rules::full::{
    boards_are_right_or_unavailable, changes_are_seen_at_once, empty, fill_up,
};

/// Shorter than a post's way to its feeds, and long enough for one call: without a pause, no call would have an answer.
const BETWEEN_CUTS: Duration = Duration::from_millis(5);

pub const PEOPLE: [&str; 6] = ["ash", "birch", "cedar", "dogwood", "elm", "fir"];

/// Six users who follow ash and birch, a few posts, and live feeds.
pub async fn people(world: &World) -> Vec<PostId> {
    world.people(&PEOPLE).await;
    for reader in PEOPLE {
        for author in ["ash", "birch"].into_iter().filter(|author| *author != reader) {
            world.follow(reader, author).await;
        }
    }
    world.drain().await;
    for reader in PEOPLE {
        world.home(reader).await;
    }
    let mut posts = Vec::new();
    for n in 0..6 {
        world.advance(Duration::from_millis(1));
        posts.insert(0, world.publish(["ash", "birch"][n % 2], "text").await);
    }
    world.drain().await;
    posts
}

/// Handles all messages. Tries failed messages again, as a queue does, for a minute at most.
pub async fn drain(world: &World) {
    let (start, mut waiting) = (Instant::now(), world.take().await);
    while !waiting.is_empty() {
        assert!(start.elapsed().as_secs() < 60, "these messages fail for a minute: {waiting:?}");
        let mut failed: Vec<Message> = Vec::new();
        for message in waiting {
            if world.handle(&message).await.is_err() {
                failed.push(message);
            }
        }
        failed.extend(world.take().await);
        waiting = failed;
    }
}

/// Reads a page of a home feed. Returns its posts and its source.
pub async fn read(world: &World, reader: &str) -> (Vec<PostId>, Source) {
    let page = world.page(FeedId::home(world.id(reader)), Span::ALL, 100).await;
    (page.ids().collect(), page.source)
}

/// Handles all messages, and waits until every feed is correct and comes from the cache.
pub async fn settle(world: &World, posts: &[PostId]) {
    drain(world).await;
    let start = Instant::now();
    for reader in PEOPLE {
        loop {
            let shown = world.walk(FeedId::home(world.id(reader)), 100).await;
            let differs = shown.iter().zip(posts).position(|(shown, post)| shown != post);
            let counts = (shown.len(), posts.len());
            assert_eq!((differs, counts.0), (None, counts.1), "{reader} of {counts:?}");
            if read(world, reader).await.1 == Source::Cache {
                break;
            }
            assert!(start.elapsed().as_secs() < 60, "the feed of {reader} does not become live");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

async fn world_on(cluster: &Cluster) -> World {
    World::with(&[("REDIS_URL", &cluster.url()), ("CHUNK_FOLLOWERS", "2")]).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_works_while_slots_move_and_when_a_primary_dies() {
    let mut cluster = Cluster::start();
    let world = world_on(&cluster).await;
    let mut posts = people(&world).await;
    settle(&world, &posts).await;
    world.unfollow("fir", "ash").await;
    drain(&world).await;
    assert!(read(&world, "fir").await.0.iter().all(|post| post.author() != world.id("ash")));
    world.follow("fir", "ash").await;
    settle(&world, &posts).await;

    // a third of the slots of a primary moves, under load
    let (moved, mut under_way) = (AtomicBool::new(false), 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            cluster.move_slots(0, 1, 0..1_800);
            moved.store(true, Ordering::SeqCst);
        });
        let runtime = tokio::runtime::Handle::current();
        tokio::task::block_in_place(|| {
            runtime.block_on(async {
                while !moved.load(Ordering::SeqCst) {
                    under_way += 1;
                    world.advance(Duration::from_millis(1));
                    posts.insert(0, world.publish("ash", "while slots move").await);
                    for message in world.take().await {
                        // send it again, as a queue would
                        if world.handle(&message).await.is_err() {
                            world.send_back(&message).await;
                        }
                    }
                    let reader = PEOPLE[under_way % PEOPLE.len()];
                    let shown = read(&world, reader).await.0;
                    assert!(shown.len() >= 6, "{reader} sees {} posts", shown.len());
                }
            });
        });
    });
    settle(&world, &posts).await;

    // a primary dies, and its replica takes over
    let key = world.app.valkey.keys().feed(cedar(&world));
    let (primary, replica) = cluster.of_key(&key);
    cluster.kill(primary);
    let (start, delivered) = (Instant::now(), posts.clone());
    let mut promoted = false;
    while !promoted {
        world.advance(Duration::from_millis(1));
        posts.insert(0, world.publish("birch", "while a primary is away").await);
        let (shown, source) = read(&world, "cedar").await;
        if source == Source::Pull {
            assert_eq!(shown, posts[..shown.len()], "a pull lacks the newest post");
        }
        assert!(shown.len() >= delivered.len().min(100), "{source:?} shows {}", shown.len());
        // if the replica is promoted during the retries of a read, it has the delivered posts; the others are
        // in a queue
        let old: Vec<_> = shown.into_iter().filter(|post| delivered.contains(post)).collect();
        assert_eq!(old, delivered[..old.len()], "{source:?}");
        promoted = cluster.node(replica).cli(&["ROLE"]).starts_with("master");
        assert!(start.elapsed().as_secs() < 60, "the replica is not promoted");
    }
    settle(&world, &posts).await;
}

/// The promoted replica lacks the last writes, although the primary acknowledged them.
/// The nodes that have the parts of the index of due items.
fn nodes_of_parts(cluster: &Cluster) -> Vec<usize> {
    DuePart::all().map(|part| cluster.of_key(&format!("due:{{{part}}}")).0).collect()
}

/// Schedules a post of ash, and returns its entry.
pub async fn schedule(world: &World, minutes: u64) -> DueEntry {
    let publish_at = world.now() + Duration::from_secs(60 * minutes);
    let new = NewScheduled { post: "later".into(), publish_at, key: None };
    let item = scheduled::schedule(&world.app, &world.identity("ash"), new, world.now()).await;
    item.expect("scheduled").entry()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn due_items_survive_moved_slots_and_a_fail_over() {
    let mut cluster = Cluster::start();
    let world = world_on(&cluster).await;
    world.people(&["ash"]).await;
    // the beginning of an hour: when an hour ends, all parts are loaded again
    world.advance(world.now().hour().next().start().since(world.now()));
    let look = async || look_ahead(&world.app, world.now(), Deadline::NONE).await;
    assert_eq!(look().await.expect("looked ahead").loaded, 16);
    assert_eq!(look().await.expect("looked ahead").loaded, 0);
    let first = schedule(&world, 5).await;
    let before = nodes_of_parts(&cluster);
    tokio::task::block_in_place(|| cluster.move_slots(0, 1, 0..1_800));
    let after = nodes_of_parts(&cluster);
    let moved = before.iter().zip(&after).filter(|(before, after)| before != after).count();
    assert!(moved > 0, "{before:?} {after:?}");
    world.advance(Duration::from_secs(4 * 60));
    let looked = look().await.expect("looked ahead");
    // the server of a part that moved has another generation, so the part is loaded again
    assert_eq!((looked.handed_on, looked.loaded), (1, moved as u64));

    // the primary of the part dies, and its replica takes over
    let second = schedule(&world, 30).await;
    world.advance(Duration::from_secs(29 * 60));
    let (primary, replica) = cluster.of_key(&format!("due:{{{}}}", second.part()));
    cluster.wait_for_replica(primary, replica);
    cluster.kill(primary);
    let (start, mut failed) = (Instant::now(), 0);
    while look().await.is_err() {
        failed += 1;
        assert!(start.elapsed().as_secs() < 60, "look-aheads fail for a minute");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert!(failed > 0, "the primary did not die");
    let index = &world.app.valkey;
    let known = index.take_due(second.part(), 0, world.now()).await.expect("asked").complete;
    assert!(known.is_some_and(|known| known > second.at), "{known:?}");
    world.advance(Duration::from_secs(60));
    for entry in [&first, &second, &first, &second] {
        handle(&world.app, &ItemDue::new(entry.clone()), world.now()).await.expect("handled");
    }
    let ash = world.app.users.profile(world.id("ash")).await.expect("read").expect("a profile");
    assert_eq!((ash.posts, ash.scheduled), (2, 0), "each is published once");
    assert_eq!(look().await.expect("looked ahead").overdue, 0);
}

#[tokio::test]
async fn a_failover_that_loses_acknowledged_writes_loses_no_post() {
    let mut cluster = Cluster::start();
    let world = world_on(&cluster).await;
    let mut posts = people(&world).await;
    settle(&world, &posts).await;
    let key = world.app.valkey.keys().feed(cedar(&world));
    let (primary, replica) = cluster.of_key(&key);
    // wait for the older writes: the replica may be at the start of a synchronization, without data
    cluster.wait_for_replica(primary, replica);
    cluster.node(replica).signal("STOP");
    cluster.node(primary).cli(&["CLIENT", "KILL", "TYPE", "replica"]);
    world.advance(Duration::from_millis(1));
    posts.insert(0, world.publish("ash", "acknowledged").await);
    drain(&world).await;
    assert_eq!(read(&world, "cedar").await, (posts.clone(), Source::Cache));
    cluster.kill(primary);
    cluster.node(replica).signal("CONT");
    cluster.node(replica).wait_for("master", &["ROLE"]);
    cluster.node(replica).wait_for("cluster_state:ok", &["CLUSTER", "INFO"]);
    let held = cluster.node(replica).cli(&["ZCARD", &key]);
    assert_eq!(held.trim(), (posts.len() - 1 + 2).to_string(), "the replica has the last write");
    settle(&world, &posts).await;
}

#[tokio::test]
async fn answers_of_a_replica_are_not_used() {
    let primary = Node::start(&[]);
    let port = primary.port.to_string();
    let world = World::with(&[("REDIS_URL", &primary.url())]).await;
    let mut posts = people(&world).await;
    settle(&world, &posts).await;
    // the server at this address is now a replica of a server that the functions do not reach
    let elsewhere = Node::start(&[]);
    primary.cli(&["REPLICAOF", "127.0.0.1", &elsewhere.port.to_string()]);
    primary.cli(&["CONFIG", "SET", "replica-serve-stale-data", "yes"]);
    primary.wait_for("slave", &["ROLE"]);
    world.advance(Duration::from_millis(1));
    posts.insert(0, world.publish("ash", "while a replica answers").await);
    assert_eq!(read(&world, "cedar").await, (posts.clone(), Source::Pull));
    let waiting = world.take().await;
    for message in &waiting {
        assert!(world.handle(message).await.is_err_and(|error| error.is_valkey()), "{message:?}");
        world.send_back(message).await;
    }
    primary.cli(&["REPLICAOF", "NO", "ONE"]);
    primary.wait_for("master", &["ROLE"]);
    settle(&world, &posts).await;
    assert_eq!(primary.port.to_string(), port);
}

/// The server at the address is a replica for a while, and refuses commands.
#[tokio::test]
async fn changes_are_seen_at_once_while_a_replica_answers() {
    let (primary, elsewhere) = (Node::start(&[]), Node::start(&[]));
    let world = World::with(&[("REDIS_URL", &primary.url())]).await;
    let disturb = || {
        primary.cli(&["REPLICAOF", "127.0.0.1", &elsewhere.port.to_string()]);
        primary.wait_for("slave", &["ROLE"]);
    };
    let recover = || {
        primary.cli(&["REPLICAOF", "NO", "ONE"]);
        primary.wait_for("master", &["ROLE"]);
    };
    changes_are_seen_at_once(&world, false, disturb, recover).await;
}

/// One shard is full. It has the feeds of some users, and the others have theirs on other shards.
#[tokio::test]
async fn changes_are_seen_at_once_while_a_shard_is_full() {
    let cluster = Cluster::start();
    for full in ["fir", "ash"] {
        let world = world_on(&cluster).await;
        let keys = world.app.valkey.keys();
        let live = keys.live(keys.bucket(world.id(full)));
        let node = cluster.node(cluster.of_key(&live).0);
        let ballast = live.replace("live", "ballast");
        let disturb = || fill_up(node, &ballast);
        changes_are_seen_at_once(&world, true, disturb, || empty(node, &ballast)).await;
    }
}

/// Each shard is full once, so it has boards or a ranking in one of the turns.
#[tokio::test]
async fn boards_and_rankings_are_right_or_unavailable_while_a_shard_is_full() {
    let cluster = Cluster::start();
    let (mut full, mut counts) = (Vec::new(), (0, 0));
    let keys = world_on(&cluster).await.app.valkey.keys();
    for bucket in keys.all_buckets() {
        let live = keys.live(bucket);
        let (place, _) = cluster.of_key(&live);
        if full.contains(&place) {
            continue;
        }
        full.push(place);
        // a deployment has one copy of each ranking
        cluster.alive().for_each(|node| drop(node.cli(&["FLUSHALL"])));
        let (node, ballast) = (cluster.node(place), live.replace("live", "ballast"));
        let world = world_on(&cluster).await;
        let disturb = || fill_up(node, &ballast);
        let recover = || empty(node, &ballast);
        let (shown, refused) = boards_are_right_or_unavailable(&world, 8, disturb, recover).await;
        counts = (counts.0 + shown, counts.1 + refused);
    }
    assert_eq!(full.len(), 3);
    // 27 boards and rankings, and about a third of them is on the full shard
    assert!(counts.0 > 0 && counts.1 > 0, "{counts:?}");
}

#[tokio::test]
async fn a_server_that_hangs_or_restarts_empty_loses_no_post_and_fails_no_read() {
    let node = Node::start(&[]);
    let world = World::with(&[("REDIS_URL", &node.url())]).await;
    let mut posts = people(&world).await;
    settle(&world, &posts).await;
    node.signal("STOP");
    world.advance(Duration::from_millis(1));
    posts.insert(0, world.publish("birch", "while it hangs").await);
    let start = Instant::now();
    assert_eq!(read(&world, "cedar").await, (posts.clone(), Source::Pull));
    let waited = start.elapsed();
    assert!(waited < Duration::from_secs(8), "more than one timeout: {waited:?}");
    node.signal("CONT");
    settle(&world, &posts).await;
    let port = node.port;
    drop(node);
    world.advance(Duration::from_millis(1));
    posts.insert(0, world.publish("birch", "while it is away").await);
    assert_eq!(read(&world, "cedar").await, (posts.clone(), Source::Pull));
    let _node = Node::start_at(port, &[]);
    settle(&world, &posts).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_are_cut_during_a_call_lose_nothing() {
    let node = Arc::new(Node::start(&[]));
    let world = World::with(&[("REDIS_URL", &node.url())]).await;
    let mut posts = people(&world).await;
    // The set ends its task when the test ends, also when an assertion fails.
    let mut cuts = JoinSet::new();
    let cut = Arc::clone(&node);
    cuts.spawn(async move {
        loop {
            cut.cli(&["CLIENT", "KILL", "TYPE", "normal"]);
            tokio::time::sleep(BETWEEN_CUTS).await;
        }
    });
    for n in 0..40 {
        world.advance(Duration::from_millis(1));
        posts.insert(0, world.publish("ash", "text").await);
        drain(&world).await;
        assert_eq!(read(&world, PEOPLE[n % PEOPLE.len()]).await.0, posts);
    }
    cuts.abort_all();
    settle(&world, &posts).await;
}

#[tokio::test]
async fn the_url_gives_the_kind_of_server_the_user_and_the_password() {
    for scheme in ["redis", "redis-cluster"] {
        let node = Node::of_scheme(scheme);
        node.cli(&["ACL", "SETUSER", "feeds", "on", ">p@ss", "~*", "&*", "+@all"]);
        node.cli(&["CONFIG", "SET", "requirepass", "another"]);
        let url = |login: &str| format!("{scheme}://{login}@127.0.0.1:{}", node.port);
        let world = World::with(&[("REDIS_URL", &url("feeds:p%40ss"))]).await;
        let posts = people(&world).await;
        settle(&world, &posts).await;
        let config = world.config_with_one("REDIS_URL", &url("feeds:wrong"));
        let stranger = App::new(&world.sdk, &config).expect("an app");
        let page = page(&stranger, cedar(&world), Span::ALL, 9, world.now()).await;
        assert_eq!(page.expect("a page").source, Source::Pull, "{scheme} with a wrong password");
    }
}

/// A serverless cache may hide its role. The generation is then `-`, and everything else works as usual.
#[tokio::test]
async fn everything_works_when_the_role_is_unknown() {
    for scheme in ["redis", "redis-cluster"] {
        let node = Node::of_scheme(scheme);
        node.cli(&["ACL", "SETUSER", "feeds", "on", ">pass", "~*", "&*", "+@all", "-info"]);
        let url = format!("{scheme}://feeds:pass@127.0.0.1:{}", node.port);
        let world = World::with(&[("REDIS_URL", &url)]).await;
        let mut posts = people(&world).await;
        settle(&world, &posts).await;
        let denied = node.cli(&["ACL", "LOG"]);
        assert!(denied.contains("info") && denied.contains("lua"), "{scheme}: {denied}");
        let keys = world.app.valkey.keys();
        let memory = node.cli(&["GET", &keys.memory(keys.bucket(world.id("cedar")))]);
        assert!(memory.starts_with("-:"), "{scheme}: {memory}");
        world.advance(Duration::from_millis(1));
        posts.insert(0, world.publish("ash", "pushed").await);
        drain(&world).await;
        assert_eq!(read(&world, "cedar").await, (posts.clone(), Source::Cache), "{scheme}");
        world.unfollow("fir", "ash").await;
        drain(&world).await;
        assert!(read(&world, "fir").await.0.iter().all(|post| post.author() != world.id("ash")));
        world.follow("fir", "ash").await;
        settle(&world, &posts).await;
        node.cli(&["FLUSHALL"]);
        assert_eq!(read(&world, "cedar").await, (posts.clone(), Source::Rebuild), "{scheme}");
        settle(&world, &posts).await;
    }
}

/// The snapshot is older than the last posts, but its feeds look live.
#[tokio::test]
async fn feeds_of_an_old_snapshot_are_not_used() {
    let folder = std::env::temp_dir().join(format!("fanfold-snapshot-{:x}", fresh()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let options = ["--dir", folder.to_str().expect("a path")];
    let node = Node::start(&options);
    let world = World::with(&[("REDIS_URL", &node.url())]).await;
    let mut posts = people(&world).await;
    settle(&world, &posts).await;
    assert_eq!(node.cli(&["SAVE"]).trim(), "OK");
    world.advance(Duration::from_millis(1));
    posts.insert(0, world.publish("ash", "after the snapshot").await);
    drain(&world).await;
    assert_eq!(read(&world, "cedar").await, (posts.clone(), Source::Cache));
    let (port, key) = (node.port, world.app.valkey.keys().feed(cedar(&world)));
    drop(node);
    let node = Node::start_at(port, &options);
    let held = node.cli(&["ZCARD", &key]);
    assert_eq!(held.trim(), (posts.len() - 1 + 2).to_string(), "the snapshot is not loaded");
    assert_eq!(read(&world, "cedar").await, (posts.clone(), Source::Rebuild));
    settle(&world, &posts).await;
    drop(node);
    std::fs::remove_dir_all(&folder).expect("removed");
}

fn cedar(world: &World) -> FeedId {
    FeedId::home(world.id("cedar"))
}
