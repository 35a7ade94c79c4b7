//! Rule 8: Valkey is a cache.

use fanfold_core::message::{DeliverChunk, PostPublished};
use fanfold_dispatch::handler::dispatch;
use fanfold_store::clock::Deadline;
use fanfold_store::feeds::{Source, Span};
use fanfold_store::valkey::Feed;

use crate::harness::world::World;

#[tokio::test]
async fn without_valkey_reads_are_pulled_posts_are_taken_and_pushes_wait() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    world.follow("birch", "ash").await;
    let config = world.config_but("REDIS_URL", "redis://127.0.0.1:1");
    let posts = fanfold_posts::App::new(&world.sdk, &config).unwrap();
    let (ash, now) = (world.identity("ash"), world.now());
    let published = fanfold_posts::handler::publish(&posts, &ash, "text", None, now).await;
    let (post, _) = published.unwrap();
    let timeline = fanfold_timeline::App::new(&world.sdk, &config).unwrap();
    let feed = Feed::home(world.id("birch"));
    let page = timeline.feeds.page(feed, Span::ALL, 5, now).await.unwrap();
    assert_eq!((page.source, page.posts[0].id), (Source::Pull, post.id));
    let dispatch_app = fanfold_dispatch::App::new(&world.sdk, &config).unwrap();
    let waits = dispatch(&dispatch_app, &PostPublished::new(post.id), now, Deadline::NONE).await;
    assert!(waits.is_err_and(|error| error.is_valkey()), "the event must go back to its queue");
    let deliver = fanfold_deliver::App::new(&world.sdk, &config).unwrap();
    let chunk = DeliverChunk::new(post.id, now, vec![world.id("birch")]);
    let waits = fanfold_deliver::handler::deliver(&deliver, &[chunk], now).await.pop();
    let waits = waits.expect("an answer");
    assert!(waits.is_err_and(|error| error.is_valkey()), "so must the chunk");
    // back again: the message that waited is handled
    world.home("birch").await;
    world.drain().await;
    assert_eq!(world.home("birch").await, [post.id]);
}

#[tokio::test]
async fn an_empty_feed_is_known_to_be_empty() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let feed = Feed::home(world.id("ash"));
    for source in [Source::Rebuild, Source::Cache] {
        let page = world.page(feed, Span::ALL, 5).await;
        assert_eq!((page.posts.len(), page.next_before, page.source), (0, None, source));
    }
}

#[tokio::test]
async fn newer_than_gives_what_came_since_and_ends_there() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let seen = world.publish("ash", "seen").await;
    let mut since = Vec::new();
    for _ in 0..5 {
        world.advance(1);
        since.insert(0, world.publish("ash", "new").await);
    }
    let feed = Feed::home(world.id("ash"));
    let mut span = Span { after: seen, ..Span::ALL };
    let mut walked = Vec::new();
    loop {
        let page = world.page(feed, span, 2).await;
        walked.extend(page.posts.iter().map(|post| post.id));
        let Some(before) = page.next_before else { break };
        span.before = before;
    }
    assert_eq!(walked, since);
}
