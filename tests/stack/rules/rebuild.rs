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
    assert!(!valkey.commit(feed, "2", &slice, &[]).await.unwrap(), "a token without the lease");
    assert!(valkey.commit(feed, "1", &slice, &[]).await.unwrap());
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
    assert!(!valkey.commit(feed, "1", &Slice::EMPTY, &[]).await.unwrap(), "its work is discarded");
    assert_eq!(world.home("ash").await, [post]);
}

/// With more authors than a request may wait for: a page at once, and the feed by way of a queue.
#[tokio::test]
async fn a_feed_of_many_authors_is_merged_for_the_page_and_rebuilt_by_the_queue() {
    let mut world = World::new().await;
    world.timeline.feeds.inline_authors = 3;
    let authors = ["ash", "birch", "cedar", "dogwood"];
    world.people(&["elm"]).await;
    world.people(&authors).await;
    let mut posts = Vec::new();
    for (n, author) in authors.iter().cycle().take(20).enumerate() {
        world.advance(n as u64 % 2);
        posts.push(world.publish(author, "text").await);
    }
    posts.sort_unstable_by(|a, b| b.cmp(a));
    for author in authors {
        world.follow("elm", author).await;
    }
    world.drain().await;
    let feed = Feed::home(world.id("elm"));
    let first = world.page(feed, Span::ALL, 6).await;
    let shown: Vec<PostId> = first.posts.iter().map(|post| post.id).collect();
    assert_eq!((shown.as_slice(), first.source), (&posts[..6], Source::Pull));
    // while it is queued, nobody queues it again, and pages go on
    let again = world.page(feed, Span::ALL, 6).await;
    assert_eq!((&again.posts, again.source), (&first.posts, Source::Pull));
    let orders = world.take().await;
    assert_eq!(orders.len(), 1, "{orders:?}");
    world.handle(&orders[0]).await.unwrap();
    let live = world.page(feed, Span::ALL, 6).await;
    assert_eq!((live.posts, live.source), (first.posts, Source::Cache));
    assert_eq!(world.home("elm").await, posts);
    // it comes once more, late: there is nothing to do
    world.handle(&orders[0]).await.unwrap();
    assert_eq!(world.home("elm").await, posts);
}
