//! One call to Valkey for each bucket and batch, whatever the batch is made of.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fanfold_core::limits::MEMORY_BEGINS_WITHIN_MS;
use fanfold_core::message::DeliverChunk;
use fanfold_core::{Slice, UserId};
use fanfold_store::valkey::{Answers, Feed, Link, Valkey};
use redis::aio::{ConnectionLike as _, MultiplexedConnection};
use redis::{Cmd, RedisFuture, Value};

use super::{members, only_stored};
use crate::harness::world::World;

/// By then a memory that begins now has begun, whatever the clocks say.
const LATER_MS: u64 = MEMORY_BEGINS_WITHIN_MS + 5_000;

/// A real server, and how often it was called.
struct Counted {
    connection: MultiplexedConnection,
    calls: Arc<AtomicUsize>,
}

impl Answers for Counted {
    fn answer<'a>(&'a self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let mut connection = self.connection.clone();
        Box::pin(async move { connection.req_packed_command(command).await })
    }
}

#[tokio::test]
async fn a_batch_of_chunks_takes_one_call_for_each_bucket() {
    let mut world = World::with(&[("BUCKETS", "8")]).await;
    let readers: Vec<String> = (0..40).map(|n| format!("reader{n}")).collect();
    let names: Vec<&str> = readers.iter().map(String::as_str).collect();
    world.people(&["ash", "birch", "cedar"]).await;
    world.people(&names).await;
    let mut chunks = Vec::new();
    let mut posts = Vec::new();
    for author in ["ash", "birch", "cedar"] {
        let post = only_stored(&world, author).await;
        posts.push(post);
        for some in names.chunks(13) {
            for reader in some {
                world.follow(reader, author).await;
            }
            let mut followers: Vec<UserId> = some.iter().map(|name| world.id(name)).collect();
            followers.sort_by_key(|user| user.bucket(8));
            // cut when Valkey's memory had long begun
            chunks.push(DeliverChunk::new(post, world.now() + LATER_MS, followers));
        }
    }
    world.drain().await;
    // every other feed is live, and without the posts: they were stored, and nobody was told
    for reader in names.iter().step_by(2) {
        let (valkey, feed) = (&world.timeline.feeds.valkey, Feed::home(world.id(reader)));
        valkey.begin(feed, "1", world.now()).await.unwrap();
        assert!(valkey.commit(feed, "1", &Slice::EMPTY, &[]).await.unwrap());
    }
    world.advance(LATER_MS);
    let connection = world.redis().await;
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Counted { connection, calls: calls.clone() };
    let settings = world.config.feeds().unwrap();
    world.deliver.valkey = Valkey::over(Link::given(Arc::new(counted)), &settings);
    // with the first batch, the script may have to be sent
    for batch in [&chunks[..1], &chunks[..]] {
        calls.store(0, Ordering::Relaxed);
        let done = fanfold_deliver::handler::deliver(&world.deliver, batch, world.now()).await;
        assert!(done.iter().all(Result::is_ok), "{done:?}");
    }
    let buckets: HashSet<u16> = names.iter().map(|name| world.id(name).bucket(8)).collect();
    assert_eq!((chunks.len(), calls.load(Ordering::Relaxed)), (12, buckets.len()));
    posts.sort_unstable_by(|a, b| b.cmp(a));
    for (place, reader) in names.iter().enumerate() {
        match place % 2 {
            0 => assert_eq!(world.home(reader).await, posts, "{reader}"),
            _ => assert_eq!(members(&world, reader).await, 0, "{reader} has not read"),
        }
    }
}
