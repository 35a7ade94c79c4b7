//! A full Valkey with the eviction policy of ElastiCache Serverless: keys with a time to live are evicted first.
//! When none is left, writes are refused.

use std::time::{Duration, Instant};

use fanfold_core::limits::{COMMIT_GRACE, COUNT_DELAY, COUNTS_UNNOTED_MAX, SHED_IDLE};
use fanfold_core::{FeedId, PostId, Ranking, UserId};
use fanfold_engines::feed::Source;
use fanfold_engines::tally::Counts;
use fanfold_engines::valkey::{CardId, CardRead, Fill, PageOf};
use fanfold_kinds::Error;
use fanfold_kinds::boards::change::What;
use fanfold_kinds::boards::read::page;
use fanfold_kinds::due::look_ahead;
use fanfold_kinds::fanout::deliver;
use fanfold_kinds::fanout::dispatch::dispatch;
use fanfold_kinds::fanout::messages::DeliverChunk;
use fanfold_kinds::posts::messages::PostPublished;
use fanfold_kinds::subscriptions::ChangeEvent;
use fanfold_kinds::sweep::sweep;
use fanfold_runtime::clock::Deadline;
use fanfold_runtime::sqs::Outcome;
use fanfold_web::{Problem, ProblemKind};
use serde_json::json;

use super::boards::{board_of, changed, names, put, scores};
use super::cards::{read_card, user};
use super::likes::seen;
use super::rankings::{ids, try_read};
use super::store_without_delivery;
use crate::cluster::{PEOPLE, drain, people, read, schedule, settle};
use crate::harness::valkeys::Node;
use crate::harness::world::{Message, World};

const HOUR: Duration = Duration::from_secs(3_600);
const POLICY: [&str; 2] = ["--maxmemory-policy", "volatile-lru"];

fn info(node: &Node, section: &str, field: &str) -> u64 {
    let info = node.cli(&["INFO", section]);
    let value = info.lines().find_map(|line| line.trim().strip_prefix(field)?.strip_prefix(':'));
    value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{field}: {info}"))
}

/// Limits the memory to the used memory and one megabyte.
fn limit_memory(node: &Node) {
    let used = info(node, "memory", "used_memory");
    node.cli(&["CONFIG", "SET", "maxmemory", &(used + 1_000_000).to_string()]);
}

/// Writes more data than fits.
fn fill(node: &Node, with_time_to_live: bool) {
    let (script, life) = (
        "for i = 1, 3000 do local set = redis.pcall('SET', 'fill:' .. ARGV[1] .. i, string.rep('x', 1000)) \
         if type(set) == 'table' and set.err then return i end \
         if ARGV[1] == '1' then redis.call('EXPIRE', 'fill:' .. ARGV[1] .. i, 10000) end end return 0",
        if with_time_to_live { "1" } else { "0" },
    );
    // a script that has written is not refused later, so several calls fill the server
    for _ in 0..20 {
        node.cli(&["EVAL", script, "0", life]);
    }
}

fn make_room(node: &Node) {
    let script = "for _, key in ipairs(redis.call('KEYS', 'fill:*')) do redis.call('DEL', key) end";
    node.cli(&["EVAL", script, "0"]);
}

#[tokio::test]
async fn a_full_server_does_not_evict_an_unfollow() {
    let node = Node::start(&POLICY);
    let world = World::with(&[("REDIS_URL", &node.url()), ("BUCKETS", "1")]).await;
    let mut posts = people(&world).await;
    settle(&world, &posts).await;
    // a chunk is cut while fir follows; it arrives after fir has unfollowed and the server is full
    world.advance(Duration::from_secs(30)); // the followers are read later than the server's memory begins
    let late = store_without_delivery(&world, "ash").await;
    let followers = ["cedar", "fir"].map(|name| world.id(name)).to_vec();
    let chunk = DeliverChunk::new(late, world.now(), followers);
    world.unfollow("fir", "ash").await;
    world.drain().await;
    // the server evicts every key with a time to live before it refuses a write
    limit_memory(&node);
    fill(&node, true);
    fill(&node, false);
    let evicted = info(&node, "stats", "evicted_keys");
    assert!(evicted > 100, "only {evicted} keys were evicted");
    let left = node.cli(&["INFO", "keyspace"]);
    assert!(left.contains("expires=0"), "keys with a time to live are left: {left}");
    make_room(&node);
    let delivered = deliver::deliver(&world.app, &[chunk], &[], world.now()).await;
    assert!(delivered.iter().all(Outcome::is_done), "{delivered:?}");
    let fir = world.app.valkey.peek(FeedId::home(world.id("fir")), 100).await.unwrap();
    let held = fir.known().expect("fir's feed is live").slice.posts;
    assert!(held.iter().all(|post| post.author() != world.id("ash")), "{held:?}");
    // no feed was evicted
    posts.insert(0, late);
    let event = PostPublished::new(late);
    let dispatched = dispatch(&world.app, &event, world.now(), Deadline::NONE).await;
    assert!(dispatched.is_ok(), "{dispatched:?}");
    world.follow("fir", "ash").await;
    settle(&world, &posts).await;
}

/// A mark of a stale card needs memory, and a full server that evicts nothing has none. The card is dropped instead.
#[tokio::test]
async fn a_full_server_shows_no_old_card() {
    let node = Node::start(&["--maxmemory-policy", "noeviction"]);
    let world = World::with(&[("REDIS_URL", &node.url()), ("BUCKETS", "1")]).await;
    world.people(&["ash", "birch"]).await;
    let (valkey, now) = (&world.app.valkey, world.now());
    let [ash, birch] = ["ash", "birch"].map(|name| CardId::user(world.id(name)));
    let name = async || user(&world, "ash").await.name;
    assert_eq!(name().await, "ash");
    assert!(matches!(read_card(valkey, &ash, "", now).await, CardRead::Known(_)));
    assert_eq!(read_card(valkey, &birch, "a reader", now).await, CardRead::Leased);
    limit_memory(&node);
    fill(&node, false);
    let refused = node.cli(&["SET", "fill:more", &"x".repeat(5_000)]);
    assert!(refused.contains("OOM"), "{refused}");
    world.rename("ash", "ash", "Other").await;
    assert_eq!(name().await, "Other");
    world.rename("birch", "birch", "Other").await;
    make_room(&node);
    // the reader read the profile before the change
    let old = Fill { id: birch, text: Some(b"old".to_vec()), kept: HOUR, counts: true };
    valkey.fill_cards(&[old], "a reader", now).await.unwrap();
    assert_eq!(read_card(valkey, &birch, "", now).await, CardRead::Unknown);
}

#[tokio::test]
async fn pushes_wait_and_pages_continue_while_a_server_is_full() {
    let node = Node::start(&POLICY);
    let world = World::with(&[("REDIS_URL", &node.url()), ("BUCKETS", "1")]).await;
    let mut posts = people(&world).await;
    settle(&world, &posts).await;
    world.advance(Duration::from_secs(40)); // so that the next read has to be recorded
    let keyspace = node.cli(&["INFO", "keyspace"]);
    let expires = keyspace.split(['=', ',']).skip_while(|word| *word != "expires").nth(1);
    let expires: u64 = expires.and_then(|number| number.parse().ok()).expect("a number");
    limit_memory(&node);
    fill(&node, false);
    // the cards, and nothing else
    assert!(expires > 0);
    assert_eq!(info(&node, "stats", "evicted_keys"), expires);
    posts.insert(0, world.publish("ash", "while it is full").await);
    let waiting = world.take().await;
    assert!(!waiting.is_empty());
    for message in &waiting {
        let handled = world.handle(message).await;
        assert!(handled.is_err_and(|error| error.is_valkey()), "{message:?} does not wait");
        world.send_back(message).await;
    }
    // the old posts are shown, because a page needs no write
    assert_eq!(read(&world, "cedar").await, (posts[1..].to_vec(), Source::Cache));
    make_room(&node);
    settle(&world, &posts).await;
}

/// Fills a server with one key without a time to live, until it takes no more. It has used more than it may after that, so
/// what is removed makes no room.
pub fn fill_up(node: &Node, ballast: &str) {
    let used = info(node, "memory", "used_memory");
    node.cli(&["CONFIG", "SET", "maxmemory", &(used + 1_000_000).to_string()]);
    let (large, start) = ("x".repeat(100_000), Instant::now());
    while !node.cli(&["APPEND", ballast, &large]).contains("OOM") {
        assert!(start.elapsed().as_secs() < 30, "the server does not become full");
    }
    node.cli(&["CONFIG", "SET", "maxmemory", "1000000"]);
    assert!(node.cli(&["APPEND", ballast, "x"]).contains("OOM"));
}

/// Removes the ballast and the limit.
pub fn empty(node: &Node, ballast: &str) {
    node.cli(&["CONFIG", "SET", "maxmemory", "0"]);
    node.cli(&["DEL", ballast]);
}

/// Handles every message once. Those that Valkey refuses wait in their queues. Returns how many.
async fn handle_once(world: &World) -> usize {
    let mut waiting = 0;
    for message in world.take().await {
        if let Err(error) = world.handle(&message).await {
            assert!(error.is_valkey(), "{message:?}: {error:?}");
            world.send_back(&message).await;
            waiting += 1;
        }
    }
    waiting
}

/// The posts of an author in a user's home feed.
async fn shown_of(world: &World, reader: &str, author: &str) -> Vec<PostId> {
    let shown = world.home(reader).await.into_iter();
    shown.filter(|post| post.author() == world.id(author)).collect()
}

/// What users change while a server takes no writes is seen by their next requests, before and after its message was
/// handled. Once it takes writes, every feed equals a pull, and a chunk that was cut before brings nothing back. `is_counted`:
/// likes are counted meanwhile.
pub async fn changes_are_seen_at_once(
    world: &World,
    is_counted: bool,
    disturb: impl FnOnce(),
    recover: impl FnOnce(),
) {
    let mut posts = people(world).await;
    let liked = posts[0];
    world.like("elm", liked).await;
    settle(world, &posts).await;
    // from now on, the server remembers changes of fir's relation to ash
    world.unfollow("fir", "ash").await;
    world.follow("fir", "ash").await;
    settle(world, &posts).await;
    assert_eq!(seen(world, "cedar", liked).await, (false, 1));
    world.advance(Duration::from_secs(30)); // the followers are read later than the server's memory begins
    let late = store_without_delivery(world, "ash").await;
    let followers: Vec<UserId> = PEOPLE[1..].iter().map(|name| world.id(name)).collect();
    let chunk = DeliverChunk::new(late, world.now(), followers);
    posts.insert(0, late);
    disturb();
    world.unfollow("fir", "ash").await;
    world.follow("fir", "cedar").await;
    for author in ["ash", "birch", "cedar"] {
        world.advance(Duration::from_millis(1));
        let post = world.publish(author, "meanwhile").await;
        assert_eq!(world.home(author).await.first(), Some(&post), "{author} does not see it");
        let feed = FeedId::author(world.id(author));
        assert_eq!(world.walk(feed, 100).await.first(), Some(&post), "not in the feed of {author}");
        posts.insert(0, post);
    }
    world.like("cedar", liked).await;
    assert!(seen(world, "cedar", liked).await.0);
    let of_cedar = posts[0];
    for tried in 0..3 {
        handle_once(world).await;
        assert_eq!(shown_of(world, "fir", "ash").await, [], "try {tried}");
        assert_eq!(shown_of(world, "fir", "cedar").await, [of_cedar], "try {tried}");
        for (author, post) in ["cedar", "birch", "ash"].into_iter().zip(&posts) {
            assert!(world.home(author).await.contains(post), "{author}, try {tried}");
        }
    }
    if is_counted {
        assert_eq!(seen(world, "cedar", liked).await, (true, 2));
    }
    world.unlike("cedar", liked).await;
    assert!(!seen(world, "cedar", liked).await.0);
    recover();
    // a page makes the feed live, before the messages that wait are handled
    assert_eq!(shown_of(world, "fir", "ash").await, []);
    let delivered = deliver::deliver(&world.app, &[chunk], &[], world.now()).await;
    assert!(delivered.iter().all(Outcome::is_done), "{delivered:?}");
    assert_eq!(shown_of(world, "fir", "ash").await, [], "a late chunk brings a post back");
    let event = PostPublished::new(late);
    let dispatched = dispatch(&world.app, &event, world.now(), Deadline::NONE).await;
    assert!(dispatched.is_ok(), "{dispatched:?}");
    assert_eq!(shown_of(world, "fir", "ash").await, []);
    // an event that waited does not find its like, which was taken back
    world.advance(COMMIT_GRACE + Duration::from_secs(1));
    drain(world).await;
    assert_eq!(seen(world, "cedar", liked).await, (false, 1));
    let of_fir = posts.iter().copied().filter(|post| post.author() != world.id("ash"));
    assert_eq!(world.home("fir").await, of_fir.collect::<Vec<_>>());
    world.follow("fir", "ash").await;
    world.delete("cedar", of_cedar).await;
    posts.retain(|post| *post != of_cedar);
    settle(world, &posts).await;
}

#[tokio::test]
async fn changes_are_seen_at_once_on_a_full_server() {
    for policy in ["volatile-lru", "noeviction"] {
        let node = Node::start(&["--maxmemory-policy", policy]);
        let world = World::with(&[("REDIS_URL", &node.url()), ("BUCKETS", "3")]).await;
        let full = || fill_up(&node, "ballast");
        changes_are_seen_at_once(&world, true, full, || empty(&node, "ballast")).await;
    }
}

/// A board whose copy lacks a change is not shown, and neither is a ranking that cannot be made. Returns how many boards and
/// rankings were shown meanwhile, and how many were not.
pub async fn boards_are_right_or_unavailable(
    world: &World,
    boards: usize,
    disturb: impl FnOnce(),
    recover: impl FnOnce(),
) -> (usize, usize) {
    world.people(&["ash", "birch"]).await;
    let liked = world.publish("ash", "liked").await;
    world.like("birch", liked).await;
    let named: Vec<String> = (0..boards).map(|n| format!("b{n}")).collect();
    for name in &named {
        put(world, name, json!({})).await;
        let first = changed(world, name, &[("a", What::Set(scores(&[1])))]).await;
        assert_eq!(first.members, Some(1));
    }
    world.drain().await;
    for name in &named {
        assert_eq!(names(world, name).await, ["a"]);
    }
    disturb();
    let (mut shown, mut refused) = (0, 0);
    for name in &named {
        let second = changed(world, name, &[("b", What::Set(scores(&[2])))]).await;
        let (board, best) = (board_of(world, "ash", name), PageOf::Rank { from: 1, limit: 9 });
        match page(&world.app, &board, best, world.now()).await {
            Ok(page) => {
                assert_eq!((second.members, page.page.rows.len()), (Some(2), 2));
                shown += 1;
            }
            Err(error) => {
                assert_eq!(second.members, None, "{error:?}");
                refused += 1;
            }
        }
    }
    world.advance(Duration::from_secs(60));
    match try_read(world, Ranking::PostsDay, None, 9).await {
        Ok(page) => {
            assert_eq!(ids(page.entries), [(liked, 1)]);
            shown += 1;
        }
        Err(error) => {
            assert_eq!(Problem::from(error).kind, ProblemKind::Unavailable);
            refused += 1;
        }
    }
    handle_once(world).await;
    recover();
    drain(world).await;
    for name in &named {
        assert_eq!(names(world, name).await, ["b", "a"]);
    }
    let start = Instant::now();
    loop {
        match try_read(world, Ranking::PostsDay, None, 9).await {
            Ok(page) => break assert_eq!(ids(page.entries), [(liked, 1)]),
            // the lease of one that could not be made lasts by the clock of the world
            Err(Error::RankingBuilding) => world.advance(Duration::from_secs(5)),
            Err(error) => panic!("{error:?}"),
        }
        assert!(start.elapsed().as_secs() < 60, "the ranking is not made");
        tokio::time::sleep(Duration::from_millis(200)).await;
        drain(world).await;
    }
    (shown, refused)
}

#[tokio::test]
async fn boards_and_rankings_are_right_or_unavailable_on_a_full_server() {
    for policy in ["volatile-lru", "noeviction"] {
        let node = Node::start(&["--maxmemory-policy", policy]);
        let world = World::with(&[("REDIS_URL", &node.url())]).await;
        let full = || fill_up(&node, "ballast");
        let counts =
            boards_are_right_or_unavailable(&world, 1, full, || empty(&node, "ballast")).await;
        assert_eq!(counts, (0, 2), "{policy}");
    }
}

/// Counts of followers and likes that cannot be noted are bounded, and the last change is counted.
#[tokio::test]
async fn counts_go_on_at_a_bounded_rate_on_a_full_server() {
    let node = Node::start(&POLICY);
    let mut world = World::with(&[("REDIS_URL", &node.url()), ("BUCKETS", "1")]).await;
    let posts = people(&world).await;
    settle(&world, &posts).await;
    world.app.counts = Counts::after(COUNT_DELAY);
    let mut others = Vec::new();
    for _ in 0..3 * COUNTS_UNNOTED_MAX {
        world.advance(Duration::from_millis(1));
        others.push(store_without_delivery(&world, "ash").await);
    }
    for fan in &PEOPLE[2..] {
        world.like(fan, posts[0]).await;
    }
    for post in &others {
        world.like("birch", *post).await;
    }
    fill_up(&node, "ballast");
    let (mut waiting, mut counted, mut rounds) = (world.take().await, Vec::new(), 0);
    while !waiting.is_empty() {
        rounds += 1;
        assert!(rounds < 60, "these changes are not counted: {waiting:?}");
        let (events, start) = (std::mem::take(&mut waiting), Instant::now());
        for event in events {
            if let Err(error) = world.handle(&event).await {
                assert!(error.is_valkey(), "{error:?}");
                waiting.push(event);
            }
        }
        let seconds = start.elapsed().as_secs() as usize + 1;
        tokio::time::sleep(COUNT_DELAY + Duration::from_millis(200)).await;
        let mut now = Vec::new();
        for message in world.take().await {
            world.handle(&message).await.expect("counted");
            match message {
                Message::Like(ChangeEvent::CountLikes(order)) => now.push(order.post),
                other => panic!("{other:?}"),
            }
        }
        assert!(now.len() <= COUNTS_UNNOTED_MAX * seconds, "{} in {seconds} s", now.len());
        let same = now.iter().filter(|post| **post == posts[0]).count();
        assert!(same <= seconds, "a post is counted {same} times in {seconds} s");
        counted.extend(now);
    }
    assert_eq!(seen(&world, "cedar", posts[0]).await, (true, 4));
    for post in others {
        assert!(counted.contains(&post));
        assert_eq!(seen(&world, "birch", post).await, (true, 1));
    }
}

/// The sweep makes room: it drops feeds that nobody has read for an hour, and nothing else.
#[tokio::test]
async fn a_sweep_makes_room_on_a_full_server() {
    let node = Node::start(&POLICY);
    let world = World::with(&[("REDIS_URL", &node.url()), ("BUCKETS", "2")]).await;
    let posts = people(&world).await;
    settle(&world, &posts).await;
    let sweep = async || sweep(&world.app, world.now()).await.expect("swept").shed;
    let keys = |kind: &str| {
        let keys = node.cli(&["KEYS", kind]);
        keys.lines().filter(|key| !key.is_empty()).count()
    };
    world.advance(SHED_IDLE / 2);
    // changes that the sweep must not forget yet; the follows read the author feeds of ash and birch
    for reader in PEOPLE {
        for author in ["ash", "birch"].into_iter().filter(|author| *author != reader) {
            world.unfollow(reader, author).await;
            world.follow(reader, author).await;
        }
    }
    drain(&world).await;
    let looked = look_ahead(&world.app, world.now(), Deadline::NONE).await;
    assert!(looked.is_ok(), "{looked:?}");
    schedule(&world, 5).await;
    fill_up(&node, "ballast");
    assert_eq!(sweep().await, 0, "feeds that were read within the hour");
    // the server is full, and notes the read all the same
    assert_eq!(read(&world, "cedar").await.1, Source::Cache);
    world.advance(SHED_IDLE / 2 + Duration::from_secs(60));
    let kept = || ["rel:*", "rels:*", "memory:*", "due:*", "horizon:*"].map(keys);
    let (feeds, before) = (keys("home:*") + keys("author:*"), kept());
    assert!(before.iter().all(|count| *count > 0), "{before:?}");
    assert_eq!(
        sweep().await,
        feeds as u64 - 3,
        "all but the feed of cedar and the two that were read"
    );
    assert_eq!((keys("home:*") + keys("author:*"), kept()), (3, before));
    assert_eq!(read(&world, "cedar").await, (posts.clone(), Source::Cache));
    assert_eq!(read(&world, "dogwood").await, (posts.clone(), Source::Pull));
    empty(&node, "ballast");
    settle(&world, &posts).await;
    world.advance(SHED_IDLE * 2);
    assert_eq!(sweep().await, 0, "the server is not full");
}
