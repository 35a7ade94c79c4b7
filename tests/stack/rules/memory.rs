//! What Valkey remembers, and since when.

use fanfold_admin::handler::obey;
use fanfold_admin::order::{Order, read};
use fanfold_core::message::DeliverChunk;
use fanfold_core::{Change, PostId, Relation, Slice};
use fanfold_store::clock::Deadline;
use fanfold_store::feeds::{Source, Span};
use fanfold_store::valkey::{Begun, Feed, Read, Related};
use serde_json::json;

use super::only_stored;
use crate::harness::valkeys::Node;
use crate::harness::world::World;

/// Everything is lost within the millisecond in which the server's memory began. A relation that was read
/// before the loss must not be applied after it.
#[tokio::test]
async fn a_memory_that_begins_in_the_same_millisecond_has_another_name() {
    let node = Node::start(&[]);
    let world = World::with(&[("REDIS_URL", &node.url()), ("BUCKETS", "1")]).await;
    let (valkey, now) = (&world.timeline.feeds.valkey, world.now());
    let feed = Feed::home(world.id("birch"));
    assert_eq!(valkey.begin(feed, "one", now).await.unwrap(), Begun::Begun);
    let before = valkey.memory(feed.user).await.unwrap();
    node.cli(&["FLUSHALL"]);
    assert_eq!(valkey.begin(feed, "two", now).await.unwrap(), Begun::Begun);
    let after = valkey.memory(feed.user).await.unwrap();
    assert_ne!(before, after);
    let change = Change { relation: Relation::Following, at_ms: now };
    let related = valkey.relate(feed.user, world.id("ash"), change, None, &before).await;
    assert_eq!(related.unwrap(), Related::Again, "it was read before everything was lost");
}

#[tokio::test]
async fn an_operator_lets_every_feed_begin_again() {
    let node = Node::start(&[]);
    let world = World::with(&[("REDIS_URL", &node.url()), ("BUCKETS", "3")]).await;
    world.people(&["ash", "birch", "cedar"]).await;
    world.follow("birch", "ash").await;
    world.follow("cedar", "ash").await;
    world.drain().await;
    let seen = world.publish("ash", "seen").await;
    world.drain().await;
    assert_eq!((world.home("birch").await, world.home("cedar").await), (vec![seen], vec![seen]));
    // a feed is wrong, whatever the reason
    let (valkey, feed) = (&world.timeline.feeds.valkey, Feed::home(world.id("birch")));
    valkey.remove(feed, &[seen]).await.unwrap();
    // a chunk is cut, then cedar unfollows, and Valkey alone remembers that
    world.advance(1);
    let late = only_stored(&world, "ash").await;
    let cut_at_ms = world.now();
    world.unfollow("cedar", "ash").await;
    world.drain().await;
    world.advance(30_000);
    let order = read(json!({"do": "begin-memory"})).unwrap();
    let begun = obey(&world.admin, order, world.now(), Deadline::NONE).await.unwrap();
    assert_eq!(begun, json!({"begun": 3, "failed": 0}));
    assert_eq!(valkey.read(feed, PostId::MAX, 9, world.now()).await.unwrap(), Read::Unknown);
    let page = world.page(feed, Span::ALL, 9).await;
    assert_eq!(page.source, Source::Rebuild);
    let shown: Vec<PostId> = page.posts.iter().map(|post| post.id).collect();
    assert_eq!(shown, [late, seen]);
    assert_eq!(world.home("cedar").await, []);
    // the chunk arrives: what was known of the unfollow is not believed any more, so it is asked for
    let followers = vec![world.id("birch"), world.id("cedar")];
    let chunk = DeliverChunk::new(late, cut_at_ms, followers);
    let delivered = fanfold_deliver::handler::deliver(&world.deliver, &[chunk], world.now()).await;
    assert!(delivered.iter().all(Result::is_ok), "{delivered:?}");
    assert_eq!((world.home("cedar").await, world.home("birch").await), (vec![], vec![late, seen]));
    // and a second order has a name of its own
    let memory = valkey.memory(feed.user).await.unwrap();
    obey(&world.admin, Order::BeginMemory, world.now(), Deadline::NONE).await.unwrap();
    assert_ne!(valkey.memory(feed.user).await.unwrap(), memory);
}

/// A call may take seconds until its script runs. What was cut or changed in the meantime is not known to
/// the memory that the script begins, so that memory must not claim to know it.
#[tokio::test]
async fn a_memory_knows_nothing_of_the_time_until_its_script_ran() {
    for by_order in [true, false] {
        let node = Node::start(&[]);
        let world = World::with(&[("REDIS_URL", &node.url()), ("BUCKETS", "1")]).await;
        world.people(&["ash", "cedar"]).await;
        world.follow("cedar", "ash").await;
        world.drain().await;
        assert_eq!(world.home("cedar").await, []);
        let called_ms = world.now();
        world.advance(3_000);
        let late = only_stored(&world, "ash").await;
        let chunk = DeliverChunk::new(late, world.now(), vec![world.id("cedar")]);
        world.advance(1_000);
        world.unfollow("cedar", "ash").await;
        world.drain().await;
        let (valkey, feed) = (&world.timeline.feeds.valkey, Feed::home(world.id("cedar")));
        if by_order {
            valkey.renew(0, "an order", called_ms).await.unwrap();
        } else {
            node.cli(&["FLUSHALL"]);
            assert_eq!(valkey.begin(feed, "a rebuild", called_ms).await.unwrap(), Begun::Begun);
            assert!(valkey.commit(feed, "a rebuild", &Slice::EMPTY, &[]).await.unwrap());
        }
        assert_eq!(world.home("cedar").await, []);
        let delivered =
            fanfold_deliver::handler::deliver(&world.deliver, &[chunk], world.now()).await;
        assert!(delivered.iter().all(Result::is_ok), "{delivered:?}");
        assert_eq!(world.home("cedar").await, [], "cedar has unfollowed ash");
    }
}
