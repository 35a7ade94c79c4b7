//! Rule 9: the memories of Valkey.

use std::time::Duration;

use fanfold_core::{Bucket, FeedId, PostId, Relation, RelationChange, Slice};
use fanfold_engines::feed::Source;
use fanfold_engines::valkey::{Read, RebuildStart, RelationApplied};
use fanfold_functions::admin::execute;
use fanfold_functions::admin::order::{AdminOrder, read};
use fanfold_kinds::fanout::deliver;
use fanfold_kinds::fanout::messages::DeliverChunk;
use fanfold_kinds::home::Span;
use fanfold_runtime::clock::Deadline;
use fanfold_runtime::sqs::Outcome;
use serde_json::json;

use super::store_without_delivery;
use crate::harness::valkeys::Node;
use crate::harness::world::World;

/// The server loses all data in the millisecond in which its memory began. A relation that was read before the
/// loss must not be applied after it.
#[tokio::test]
async fn a_memory_that_begins_in_the_same_millisecond_has_another_name() {
    let node = Node::start(&[]);
    let world = World::with(&[("REDIS_URL", &node.url()), ("BUCKETS", "1")]).await;
    let (valkey, now) = (&world.app.valkey, world.now());
    let feed = FeedId::home(world.id("birch"));
    assert_eq!(valkey.begin(feed, "one", now).await.unwrap(), RebuildStart::Begun);
    let before = valkey.memory(feed.user()).await.unwrap();
    node.cli(&["FLUSHALL"]);
    assert_eq!(valkey.begin(feed, "two", now).await.unwrap(), RebuildStart::Begun);
    let after = valkey.memory(feed.user()).await.unwrap();
    assert_ne!(before, after);
    let change = RelationChange { relation: Relation::Following, at: now };
    let related = valkey.relate(feed.user(), world.id("ash"), change, None, &before).await;
    assert_eq!(related.unwrap(), RelationApplied::Again, "it was read before the loss");
}

#[tokio::test]
async fn an_operator_begins_new_memories() {
    let node = Node::start(&[]);
    let world = World::with(&[("REDIS_URL", &node.url()), ("BUCKETS", "3")]).await;
    world.people(&["ash", "birch", "cedar"]).await;
    world.follow("birch", "ash").await;
    world.follow("cedar", "ash").await;
    world.drain().await;
    let seen = world.publish("ash", "seen").await;
    world.drain().await;
    assert_eq!((world.home("birch").await, world.home("cedar").await), (vec![seen], vec![seen]));
    // a feed is wrong, for any reason
    let (valkey, feed) = (&world.app.valkey, FeedId::home(world.id("birch")));
    valkey.remove(feed, &[seen]).await.unwrap();
    // a chunk is cut, then cedar unfollows; the push learns that only from Valkey
    world.advance(Duration::from_millis(1));
    let late = store_without_delivery(&world, "ash").await;
    let cut_at = world.now();
    world.unfollow("cedar", "ash").await;
    world.drain().await;
    world.advance(Duration::from_secs(30));
    let order = read(json!({"do": "begin-memory"})).unwrap();
    let begun = execute(&world.admin, order, world.now(), Deadline::NONE).await.unwrap();
    assert_eq!(begun, json!({"begun": 3, "failed": 0}));
    assert_eq!(valkey.read(feed, PostId::MAX, 9, world.now()).await.unwrap(), Read::Unknown);
    let page = world.page(feed, Span::ALL, 9).await;
    assert_eq!(page.source, Source::Rebuild);
    let shown: Vec<PostId> = page.ids().collect();
    assert_eq!(shown, [late, seen]);
    assert_eq!(world.home("cedar").await, []);
    // the chunk arrives: the unfollow in Valkey is of an old memory, so the relation is read again
    let followers = vec![world.id("birch"), world.id("cedar")];
    let chunk = DeliverChunk::new(late, cut_at, followers);
    let delivered = deliver::deliver(&world.app, &[chunk], &[], world.now()).await;
    assert!(delivered.iter().all(Outcome::is_done), "{delivered:?}");
    assert_eq!((world.home("cedar").await, world.home("birch").await), (vec![], vec![late, seen]));
    // a second order begins a memory with another name
    let memory = valkey.memory(feed.user()).await.unwrap();
    execute(&world.admin, AdminOrder::BeginMemory, world.now(), Deadline::NONE).await.unwrap();
    assert_ne!(valkey.memory(feed.user()).await.unwrap(), memory);
}

/// A call may take seconds until its script runs. The memory that the script begins does not know the chunks and
/// changes of those seconds, so it must not begin at the time of the call.
#[tokio::test]
async fn a_memory_begins_later_than_its_call() {
    for by_order in [true, false] {
        let node = Node::start(&[]);
        let world = World::with(&[("REDIS_URL", &node.url()), ("BUCKETS", "1")]).await;
        world.people(&["ash", "cedar"]).await;
        world.follow("cedar", "ash").await;
        world.drain().await;
        assert_eq!(world.home("cedar").await, []);
        let called = world.now();
        world.advance(Duration::from_secs(3));
        let late = store_without_delivery(&world, "ash").await;
        let chunk = DeliverChunk::new(late, world.now(), vec![world.id("cedar")]);
        world.advance(Duration::from_secs(1));
        world.unfollow("cedar", "ash").await;
        world.drain().await;
        let (valkey, feed) = (&world.app.valkey, FeedId::home(world.id("cedar")));
        if by_order {
            valkey.renew(Bucket(0), "an order", called).await.unwrap();
        } else {
            node.cli(&["FLUSHALL"]);
            assert_eq!(valkey.begin(feed, "a rebuild", called).await.unwrap(), RebuildStart::Begun);
            assert!(valkey.commit(feed, "a rebuild", &Slice::EMPTY, &[]).await.unwrap());
        }
        assert_eq!(world.home("cedar").await, []);
        let delivered = deliver::deliver(&world.app, &[chunk], &[], world.now()).await;
        assert!(delivered.iter().all(Outcome::is_done), "{delivered:?}");
        assert_eq!(world.home("cedar").await, [], "cedar has unfollowed ash");
    }
}
