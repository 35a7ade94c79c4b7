//! A batch takes one call to Valkey for each bucket, whatever chunks it consists of.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use fanfold_core::limits::MEMORY_BEGINS_WITHIN;
use fanfold_core::{Bucket, FeedId, Slice, UserId};
use fanfold_engines::valkey::{Answers, FeedSettings, Link, Valkey};
use fanfold_kinds::fanout::deliver;
use fanfold_kinds::fanout::messages::DeliverChunk;
use fanfold_runtime::sqs::Outcome;
use redis::aio::{ConnectionLike as _, MultiplexedConnection};
use redis::{Cmd, RedisFuture, Value};

use super::{members, store_without_delivery};
use crate::harness::world::{Message, World};

/// After this time, a memory that begins now or in ten minutes (machines can be slow) has begun, whatever the clocks say.
const LATER: Duration = MEMORY_BEGINS_WITHIN.saturating_add(Duration::from_secs(600));

/// A real server that counts its calls.
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

/// A real server on which the commands of one bucket fail.
struct Broken {
    connection: MultiplexedConnection,
    bucket: Bucket,
}

impl Answers for Broken {
    fn answer<'a>(&'a self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        let tag = format!("{{{}}}", self.bucket);
        let mut words = command.args_iter();
        let is_in_bucket = words.any(|word| {
            matches!(word, redis::Arg::Simple(word) if String::from_utf8_lossy(word).contains(&tag))
        });
        let mut connection = self.connection.clone();
        Box::pin(async move {
            match is_in_bucket {
                true => Err((redis::ErrorKind::Io, "this shard is unavailable").into()),
                false => connection.req_packed_command(command).await,
            }
        })
    }
}

/// If one shard does not answer, the others get the post at once, and only the rest is sent again.
#[tokio::test]
async fn only_the_failed_buckets_of_a_chunk_are_pushed_again() {
    let mut world =
        World::with(&[("BUCKETS", "4"), ("SMALL_FOLLOWERS", "0"), ("FOLLOWER_PARTITIONS", "1")])
            .await;
    let readers: Vec<String> = (0..20).map(|n| format!("reader{n}")).collect();
    let names: Vec<&str> = readers.iter().map(String::as_str).collect();
    world.people(&["ash"]).await;
    world.people(&names).await;
    for reader in &names {
        world.follow(reader, "ash").await;
        world.home(reader).await;
    }
    world.drain().await;
    world.advance(LATER);
    let post = world.publish("ash", "text").await;
    let event = world.take().await.pop().expect("an event");
    world.handle(&event).await.unwrap();
    let messages = world.take().await;
    let [Message::Chunk(chunk)] = messages.as_slice() else { panic!("{messages:?}") };
    let whole = world.app.valkey.clone();
    let connection = world.redis().await;
    let (bucket, settings) =
        (world.id(names[0]).bucket(4), FeedSettings::read(&world.config).unwrap());
    let broken = Link::given(Arc::new(Broken { connection, bucket }));
    world.app.valkey = Valkey::over(broken, &settings);
    let done = deliver::deliver(&world.app, std::slice::from_ref(chunk), &[], world.now()).await;
    let [Outcome::Left { rest, error }] = done.as_slice() else { panic!("{done:?}") };
    assert!(error.is_valkey(), "{error:?}");
    let left: Vec<UserId> =
        chunk.followers.iter().copied().filter(|user| user.bucket(4) == bucket).collect();
    let reached = (names.len() - left.len()) as u64;
    assert!(reached > 0 && rest.followers == left, "{rest:?}");
    assert_eq!(rest.reached.map(|reached| reached.delivered), Some(reached));
    assert_eq!((&rest.share, rest.cut_at), (&chunk.share, chunk.cut_at));
    // all buckets of the rest fail: the message itself is tried again
    let again = deliver::deliver(&world.app, std::slice::from_ref(rest), &[], world.now()).await;
    assert!(matches!(again.as_slice(), [Outcome::Failed(_)]), "{again:?}");
    world.app.valkey = whole;
    let done = deliver::deliver(&world.app, std::slice::from_ref(rest), &[], world.now()).await;
    assert!(done.iter().all(Outcome::is_done), "{done:?}");
    let receipt = world.app.receipts.receipt(post).await.unwrap();
    assert!(receipt.completed_at.is_some());
    assert_eq!(receipt.reached.delivered, names.len() as u64);
    for reader in names {
        assert_eq!(world.home(reader).await, [post]);
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
        let post = store_without_delivery(&world, author).await;
        posts.push(post);
        for some in names.chunks(13) {
            for reader in some {
                world.follow(reader, author).await;
            }
            let mut followers: Vec<UserId> = some.iter().map(|name| world.id(name)).collect();
            followers.sort_by_key(|user| user.bucket(8));
            // the chunk was cut long after Valkey's memory began
            chunks.push(DeliverChunk::new(post, world.now() + LATER, followers));
        }
    }
    world.drain().await;
    // every second feed is live, without the posts: they are stored, but were not dispatched
    for reader in names.iter().step_by(2) {
        let (valkey, feed) = (&world.app.valkey, FeedId::home(world.id(reader)));
        valkey.begin(feed, "1", world.now()).await.unwrap();
        assert!(valkey.commit(feed, "1", &Slice::EMPTY, &[]).await.unwrap());
    }
    world.advance(LATER);
    let connection = world.redis().await;
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Counted { connection, calls: calls.clone() };
    let settings = FeedSettings::read(&world.config).unwrap();
    world.app.valkey = Valkey::over(Link::given(Arc::new(counted)), &settings);
    // the first batch may have to send the script
    for batch in [&chunks[..1], &chunks[..]] {
        calls.store(0, Ordering::Relaxed);
        let done = deliver::deliver(&world.app, batch, &[], world.now()).await;
        assert!(done.iter().all(Outcome::is_done), "{done:?}");
    }
    let buckets: HashSet<Bucket> = names.iter().map(|name| world.id(name).bucket(8)).collect();
    assert_eq!((chunks.len(), calls.load(Ordering::Relaxed)), (12, buckets.len()));
    posts.sort_unstable_by(|a, b| b.cmp(a));
    for (place, reader) in names.iter().enumerate() {
        match place % 2 {
            0 => assert_eq!(world.home(reader).await, posts, "{reader}"),
            _ => assert_eq!(
                members(&world, reader).await,
                0,
                "the feed of {reader}, which is not live, has entries"
            ),
        }
    }
}
