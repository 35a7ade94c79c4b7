//! Rule 3: make live, read, commit.

use fanfold_core::limits::REBUILD_LEASE_MS;
use fanfold_core::{PostId, Slice};
use fanfold_store::feeds::{Source, Span};
use fanfold_store::valkey::{Begun, Feed, Read};

use crate::harness::world::World;

#[tokio::test]
async fn a_feed_that_is_being_rebuilt_keeps_what_is_pushed_and_is_not_shown() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let old = world.publish("ash", "old").await;
    world.forget(&["ash"]).await;
    let (feed, valkey) = (Feed::home(world.id("ash")), &world.timeline.feeds.valkey);
    assert_eq!(valkey.begin(feed, "1", world.now()).await.unwrap(), Begun::Begun);
    assert_eq!(valkey.begin(feed, "2", world.now()).await.unwrap(), Begun::Busy);
    world.advance(1);
    let new = world.publish("ash", "new").await;
    assert_eq!(valkey.read(feed, PostId::MAX, 9, world.now()).await.unwrap(), Read::Unknown);
    // a reader meanwhile is served by a pull, whole
    let page = world.page(feed, Span::ALL, 9).await;
    assert_eq!((page.source, page.posts.len()), (Source::Pull, 2));
    // the rebuild had read before the new post
    let slice = Slice { posts: vec![old], bound: PostId::MIN };
    assert!(!valkey.commit(feed, "2", &slice).await.unwrap(), "a token without the lease");
    assert!(valkey.commit(feed, "1", &slice).await.unwrap());
    let page = world.page(feed, Span::ALL, 9).await;
    let posts: Vec<PostId> = page.posts.iter().map(|post| post.id).collect();
    assert_eq!((page.source, posts), (Source::Cache, vec![new, old]));
}

#[tokio::test]
async fn a_rebuild_that_died_is_taken_over_when_its_lease_ends() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let post = world.publish("ash", "text").await;
    world.forget(&["ash"]).await;
    let (feed, valkey) = (Feed::home(world.id("ash")), &world.timeline.feeds.valkey);
    assert_eq!(valkey.begin(feed, "1", world.now()).await.unwrap(), Begun::Begun);
    // the lease is the server's clock's: let it end at once
    let lock = valkey.keys().lock(feed);
    let mut connection = world.redis().await;
    let left: i64 = redis::cmd("PTTL").arg(&lock).query_async(&mut connection).await.unwrap();
    assert!(left > 0 && left as u64 <= REBUILD_LEASE_MS, "a lease must end: {left}");
    let () = redis::cmd("DEL").arg(&lock).query_async(&mut connection).await.unwrap();
    let page = world.page(feed, Span::ALL, 9).await;
    assert_eq!((page.source, page.posts[0].id), (Source::Rebuild, post));
    assert!(!valkey.commit(feed, "1", &Slice::EMPTY).await.unwrap(), "its work is discarded");
    assert_eq!(world.home("ash").await, [post]);
}
