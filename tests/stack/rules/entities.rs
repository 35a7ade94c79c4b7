//! Mentions, tags and links of posts: what a mention means, for every reader and for as long as the post exists.

use std::time::Duration;

use fanfold_core::FeedId;
use fanfold_engines::due::ItemDue;
use fanfold_engines::feed::Source;
use fanfold_kinds::home::Span;
use fanfold_kinds::people;
use fanfold_kinds::people::cards::of_profile;
use fanfold_kinds::people::items::ProfilePut;
use fanfold_kinds::scheduled::{self, NewScheduled};
use fanfold_runtime::sqs::Announced;

use crate::harness::world::{Message, World};

/// The entities of the newest post in a feed, and where the page came from.
async fn newest(world: &World, feed: FeedId) -> (String, Source) {
    let page = world.page(feed, Span::ALL, 1).await;
    (page.posts[0].post.entities.clone().into(), page.source)
}

#[tokio::test]
async fn a_mention_keeps_its_user() {
    let world = World::new().await;
    world.people(&["ash", "birch", "cedar"]).await;
    world.follow("cedar", "ash").await;
    world.drain().await;
    let home = FeedId::home(world.id("cedar"));
    world.page(home, Span::ALL, 1).await;
    world.publish("ash", "@Birch and @nobody: #Rust https://example.com/@cedar").await;
    world.drain().await;
    let entities = format!("0-6@{} 20-25#rust 26-52", world.id("birch"));
    assert_eq!(newest(&world, home).await, (entities.clone(), Source::Cache));
    // somebody else gets the handle, and somebody gets that of nobody
    world.rename("birch", "birch_2", "Birch").await;
    world.rename("cedar", "birch", "Cedar").await;
    world.people(&["nobody"]).await;
    assert_eq!(newest(&world, home).await, (entities.clone(), Source::Cache));
    world.forget(&["cedar"]).await;
    assert_eq!(newest(&world, home).await, (entities.clone(), Source::Rebuild));
    // whoever is mentioned from now on is somebody else
    world.advance(Duration::from_millis(1));
    world.publish("ash", "@birch").await;
    world.drain().await;
    let now = format!("0-6@{}", world.id("cedar"));
    assert_eq!(newest(&world, home).await.0, now);
    // the user is gone, and the mention leads to nobody
    world.drop_user("birch").await;
    let page = world.page(home, Span::ALL, 2).await;
    assert_eq!(String::from(page.posts[1].post.entities.clone()), entities);
}

/// The handles of a scheduled post are those of its time.
#[tokio::test]
async fn a_scheduled_post_mentions_who_has_the_handle_when_it_is_published() {
    let world = World::new().await;
    world.people(&["ash", "birch", "cedar"]).await;
    let (ash, publish_at) = (world.identity("ash"), world.now() + Duration::from_secs(60));
    let new = NewScheduled { post: "@birch @later".into(), publish_at, key: None };
    let item = scheduled::schedule(&world.app, &ash, new, world.now()).await.expect("scheduled");
    world.rename("birch", "birch_2", "Birch").await;
    world.rename("cedar", "birch", "Cedar").await;
    world.people(&["later"]).await;
    world.advance(Duration::from_secs(60));
    let stored = world.app.scheduled.scheduled(item.id).await.expect("read").expect("an item");
    world.handle(&Message::Due(ItemDue::new(stored.entry()))).await.expect("published");
    let (cedar, later) = (world.id("cedar"), world.id("later"));
    let entities = newest(&world, FeedId::author(world.id("ash"))).await.0;
    assert_eq!(entities, format!("0-6@{cedar} 7-13@{later}"));
}

/// A writer cannot mark the hints of handles: the reader finds out by the user's card.
#[tokio::test]
async fn an_old_hint_leads_to_nobody_new() {
    let world = World::new().await;
    world.people(&["ash", "birch", "cedar"]).await;
    let author = FeedId::author(world.id("ash"));
    world.publish("ash", "@birch @late").await;
    assert_eq!(newest(&world, author).await.0, format!("0-6@{}", world.id("birch")));
    for (user, handle) in [("birch", "birch_2"), ("cedar", "birch")] {
        let (identity, handle) = (world.identity(user), handle.parse().expect("a handle"));
        let put = world.app.users.put_profile(Announced::assumed(), &identity, &handle, user).await;
        assert!(matches!(put.expect("renamed"), ProfilePut::Changed(_)));
        world.app.valkey.cards_changed(&of_profile(identity.user())).await.expect("marked");
    }
    world.advance(Duration::from_millis(1));
    world.publish("ash", "@birch").await;
    assert_eq!(newest(&world, author).await.0, format!("0-6@{}", world.id("cedar")));
    // that a handle belongs to nobody is remembered until somebody takes it
    world.advance(Duration::from_millis(1));
    world.publish("ash", "@late").await;
    assert_eq!(newest(&world, author).await.0, "");
    let (late, now) = (world.identity("late"), world.now());
    people::put_profile(&world.app, &late, "late", "Late", now).await.expect("a profile");
    world.advance(Duration::from_millis(1));
    world.publish("ash", "@late").await;
    assert_eq!(newest(&world, author).await.0, format!("0-5@{}", world.id("late")));
}
