//! A dispatch close to its time limit sends the rest of its work as a message. A dispatch to a large audience
//! is divided.

use std::time::Duration;

use fanfold_core::PostId;
use fanfold_kinds::fanout::dispatch::{Dispatched, dispatch};
use fanfold_runtime::clock::{Deadline, now};

use crate::harness::world::{Message, World};

async fn world(settings: &[(&str, &str)], readers: &[String]) -> World {
    let mut world = World::with(settings).await;
    world.app.settings.page_followers = 3;
    let readers: Vec<&str> = readers.iter().map(String::as_str).collect();
    world.people(&["ash"]).await;
    world.people(&readers).await;
    for reader in &readers {
        world.follow(reader, "ash").await;
    }
    world.drain().await;
    for reader in &readers {
        world.home(reader).await;
    }
    world
}

fn readers(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("reader{n}")).collect()
}

async fn check_all_have(world: &World, readers: &[String], post: PostId) {
    for reader in readers {
        assert_eq!(world.home(reader).await, [post], "{reader}");
    }
    let receipt = world.app.receipts.receipt(post).await.unwrap();
    assert_eq!(receipt.reached.delivered, readers.len() as u64, "{receipt:?}");
    assert!(receipt.completed_at.is_some(), "{receipt:?}");
}

#[tokio::test]
async fn a_dispatch_without_time_sends_the_rest_as_a_message() {
    let readers = readers(10);
    let world = world(&[("CHUNK_FOLLOWERS", "2"), ("SMALL_FOLLOWERS", "2")], &readers).await;
    let post = world.publish("ash", "text").await;
    let (mut parts, mut continued) = (0, 0);
    let mut waiting = world.take().await;
    while let Some(message) = waiting.pop() {
        match &message {
            Message::Post(event) => {
                parts += 1;
                let app = &world.app;
                // each part handles at least one page, however little time is left
                let soon = Deadline::at(now() + Duration::from_millis(100));
                let done = dispatch(app, event, world.now(), soon).await.unwrap();
                continued += usize::from(matches!(done, Dispatched::Continued { .. }));
            }
            message => world.handle(message).await.unwrap(),
        }
        if waiting.is_empty() {
            waiting = world.take().await;
        }
        assert!(parts < 200, "the dispatch does not end");
    }
    assert!(continued >= 3 && parts == continued + 1, "{parts} {continued}");
    check_all_have(&world, &readers, post).await;
}

/// The messages of a large audience are on separate queues. None of them is on the queues of other posts.
#[tokio::test]
async fn a_large_audience_uses_its_own_queues() {
    let readers = readers(7);
    let settings = [("CHUNK_FOLLOWERS", "2"), ("SMALL_FOLLOWERS", "2"), ("BULK_FOLLOWERS", "6")];
    let world = world(&settings, &readers).await;
    let post = world.publish("ash", "text").await;
    let [event] = world.take().await.try_into().expect("one event");
    world.handle(&event).await.unwrap();
    let lengths = async || {
        let mut lengths = Vec::new();
        for queue in ["POST_EVENTS", "BULK_EVENTS", "CHUNKS", "BULK_CHUNKS"] {
            lengths.push(world.length(&format!("{queue}_QUEUE_URL")).await);
        }
        lengths
    };
    assert_eq!(lengths().await, [0, 1, 0, 0]);
    let [part] = world.take().await.try_into().expect("one part");
    world.handle(&part).await.unwrap();
    let [0, 0, 0, chunks] = lengths().await[..] else { panic!("{:?}", lengths().await) };
    // followers in the same range stay together
    assert!((3..=7).contains(&chunks), "{chunks} chunks of two for seven");
    world.drain().await;
    check_all_have(&world, &readers, post).await;
}
