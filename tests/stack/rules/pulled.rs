//! The posts of authors above a threshold are pulled. An author who crosses the threshold in either direction
//! loses and doubles nothing.

use std::time::Duration;

use fanfold_core::{FeedId, PostId};
use fanfold_engines::feed::Source;
use fanfold_kinds::fanout::dispatch::{Dispatched, dispatch};
use fanfold_kinds::feeds::pulled::PulledState;
use fanfold_kinds::home::Span;
use fanfold_kinds::posts::messages::PostPublished;
use fanfold_runtime::clock::Deadline;

use super::members;
use crate::harness::world::{Message, World};

const READERS: [&str; 4] = ["birch", "cedar", "dogwood", "elm"];

/// Ash has three followers. Authors with three followers are pulled.
async fn world() -> World {
    let settings = [("PULL_FOLLOWERS", "3"), ("SMALL_FOLLOWERS", "0"), ("CHUNK_FOLLOWERS", "1")];
    let world = World::with(&settings).await;
    world.people(&["ash"]).await;
    world.people(&READERS).await;
    for reader in &READERS[..3] {
        world.follow(reader, "ash").await;
    }
    world.drain().await;
    for reader in &READERS {
        world.home(reader).await;
    }
    world
}

async fn state(world: &World) -> Option<PulledState> {
    world.app.pulled.all().await.unwrap().get(&world.id("ash")).copied()
}

async fn post(world: &World, posts: &mut Vec<PostId>) {
    world.advance(Duration::from_millis(1));
    posts.insert(0, world.publish("ash", "text").await);
    world.drain().await;
}

async fn check_readers(world: &World, posts: &[PostId]) {
    for reader in &READERS[..3] {
        assert_eq!(world.home(reader).await, posts, "{reader}");
        let page = world.page(FeedId::home(world.id(reader)), Span::ALL, 3).await;
        assert_eq!(page.source, Source::Cache);
    }
}

#[tokio::test]
async fn crossing_the_threshold_loses_and_doubles_nothing() {
    let (world, mut posts) = (world().await, Vec::new());
    post(&world, &mut posts).await;
    assert_eq!(state(&world).await, Some(PulledState::Pulled));
    let held = members(&world, "birch").await;
    for _ in 0..3 {
        post(&world, &mut posts).await;
    }
    assert_eq!(members(&world, "birch").await, held, "a post is pushed");
    check_readers(&world, &posts).await;
    // a new follower gets a pointer, too
    world.follow("elm", "ash").await;
    world.drain().await;
    post(&world, &mut posts).await;
    assert_eq!(world.home("elm").await, posts);
    world.forget(&["cedar"]).await;
    post(&world, &mut posts).await;
    assert_eq!(world.home("cedar").await, posts);
    // a user who unfollows no longer sees the posts
    world.unfollow("elm", "ash").await;
    world.unfollow("dogwood", "ash").await;
    world.drain().await;
    assert_eq!(world.home("elm").await, []);
    // with two followers, posts are pushed again
    post(&world, &mut posts).await;
    assert_eq!(state(&world).await, None);
    assert!(members(&world, "birch").await > held, "the post is not pushed");
    post(&world, &mut posts).await;
    assert_eq!(world.home("birch").await, posts);
    assert_eq!(world.home("cedar").await, posts);
    world.follow("dogwood", "ash").await;
    world.drain().await;
    post(&world, &mut posts).await;
    assert_eq!(state(&world).await, Some(PulledState::Pulled));
    check_readers(&world, &posts).await;
}

/// Posts are pushed until every follower has the pointer.
#[tokio::test]
async fn posts_are_pushed_until_the_last_pointer_has_arrived() {
    let world = world().await;
    let first = world.publish("ash", "text").await;
    let [Message::Post(event)] = &world.take().await[..] else { panic!("one event") };
    dispatch(&world.app, event, world.now(), Deadline::NONE).await.unwrap();
    assert_eq!(state(&world).await, Some(PulledState::Marking(first)));
    let mut chunks = world.take().await;
    assert!(chunks.len() > 1, "one chunk for each follower, unless two are in the same range");
    let last = chunks.pop().expect("a chunk");
    for chunk in &chunks {
        world.handle(chunk).await.unwrap();
        world.handle(chunk).await.unwrap(); // a repeated chunk is counted once
    }
    assert_eq!(state(&world).await, Some(PulledState::Marking(first)));
    world.advance(Duration::from_millis(1));
    let second = world.publish("ash", "text").await;
    let again = PostPublished::new(second);
    let way = dispatch(&world.app, &again, world.now(), Deadline::NONE).await.unwrap();
    assert_eq!(way, Dispatched::Cut { chunks: chunks.len() + 1 });
    world.handle(&last).await.unwrap();
    assert_eq!(state(&world).await, Some(PulledState::Pulled));
    world.drain().await;
    check_readers(&world, &[second, first]).await;
}
