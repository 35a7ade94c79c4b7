//! Rule 1: a post is delivered only after its commit.

use std::time::Duration;

use fanfold_core::fanout::DeliveryCounts;
use fanfold_core::limits::COMMIT_GRACE;
use fanfold_core::{FeedId, PostId, Relation, Slice, UserRef};
use fanfold_engines::valkey::{CachedSlice, Read};
use fanfold_kinds::App;
use fanfold_kinds::fanout::dispatch::{Dispatched, dispatch};
use fanfold_kinds::follows;
use fanfold_kinds::people::items::{HeadBounds, Heads};
use fanfold_kinds::posts;
use fanfold_kinds::posts::entities::Entities;
use fanfold_kinds::posts::items::Post;
use fanfold_kinds::posts::messages::PostPublished;
use fanfold_runtime::StoreError;
use fanfold_runtime::clock::Deadline;
use fanfold_runtime::sqs::Announced;
use fanfold_web::{Problem, ProblemKind};

use crate::harness::world::World;

#[tokio::test]
async fn an_event_without_a_post_is_retried_and_then_done() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let post = PostId::new(world.now(), 1, world.id("ash"));
    let event = PostPublished::new(post);
    let early = dispatch(&world.app, &event, world.now(), Deadline::NONE).await;
    assert!(matches!(early, Err(StoreError::NotCommittedYet { .. })), "{early:?}");
    let late = dispatch(
        &world.app,
        &event,
        world.now() + COMMIT_GRACE + Duration::from_millis(1),
        Deadline::NONE,
    )
    .await;
    assert_eq!(late.unwrap(), Dispatched::NothingToDo);
}

#[tokio::test]
async fn dispatch_waits_briefly_for_the_commit() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let id = PostId::new(world.now(), 1, world.id("ash"));
    let event = PostPublished::new(id);
    let commit = async {
        tokio::time::sleep(Duration::from_millis(30)).await;
        let (identity, sent) = (world.identity("ash"), Announced::assumed());
        let post = Post::new(id, "text", Entities::default());
        let (app, now) = (&world.app, world.now());
        let users = (&app.users, HeadBounds::USUAL, &Heads::EMPTY);
        app.posts.create(sent, users, &identity, (&post, &app.replies), None, now).await.unwrap();
    };
    let (dispatched, ()) =
        futures::join!(dispatch(&world.app, &event, world.now(), Deadline::NONE), commit);
    assert_eq!(dispatched.unwrap(), Dispatched::Pushed(DeliveryCounts::default()));
}

#[tokio::test]
async fn a_post_deleted_before_its_dispatch_is_pushed_to_nobody() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    world.follow("birch", "ash").await;
    world.drain().await;
    let feed = FeedId::home(world.id("birch"));
    world.home("birch").await;
    let post = world.publish("ash", "gone soon").await;
    world.delete("ash", post).await;
    let dispatched =
        dispatch(&world.app, &PostPublished::new(post), world.now(), Deadline::NONE).await;
    assert_eq!(dispatched.unwrap(), Dispatched::NothingToDo);
    let read = world.app.valkey.read(feed, PostId::MAX, 9, world.now()).await;
    assert_eq!(read.unwrap(), Read::Known(CachedSlice { slice: Slice::EMPTY, pulled: Vec::new() }));
}

#[tokio::test]
async fn nothing_is_stored_if_its_event_cannot_be_sent() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    let (identity, now) = (world.identity("ash"), world.now());
    let config = world.config_with_one("POST_EVENTS_QUEUE_URL", "http://127.0.0.1:1/no-such-queue");
    let posts = App::new(&world.sdk, &config).unwrap();
    let refused = posts::publish(&posts, &identity, "text", None, now).await;
    assert_eq!(Problem::from(refused.unwrap_err()).kind, ProblemKind::Unavailable);
    let stored = posts.posts.by_author(world.id("ash"), PostId::MAX, 5).await.unwrap();
    assert_eq!(stored, Slice::EMPTY);
    let config =
        world.config_with_one("CHANGE_EVENTS_QUEUE_URL", "http://127.0.0.1:1/no-such-queue");
    let users = App::new(&world.sdk, &config).unwrap();
    let (birch, follow) = (UserRef::Id(world.id("birch")), Relation::Following);
    let refused = follows::relate(&users, &identity, &birch, follow, now).await;
    assert_eq!(Problem::from(refused.unwrap_err()).kind, ProblemKind::Unavailable);
    let relation = users.graph.relation(world.id("ash"), world.id("birch")).await.unwrap();
    assert_eq!(relation, None);
}
