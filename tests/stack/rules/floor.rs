//! Rule 4: the floor of a feed.

use std::time::Duration;

use fanfold_core::FeedId;
use fanfold_engines::feed::Source;
use fanfold_kinds::fanout::dispatch::dispatch;
use fanfold_kinds::home::Span;
use fanfold_kinds::posts::messages::PostPublished;
use fanfold_runtime::clock::Deadline;

use super::{members, store_without_delivery_at};
use crate::harness::world::World;

#[tokio::test]
async fn pages_continue_below_the_floor_to_the_first_post() {
    let world = World::with(&[("FEED_CAP", "10")]).await;
    world.people(&["ash", "birch"]).await;
    world.follow("birch", "ash").await;
    world.drain().await;
    let mut posts = Vec::new();
    world.home("birch").await;
    for _ in 0..35 {
        world.advance(Duration::from_millis(1));
        posts.insert(0, world.publish("ash", "text").await);
        world.drain().await;
    }
    assert_eq!(world.home("birch").await, posts);
    // pushes check the length of a feed from time to time; the push of the reader's own post always does
    world.advance(Duration::from_millis(1));
    posts.insert(0, world.publish("birch", "text").await);
    world.drain().await;
    let members = members(&world, "birch").await;
    assert!(members <= 10, "{members} members after trims");
    assert_eq!(world.home("birch").await, posts);
    // a late push below the floor changes no page
    let late = store_without_delivery_at(&world, "ash", posts[30].time()).await;
    posts.insert(if late > posts[30] { 30 } else { 31 }, late);
    dispatch(&world.app, &PostPublished::new(late), world.now(), Deadline::NONE).await.unwrap();
    assert_eq!(world.home("birch").await, posts);
}

#[tokio::test]
async fn following_an_author_with_many_posts_leaves_no_gap() {
    let world = World::with(&[("FEED_CAP", "10")]).await;
    world.people(&["ash", "birch"]).await;
    let mut posts = Vec::new();
    for n in 0..30 {
        world.advance(Duration::from_millis(1));
        posts.insert(0, world.publish(if n % 3 == 0 { "birch" } else { "ash" }, "text").await);
    }
    world.drain().await;
    world.home("birch").await;
    world.follow("birch", "ash").await;
    world.drain().await;
    let page = world.page(FeedId::home(world.id("birch")), Span::ALL, 5).await;
    assert_eq!(page.source, Source::Cache);
    assert_eq!(world.home("birch").await, posts);
}

#[tokio::test]
async fn many_posts_of_one_millisecond_are_shown_once_each() {
    let world = World::with(&[("FEED_CAP", "10")]).await;
    world.people(&["ash", "birch"]).await;
    world.follow("birch", "ash").await;
    world.drain().await;
    world.home("birch").await;
    let mut posts = Vec::new();
    // as many posts as the cache holds, and then many more
    for count in [7, 23] {
        for n in 0..count {
            posts.push(world.publish(if n % 2 == 0 { "birch" } else { "ash" }, "text").await);
        }
        world.drain().await;
        posts.sort_unstable_by(|a, b| b.cmp(a));
        for limit in [1, 3, 8, 100] {
            assert_eq!(world.walk(FeedId::home(world.id("birch")), limit).await, posts);
        }
    }
}
