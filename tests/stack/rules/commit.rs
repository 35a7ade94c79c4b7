//! Rule 1: delivered only after the commit.

use fanfold_core::limits::COMMIT_GRACE_MS;
use fanfold_core::message::PostPublished;
use fanfold_core::{PostId, Relation, Slice};
use fanfold_dispatch::handler::{Dispatched, dispatch};
use fanfold_store::StoreError;
use fanfold_store::clock::Deadline;
use fanfold_store::dynamo::posts::Post;
use fanfold_store::feeds::Reached;
use fanfold_store::http::{Kind, UserRef};
use fanfold_store::valkey::{Feed, Held, Read};

use crate::harness::world::World;

#[tokio::test]
async fn an_event_without_its_post_goes_back_until_it_never_will_come() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let post = PostId::new(world.now(), 1, world.id("ash"));
    let event = PostPublished::new(post);
    let early = dispatch(&world.dispatch, &event, world.now(), Deadline::NONE).await;
    assert!(matches!(early, Err(StoreError::NotCommittedYet { .. })), "{early:?}");
    let late =
        dispatch(&world.dispatch, &event, world.now() + COMMIT_GRACE_MS + 1, Deadline::NONE).await;
    assert_eq!(late.unwrap(), Dispatched::NothingToDo);
}

#[tokio::test]
async fn an_event_ahead_of_its_commit_waits_a_moment_for_it() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let id = PostId::new(world.now(), 1, world.id("ash"));
    let event = PostPublished::new(id);
    let commit = async {
        tokio::time::sleep(std::time::Duration::from_millis(30)).await;
        let (identity, table) = (world.identity("ash"), world.posts.users.table());
        let post = Post { id, text: "text".to_owned() };
        world.posts.posts.create(table, &identity, &post, None, world.now()).await.unwrap();
    };
    let (dispatched, ()) =
        futures::join!(dispatch(&world.dispatch, &event, world.now(), Deadline::NONE), commit);
    assert_eq!(dispatched.unwrap(), Dispatched::Pushed(Reached::default()));
}

#[tokio::test]
async fn a_post_deleted_before_its_dispatch_is_pushed_to_nobody() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    world.follow("birch", "ash").await;
    world.drain().await;
    let feed = Feed::home(world.id("birch"));
    world.home("birch").await;
    let post = world.publish("ash", "gone soon").await;
    world.delete("ash", post).await;
    let dispatched =
        dispatch(&world.dispatch, &PostPublished::new(post), world.now(), Deadline::NONE).await;
    assert_eq!(dispatched.unwrap(), Dispatched::NothingToDo);
    let read = world.timeline.feeds.valkey.read(feed, PostId::MAX, 9, world.now()).await;
    assert_eq!(read.unwrap(), Read::Known(Held { slice: Slice::EMPTY, pulled: Vec::new() }));
}

#[tokio::test]
async fn nothing_is_stored_whose_event_cannot_be_sent() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    let (identity, now) = (world.identity("ash"), world.now());
    let config = world.config_but("POST_EVENTS_QUEUE_URL", "http://127.0.0.1:1/no-such-queue");
    let posts = fanfold_posts::App::new(&world.sdk, &config).unwrap();
    let refused = fanfold_posts::handler::publish(&posts, &identity, "text", None, now).await;
    assert_eq!(refused.unwrap_err().kind, Kind::Unavailable);
    let stored = posts.posts.by_author(world.id("ash"), PostId::MAX, 5).await.unwrap();
    assert_eq!(stored, Slice::EMPTY);
    let config = world.config_but("GRAPH_EVENTS_QUEUE_URL", "http://127.0.0.1:1/no-such-queue");
    let users = fanfold_users::App::new(&world.sdk, &config).unwrap();
    let (birch, follow) = (UserRef::Id(world.id("birch")), Relation::Following);
    let refused = fanfold_users::handler::relate(&users, &identity, &birch, follow, now).await;
    assert_eq!(refused.unwrap_err().kind, Kind::Unavailable);
    let relation = users.graph.relation(world.id("ash"), world.id("birch")).await.unwrap();
    assert_eq!(relation, None);
}
