//! A Valkey that is full, with the policy that ElastiCache Serverless has: keys with a time to live are
//! evicted first, and when none is left writes are refused.

use fanfold_core::message::{DeliverChunk, PostPublished};
use fanfold_dispatch::handler::dispatch;
use fanfold_store::clock::Deadline;
use fanfold_store::feeds::Source;
use fanfold_store::valkey::Feed;

use super::only_stored;
use crate::cluster::{people, settle};
use crate::harness::valkeys::Node;
use crate::harness::world::World;

const POLICY: [&str; 2] = ["--maxmemory-policy", "volatile-lru"];

fn info(node: &Node, section: &str, field: &str) -> u64 {
    let info = node.cli(&["INFO", section]);
    let value = info.lines().find_map(|line| line.trim().strip_prefix(field)?.strip_prefix(':'));
    value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{field}: {info}"))
}

/// Bounds the memory to what is used and a megabyte.
fn bound(node: &Node) {
    let used = info(node, "memory", "used_memory");
    node.cli(&["CONFIG", "SET", "maxmemory", &(used + 1_000_000).to_string()]);
}

/// Writes more than fits.
fn fill(node: &Node, with_time_to_live: bool) {
    let (script, life) = (
        "for i = 1, 3000 do local set = redis.pcall('SET', 'fill:' .. ARGV[1] .. i, string.rep('x', 1000)) \
         if type(set) == 'table' and set.err then return i end \
         if ARGV[1] == '1' then redis.call('EXPIRE', 'fill:' .. ARGV[1] .. i, 10000) end end return 0",
        if with_time_to_live { "1" } else { "0" },
    );
    // a script is refused nothing once it has written, so several calls fill the server
    for _ in 0..20 {
        node.cli(&["EVAL", script, "0", life]);
    }
}

fn make_room(node: &Node) {
    let script = "for _, key in ipairs(redis.call('KEYS', 'fill:*')) do redis.call('DEL', key) end";
    node.cli(&["EVAL", script, "0"]);
}

#[tokio::test]
async fn while_a_full_server_evicts_an_unfollow_is_remembered() {
    let node = Node::start(&POLICY);
    let world = World::with(&[("REDIS_URL", &node.url()), ("BUCKETS", "1")]).await;
    let mut posts = people(&world).await;
    settle(&world, &posts).await;
    // a chunk is cut while fir follows, and arrives after fir has unfollowed and the server is full
    world.advance(30_000); // so long that the followers' time is later than the server's memory
    let late = only_stored(&world, "ash").await;
    let followers = ["cedar", "fir"].map(|name| world.id(name)).to_vec();
    let chunk = DeliverChunk::new(late, world.now(), followers);
    world.unfollow("fir", "ash").await;
    world.drain().await;
    // the server evicts whatever has a time to live, before it refuses anything
    bound(&node);
    fill(&node, true);
    fill(&node, false);
    let evicted = info(&node, "stats", "evicted_keys");
    assert!(evicted > 100, "only {evicted} keys were evicted");
    let left = node.cli(&["INFO", "keyspace"]);
    assert!(left.contains("expires=0"), "keys with a time to live are left: {left}");
    make_room(&node);
    let delivered = fanfold_deliver::handler::deliver(&world.deliver, &[chunk], world.now()).await;
    assert!(delivered.iter().all(Result::is_ok), "{delivered:?}");
    let fir = world.timeline.feeds.valkey.peek(Feed::home(world.id("fir")), 100).await.unwrap();
    let held = fir.known().expect("fir's feed is live").slice.posts;
    assert!(held.iter().all(|post| post.author() != world.id("ash")), "{held:?}");
    // and no feed was evicted
    posts.insert(0, late);
    let event = PostPublished::new(late);
    let dispatched = dispatch(&world.dispatch, &event, world.now(), Deadline::NONE).await;
    assert!(dispatched.is_ok(), "{dispatched:?}");
    world.follow("fir", "ash").await;
    settle(&world, &posts).await;
}

#[tokio::test]
async fn pushes_that_a_full_server_refuses_wait_and_pages_go_on() {
    let node = Node::start(&POLICY);
    let world = World::with(&[("REDIS_URL", &node.url()), ("BUCKETS", "1")]).await;
    let mut posts = people(&world).await;
    settle(&world, &posts).await;
    world.advance(40_000); // so that a read wants to note that it was one
    bound(&node);
    fill(&node, false);
    assert_eq!(info(&node, "stats", "evicted_keys"), 0, "there is nothing to evict");
    posts.insert(0, world.publish("ash", "while it is full").await);
    let waiting = world.take().await;
    assert!(!waiting.is_empty());
    for message in &waiting {
        let handled = world.handle(message).await;
        assert!(handled.is_err_and(|error| error.is_valkey()), "{message:?} must wait");
        world.send_back(message).await;
    }
    // what was there is shown, since a page needs to write nothing
    assert_eq!(crate::cluster::read(&world, "cedar").await, (posts[1..].to_vec(), Source::Cache));
    make_room(&node);
    settle(&world, &posts).await;
}
