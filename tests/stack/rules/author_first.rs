//! Rule 2: the author feed first.

use fanfold_core::message::PostPublished;
use fanfold_dispatch::handler::{Dispatched, dispatch};
use fanfold_store::clock::Deadline;
use fanfold_store::valkey::Feed;

use super::only_stored;
use crate::harness::world::{Message, World};

#[tokio::test]
async fn who_follows_while_chunks_wait_finds_the_post_in_the_author_feed() {
    let world = World::with(&[("CHUNK_FOLLOWERS", "1"), ("SMALL_FOLLOWERS", "0")]).await;
    world.people(&["ash", "birch", "cedar", "dogwood"]).await;
    world.follow("birch", "ash").await;
    world.follow("cedar", "ash").await;
    world.drain().await;
    // live before: the author feed that a backfill reads, and the feed of who follows next
    world.walk(Feed::author(world.id("ash")), 5).await;
    world.home("dogwood").await;
    let post = only_stored(&world, "ash").await;
    let dispatched =
        dispatch(&world.dispatch, &PostPublished::new(post), world.now(), Deadline::NONE).await;
    assert!(matches!(dispatched, Ok(Dispatched::Cut { .. })), "{dispatched:?}");
    world.follow("dogwood", "ash").await;
    for message in world.take().await {
        if matches!(message, Message::Relation(_)) {
            world.handle(&message).await.unwrap();
        }
    }
    assert_eq!(world.home("dogwood").await, [post]);
}
