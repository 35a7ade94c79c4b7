//! Rule 7: a page is full or it is the last.

use std::time::Duration;

use fanfold_core::{FeedId, PostId};
use fanfold_engines::feed::Source;
use fanfold_kinds::home::Span;

use super::members;
use crate::harness::world::World;

#[tokio::test]
async fn deleted_posts_are_replaced_from_below_and_their_entries_removed() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    world.follow("birch", "ash").await;
    world.drain().await;
    world.home("birch").await;
    let mut posts = Vec::new();
    for _ in 0..12 {
        world.advance(Duration::from_millis(1));
        posts.insert(0, world.publish("ash", "text").await);
    }
    world.drain().await;
    let feed = FeedId::home(world.id("birch"));
    let first = world.page(feed, Span::ALL, 4).await;
    // delete the post at the cursor, and most posts of the next page
    for post in &posts[3..7] {
        world.delete("ash", *post).await;
    }
    let next = Span { before: first.next_before.unwrap(), ..Span::ALL };
    let second = world.page(feed, next, 4).await;
    let ids: Vec<PostId> = second.ids().collect();
    assert_eq!((ids.as_slice(), second.source), (&posts[7..11], Source::Cache));
    assert_eq!(
        members(&world, "birch").await,
        12 - 3 + 2,
        "the entries of three deleted posts are removed; the cursor's entry, floor and memory stay"
    );
    let last = Span { before: second.next_before.unwrap(), ..Span::ALL };
    let third = world.page(feed, last, 4).await;
    assert_eq!((third.posts.len(), third.next_before), (1, None));
}
