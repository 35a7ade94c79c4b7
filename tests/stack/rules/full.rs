//! A full Valkey with the eviction policy of ElastiCache Serverless: keys with a time to live are evicted first.
//! When none is left, writes are refused.

use std::time::Duration;

use fanfold_app::fanout::deliver;
use fanfold_app::fanout::dispatch::dispatch;
use fanfold_core::FeedId;
use fanfold_core::message::{DeliverChunk, PostPublished};
use fanfold_runtime::clock::Deadline;
use fanfold_runtime::sqs::Outcome;
use fanfold_store::feeds::Source;
use fanfold_store::valkey::{CardId, CardRead, Fill};

use super::cards::{read_card, user};
use super::store_without_delivery;
use crate::cluster::{people, read, settle};
use crate::harness::valkeys::Node;
use crate::harness::world::World;

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
    let delivered = deliver::deliver(&world.deliver, &[chunk], world.now()).await;
    assert!(delivered.iter().all(Outcome::is_done), "{delivered:?}");
    let fir = world.timeline.feeds.valkey.peek(FeedId::home(world.id("fir")), 100).await.unwrap();
    let held = fir.known().expect("fir's feed is live").slice.posts;
    assert!(held.iter().all(|post| post.author() != world.id("ash")), "{held:?}");
    // no feed was evicted
    posts.insert(0, late);
    let event = PostPublished::new(late);
    let dispatched = dispatch(&world.dispatch, &event, world.now(), Deadline::NONE).await;
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
    let (valkey, now) = (&world.timeline.feeds.valkey, world.now());
    let [ash, birch] = ["ash", "birch"].map(|name| CardId::User(world.id(name)));
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
    let old = Fill { id: birch.clone(), text: Some(b"old".to_vec()), kept: HOUR, counts: true };
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
