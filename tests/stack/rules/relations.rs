//! Rules 5 and 6: the last change of a relation wins, and handlers check messages against the tables.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fanfold_core::fanout::{DeliveryCounts, RANGES, Share};
use fanfold_core::limits::{CLOCKS_DIFFER, COMMIT_GRACE, MEMORY_BEGINS_WITHIN, REL_KEPT};
use fanfold_core::{Bucket, FeedId, Partition, PostId, Relation, Slice, UserRef};
use fanfold_engines::feed::PostSource as _;
use fanfold_engines::reading::ReadContext;
use fanfold_engines::valkey::{
    Answers, CachedSlice, FeedSettings, Link, Read, RebuildStart, Valkey,
};
use fanfold_kinds::fanout::deliver;
use fanfold_kinds::fanout::messages::DeliverChunk;
use fanfold_kinds::fanout::receipts::Plan;
use fanfold_kinds::follows;
use fanfold_kinds::follows::messages::RelationChanged;
use fanfold_runtime::StoreError;
use fanfold_runtime::sqs::Outcome;
use redis::aio::{ConnectionLike as _, MultiplexedConnection};
use redis::{Cmd, RedisFuture, Value};
use tokio::sync::Notify;

use super::store_without_delivery;
use crate::harness::world::{Message, World};

#[tokio::test]
async fn the_last_change_wins_in_any_order_of_events() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    let post = world.publish("ash", "text").await;
    world.drain().await;
    world.home("birch").await;
    for last in [Relation::Following, Relation::NotFollowing] {
        world.follow("birch", "ash").await;
        world.unfollow("birch", "ash").await;
        if last == Relation::Following {
            world.follow("birch", "ash").await;
        }
        let mut messages = world.take().await;
        messages.reverse();
        messages.extend(messages.clone());
        for message in messages {
            world.handle(&message).await.unwrap();
        }
        let expected = if last == Relation::Following { vec![post] } else { vec![] };
        assert_eq!(world.home("birch").await, expected);
    }
}

#[tokio::test]
async fn a_push_or_rebuild_under_way_respects_an_unfollow() {
    let world = World::with(&[("CHUNK_FOLLOWERS", "1"), ("SMALL_FOLLOWERS", "0")]).await;
    world.people(&["ash", "birch", "cedar"]).await;
    world.follow("birch", "ash").await;
    world.follow("cedar", "ash").await;
    world.drain().await;
    let feed = FeedId::home(world.id("birch"));
    world.home("birch").await;
    // a push is under way
    world.publish("ash", "under way").await;
    for message in world.take().await {
        world.handle(&message).await.unwrap();
    }
    let chunks = world.take().await;
    assert!(!chunks.is_empty());
    // a rebuild is under way
    let valkey = &world.app.valkey;
    world.forget(&["birch"]).await;
    assert_eq!(valkey.begin(feed, "1", world.now()).await.unwrap(), RebuildStart::Begun);
    let slice = world.app.pull(feed, PostId::MAX, 9, &ReadContext::new(world.now())).await.unwrap();
    assert_eq!(slice.posts.len(), 1);
    world.unfollow("birch", "ash").await;
    world.drain().await;
    for chunk in &chunks {
        world.handle(chunk).await.unwrap();
    }
    assert!(valkey.commit(feed, "1", &slice, &[]).await.unwrap());
    let read = valkey.read(feed, PostId::MAX, 9, world.now()).await.unwrap();
    let nothing = CachedSlice { slice: Slice::EMPTY, pulled: Vec::new() };
    assert_eq!(read, Read::Known(nothing), "a post of ash is left");
}

#[tokio::test]
async fn a_chunk_older_than_valkeys_memory_reads_the_relations_again() {
    let world = World::new().await;
    world.people(&["ash", "birch", "cedar"]).await;
    world.follow("cedar", "ash").await;
    world.drain().await;
    world.home("birch").await;
    world.home("cedar").await;
    // Valkey's memory begins before the followers are read: the age of the chunk alone decides
    world.advance(MEMORY_BEGINS_WITHIN + CLOCKS_DIFFER + Duration::from_millis(1));
    let post = store_without_delivery(&world, "ash").await;
    // birch unfollowed so long ago that Valkey has dropped the relation
    let followers = vec![world.id("birch"), world.id("cedar")];
    let (share, read_at) = (Share { partition: Partition(0), from: 0, to: RANGES }, world.now());
    let chunk = DeliverChunk { share: Some(share), ..DeliverChunk::new(post, read_at, followers) };
    let receipts = &world.app.receipts;
    let plan = Plan { partitions: 1, followers: 2, mark: None };
    receipts.plan(post, plan, read_at).await.unwrap();
    let later = world.now() + REL_KEPT + Duration::from_millis(1);
    let delivered = deliver::deliver(&world.app, &[chunk], &[], later).await;
    assert!(delivered.iter().all(Outcome::is_done), "{delivered:?}");
    let receipt = receipts.receipt(post).await.unwrap();
    let reached = DeliveryCounts { delivered: 1, not_live: 0, unfollowed: 1, late: 2 };
    assert_eq!((receipt.reached, receipt.completed_at), (reached, Some(later)));
    assert_eq!(world.home("birch").await, []);
    assert_eq!(world.home("cedar").await, [post]);
}

#[tokio::test]
async fn a_change_is_later_than_the_change_before_even_if_the_clock_is_slow() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    world.follow("birch", "ash").await;
    let graph = &world.app.graph;
    let first = graph.relation(world.id("birch"), world.id("ash")).await.unwrap().unwrap();
    let (identity, slow) = (world.identity("birch"), world.now() - Duration::from_secs(5));
    let user = UserRef::Id(world.id("ash"));
    follows::relate(&world.app, &identity, &user, Relation::NotFollowing, slow).await.unwrap();
    let second = graph.relation(world.id("birch"), world.id("ash")).await.unwrap().unwrap();
    assert!(second.wins_over(first) && second.relation == Relation::NotFollowing);
}

#[tokio::test]
async fn an_event_without_a_committed_change_changes_nothing() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    world.follow("birch", "ash").await;
    world.drain().await;
    let post = world.publish("ash", "text").await;
    world.drain().await;
    // the event of an unfollow with a failed transaction
    let event = RelationChanged {
        follower: world.id("birch"),
        author: world.id("ash"),
        changed_at: world.now() + Duration::from_millis(1),
    };
    let early = world.handle(&Message::Relation(event.clone())).await;
    assert!(matches!(early, Err(StoreError::NotCommittedYet { .. })), "{early:?}");
    world.advance(COMMIT_GRACE + Duration::from_millis(2));
    world.handle(&Message::Relation(event)).await.unwrap();
    assert_eq!(world.home("birch").await, [post]);
}

#[tokio::test]
async fn valkey_drops_old_relation_changes_while_new_ones_arrive() {
    let world = World::with(&[("BUCKETS", "1")]).await;
    world.people(&["ash", "birch", "cedar"]).await;
    world.home("birch").await;
    world.follow("birch", "ash").await;
    world.drain().await;
    world.advance(REL_KEPT + Duration::from_secs(1));
    world.follow("cedar", "ash").await;
    world.drain().await;
    let rel = world.app.valkey.keys().rel(Bucket(0), world.id("ash"));
    let mut connection = world.redis().await;
    let left = redis::cmd("ZRANGE").arg(&rel).arg(0).arg(-1).to_owned();
    let mut left: Vec<String> = left.query_async(&mut connection).await.unwrap();
    left.retain(|member| !member.starts_with('M'));
    assert_eq!(left, [world.id("cedar").to_string()]);
}

/// A real server. The first call that changes relations is announced, and waits until it may go on.
struct Gate {
    connection: MultiplexedConnection,
    arrived: Notify,
    go: Notify,
    is_open: AtomicBool,
}

impl Answers for Gate {
    fn answer<'a>(&'a self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        let mut words = command.args_iter();
        let is_relate = words
            .any(|word| matches!(word, redis::Arg::Simple(word) if word.starts_with(b"rels:")));
        let mut connection = self.connection.clone();
        Box::pin(async move {
            if is_relate && !self.is_open.swap(true, Ordering::SeqCst) {
                self.arrived.notify_one();
                self.go.notified().await;
            }
            connection.req_packed_command(command).await
        })
    }
}

/// A follow is recorded, and then backfilled. A post that is pushed just before the follow is recorded is left out,
/// because the user had unfollowed the author earlier. The backfill must therefore be read after the recording.
#[tokio::test]
async fn a_post_that_is_pushed_before_a_follow_is_recorded_is_backfilled() {
    let mut world = World::new().await;
    world.people(&["ash", "birch"]).await;
    world.home("birch").await;
    world.advance(MEMORY_BEGINS_WITHIN + Duration::from_secs(5));
    world.follow("birch", "ash").await;
    world.unfollow("birch", "ash").await;
    world.drain().await;
    world.follow("birch", "ash").await;
    let follow = world.take().await.pop().expect("an event");
    let (connection, closed) = (world.redis().await, || Notify::new());
    let gate = Arc::new(Gate {
        connection,
        arrived: closed(),
        go: closed(),
        is_open: AtomicBool::new(false),
    });
    let settings = FeedSettings::read(&world.config).unwrap();
    world.app.valkey = Valkey::over(Link::given(gate.clone()), &settings);
    let push = async {
        gate.arrived.notified().await;
        let post = world.publish("ash", "text").await;
        let Some(event @ Message::Post(_)) = world.take().await.pop() else { panic!("no event") };
        world.handle(&event).await.unwrap();
        gate.go.notify_one();
        post
    };
    let (handled, post) = tokio::join!(world.handle(&follow), push);
    handled.unwrap();
    let feed = world.app.valkey.peek(FeedId::home(world.id("birch")), 10).await;
    assert_eq!(feed.unwrap().known().expect("a live feed").slice.posts, [post]);
}
