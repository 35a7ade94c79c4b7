//! A dispatch that nears its time limit hands on the rest and loses nothing.

use fanfold_dispatch::handler::{Dispatched, dispatch};
use fanfold_store::clock::{Deadline, now_ms};

use crate::harness::world::{Message, World};

#[tokio::test]
async fn a_dispatch_without_time_hands_on_the_rest() {
    let mut world = World::with(&[("CHUNK_FOLLOWERS", "2")]).await;
    world.dispatch.page_followers = 3;
    let readers: Vec<String> = (0..10).map(|n| format!("reader{n}")).collect();
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
    let post = world.publish("ash", "text").await;
    let (mut parts, mut handed_on) = (0, 0);
    let mut waiting = world.take().await;
    while let Some(message) = waiting.pop() {
        match &message {
            Message::Post(event) => {
                parts += 1;
                let app = &world.dispatch;
                // each part gets a page done, however little time there is
                let soon = Deadline::at_ms(now_ms() + 100);
                let done = dispatch(app, event, world.now(), soon).await.unwrap();
                handed_on += usize::from(matches!(done, Dispatched::Continued { .. }));
            }
            message => world.handle(message).await.unwrap(),
        }
        if waiting.is_empty() {
            waiting = world.take().await;
        }
        assert!(parts < 200, "it goes round in circles");
    }
    assert_eq!((parts, handed_on), (4, 3), "ten followers, three a page");
    for reader in &readers {
        assert_eq!(world.home(reader).await, [post], "{reader}");
    }
}
