//! Rules 5 and 6: the last change wins, and messages are never trusted.

use fanfold_core::fanout::{RANGES, Share};
use fanfold_core::limits::{COMMIT_GRACE_MS, REL_KEPT_MS};
use fanfold_core::message::{DeliverChunk, RelationChanged};
use fanfold_core::{PostId, Relation, Slice};
use fanfold_store::StoreError;
use fanfold_store::dynamo::receipts::Plan;
use fanfold_store::feeds::Reached;
use fanfold_store::feeds::Reading;
use fanfold_store::valkey::Held;
use fanfold_store::valkey::{Begun, Feed, Read};

use super::only_stored;
use crate::harness::world::{Message, World};

#[tokio::test]
async fn relation_events_in_any_order_leave_the_last_change() {
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
async fn what_is_on_its_way_after_an_unfollow_does_no_harm() {
    let world = World::with(&[("CHUNK_FOLLOWERS", "1"), ("SMALL_FOLLOWERS", "0")]).await;
    world.people(&["ash", "birch", "cedar"]).await;
    world.follow("birch", "ash").await;
    world.follow("cedar", "ash").await;
    world.drain().await;
    let feed = Feed::home(world.id("birch"));
    world.home("birch").await;
    // a push on its way
    world.publish("ash", "on its way").await;
    for message in world.take().await {
        world.handle(&message).await.unwrap();
    }
    let chunks = world.take().await;
    assert!(!chunks.is_empty());
    // a rebuild on its way
    let valkey = &world.timeline.feeds.valkey;
    world.forget(&["birch"]).await;
    assert_eq!(valkey.begin(feed, "1", world.now()).await.unwrap(), Begun::Begun);
    let slice =
        world.timeline.feeds.pull(feed, PostId::MAX, 9, &Reading::new(world.now())).await.unwrap();
    assert_eq!(slice.posts.len(), 1);
    world.unfollow("birch", "ash").await;
    world.drain().await;
    for chunk in &chunks {
        world.handle(chunk).await.unwrap();
    }
    assert!(valkey.commit(feed, "1", &slice, &[]).await.unwrap());
    let read = valkey.read(feed, PostId::MAX, 9, world.now()).await.unwrap();
    let nothing = Held { slice: Slice::EMPTY, pulled: Vec::new() };
    assert_eq!(read, Read::Known(nothing), "nothing of ash may be left");
}

#[tokio::test]
async fn a_chunk_older_than_valkeys_memory_asks_who_still_follows() {
    let world = World::new().await;
    world.people(&["ash", "birch", "cedar"]).await;
    world.follow("cedar", "ash").await;
    world.drain().await;
    world.home("birch").await;
    world.home("cedar").await;
    let post = only_stored(&world, "ash").await;
    // birch unfollowed so long ago that Valkey has forgotten it
    let followers = vec![world.id("birch"), world.id("cedar")];
    let (share, read_at_ms) = (Share { shard: 0, from: 0, to: RANGES }, world.now());
    let chunk =
        DeliverChunk { share: Some(share), ..DeliverChunk::new(post, read_at_ms, followers) };
    let receipts = &world.deliver.receipts;
    let plan = Plan { shards: 1, followers: 2, mark: None };
    receipts.plan(post, plan, read_at_ms).await.unwrap();
    let later = world.now() + REL_KEPT_MS + 1;
    let delivered = fanfold_deliver::handler::deliver(&world.deliver, &[chunk], later).await;
    assert!(delivered.iter().all(Result::is_ok), "{delivered:?}");
    let receipt = receipts.receipt(post).await.unwrap();
    let reached = Reached { delivered: 1, not_live: 0, unfollowed: 1, late: 2 };
    assert_eq!((receipt.reached, receipt.completed_at_ms), (reached, Some(later)));
    assert_eq!(world.home("birch").await, []);
    assert_eq!(world.home("cedar").await, [post]);
}

#[tokio::test]
async fn the_time_of_a_change_is_later_than_the_last_one_whatever_the_clock_says() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    world.follow("birch", "ash").await;
    let graph = &world.users.graph;
    let first = graph.relation(world.id("birch"), world.id("ash")).await.unwrap().unwrap();
    let (identity, slow) = (world.identity("birch"), world.now() - 5_000);
    let user = fanfold_store::http::UserRef::Id(world.id("ash"));
    let relate = fanfold_users::handler::relate;
    relate(&world.users, &identity, &user, Relation::NotFollowing, slow).await.unwrap();
    let second = graph.relation(world.id("birch"), world.id("ash")).await.unwrap().unwrap();
    assert!(second.wins_over(first) && second.relation == Relation::NotFollowing);
}

#[tokio::test]
async fn an_event_whose_change_was_never_committed_changes_nothing() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    world.follow("birch", "ash").await;
    world.drain().await;
    let post = world.publish("ash", "text").await;
    world.drain().await;
    // the event of an unfollow, whose transaction failed
    let event = RelationChanged::new(world.id("birch"), world.id("ash"), world.now() + 1);
    let early = world.handle(&Message::Relation(event.clone())).await;
    assert!(matches!(early, Err(StoreError::NotCommittedYet { .. })), "{early:?}");
    world.advance(COMMIT_GRACE_MS + 2);
    world.handle(&Message::Relation(event)).await.unwrap();
    assert_eq!(world.home("birch").await, [post]);
}

#[tokio::test]
async fn valkey_forgets_old_changes_though_new_ones_keep_coming() {
    let world = World::with(&[("BUCKETS", "1")]).await;
    world.people(&["ash", "birch", "cedar"]).await;
    world.home("birch").await;
    world.follow("birch", "ash").await;
    world.drain().await;
    world.advance(REL_KEPT_MS + 1_000);
    world.follow("cedar", "ash").await;
    world.drain().await;
    let rel = world.timeline.feeds.valkey.keys().rel(0, world.id("ash"));
    let mut connection = world.redis().await;
    let left = redis::cmd("ZRANGE").arg(&rel).arg(0).arg(-1).to_owned();
    let mut left: Vec<String> = left.query_async(&mut connection).await.unwrap();
    left.retain(|member| !member.starts_with('M'));
    assert_eq!(left, [world.id("cedar").to_string()]);
}
