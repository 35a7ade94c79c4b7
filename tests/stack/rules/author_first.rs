//! Rule 2: the author feed gets a post before the followers are read.

use fanfold_core::{FeedId, PostId};
use fanfold_kinds::App;
use fanfold_kinds::fanout::dispatch::{Dispatched, dispatch};
use fanfold_kinds::posts::messages::PostPublished;
use fanfold_runtime::StoreError;
use fanfold_runtime::clock::Deadline;

use super::store_without_delivery;
use crate::harness::world::{Message, World};

#[tokio::test]
async fn a_user_who_follows_while_chunks_wait_gets_the_post() {
    let world = World::with(&[("CHUNK_FOLLOWERS", "1"), ("SMALL_FOLLOWERS", "0")]).await;
    world.people(&["ash", "birch", "cedar", "dogwood"]).await;
    world.follow("birch", "ash").await;
    world.follow("cedar", "ash").await;
    world.drain().await;
    // make two feeds live: the author feed, which a backfill reads, and the home feed of the next follower
    world.walk(FeedId::author(world.id("ash")), 5).await;
    world.home("dogwood").await;
    let post = store_without_delivery(&world, "ash").await;
    let dispatched =
        dispatch(&world.app, &PostPublished::new(post), world.now(), Deadline::NONE).await;
    assert!(matches!(dispatched, Ok(Dispatched::Cut { .. })), "{dispatched:?}");
    world.follow("dogwood", "ash").await;
    for message in world.take().await {
        if matches!(message, Message::Relation(_)) {
            world.handle(&message).await.unwrap();
        }
    }
    assert_eq!(world.home("dogwood").await, [post]);
}

/// A dispatch that cannot read the followers fails. The author feed has the post by then, so whoever follows after the
/// followers are read finds the post there.
#[tokio::test]
async fn the_author_feed_has_the_post_before_the_followers_are_read() {
    let mut world = World::with(&[("SMALL_FOLLOWERS", "0")]).await;
    world.people(&["ash", "birch"]).await;
    world.follow("birch", "ash").await;
    world.drain().await;
    let feed = FeedId::author(world.id("ash"));
    world.walk(feed, 5).await;
    let post = store_without_delivery(&world, "ash").await;
    let config = world.config_with_one("GRAPH_TABLE", "no-such-table");
    world.app.graph = App::new(&world.sdk, &config).unwrap().graph;
    let event = PostPublished::new(post);
    let failed = dispatch(&world.app, &event, world.now(), Deadline::NONE).await;
    assert!(matches!(failed, Err(StoreError::DynamoDb { .. })), "{failed:?}");
    let read = world.app.valkey.read(feed, PostId::MAX, 9, world.now()).await.unwrap();
    assert_eq!(read.known().map(|cached| cached.slice.posts), Some(vec![post]));
}
