//! Rule 3: a rebuild makes the feed live, reads, and commits.

use std::time::Duration;

use fanfold_core::limits::REBUILD_LEASE;
use fanfold_core::time::millis;
use fanfold_core::{FeedId, PostId, Slice};
use fanfold_engines::feed::Source;
use fanfold_engines::valkey::{Read, RebuildStart};
use fanfold_kinds::home::Span;

use crate::harness::world::World;

#[tokio::test]
async fn a_feed_being_rebuilt_keeps_pushes_and_is_not_shown() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let old = world.publish("ash", "old").await;
    world.forget(&["ash"]).await;
    let (feed, valkey) = (FeedId::home(world.id("ash")), &world.app.valkey);
    assert_eq!(valkey.begin(feed, "1", world.now()).await.unwrap(), RebuildStart::Begun);
    assert_eq!(valkey.begin(feed, "2", world.now()).await.unwrap(), RebuildStart::Busy);
    world.advance(Duration::from_millis(1));
    let new = world.publish("ash", "new").await;
    assert_eq!(valkey.read(feed, PostId::MAX, 9, world.now()).await.unwrap(), Read::Unknown);
    // meanwhile a reader gets all posts by a pull
    let page = world.page(feed, Span::ALL, 9).await;
    assert_eq!((page.source, page.posts.len()), (Source::Pull, 2));
    // the rebuild read before the new post
    let slice = Slice { posts: vec![old], bound: PostId::MIN };
    assert!(
        !valkey.commit(feed, "2", &slice, &[]).await.unwrap(),
        "this token does not hold the lease"
    );
    assert!(valkey.commit(feed, "1", &slice, &[]).await.unwrap());
    let page = world.page(feed, Span::ALL, 9).await;
    let posts: Vec<PostId> = page.ids().collect();
    assert_eq!((page.source, posts), (Source::Cache, vec![new, old]));
}

#[tokio::test]
async fn a_dead_rebuild_is_replaced_when_its_lease_ends() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let post = world.publish("ash", "text").await;
    world.forget(&["ash"]).await;
    let (feed, valkey) = (FeedId::home(world.id("ash")), &world.app.valkey);
    assert_eq!(valkey.begin(feed, "1", world.now()).await.unwrap(), RebuildStart::Begun);
    // the lease follows the server's clock: delete it, so that it ends at once
    let lock = valkey.keys().lock(feed);
    let mut connection = world.redis().await;
    let left: i64 = redis::cmd("PTTL").arg(&lock).query_async(&mut connection).await.unwrap();
    assert!(left > 0 && left as u64 <= millis(REBUILD_LEASE), "the lease has no end: {left}");
    let () = redis::cmd("DEL").arg(&lock).query_async(&mut connection).await.unwrap();
    let page = world.page(feed, Span::ALL, 9).await;
    assert_eq!((page.source, page.ids().next().unwrap()), (Source::Rebuild, post));
    assert!(
        !valkey.commit(feed, "1", &Slice::EMPTY, &[]).await.unwrap(),
        "the work of the dead rebuild is discarded"
    );
    assert_eq!(world.home("ash").await, [post]);
}

/// A reader with more authors than a request may rebuild gets a page at once. A message rebuilds the feed.
#[tokio::test]
async fn a_feed_of_many_authors_is_pulled_for_the_page_and_rebuilt_by_a_message() {
    let mut world = World::new().await;
    world.app.settings.inline_authors = 3;
    let authors = ["ash", "birch", "cedar", "dogwood"];
    world.people(&["elm"]).await;
    world.people(&authors).await;
    let mut posts = Vec::new();
    for (n, author) in authors.iter().cycle().take(20).enumerate() {
        world.advance(Duration::from_millis(n as u64 % 2));
        posts.push(world.publish(author, "text").await);
    }
    posts.sort_unstable_by(|a, b| b.cmp(a));
    for author in authors {
        world.follow("elm", author).await;
    }
    world.drain().await;
    let feed = FeedId::home(world.id("elm"));
    let first = world.page(feed, Span::ALL, 6).await;
    let shown: Vec<PostId> = first.ids().collect();
    assert_eq!((shown.as_slice(), first.source), (&posts[..6], Source::Pull));
    // while the rebuild is queued, it is not queued again, and pages continue
    let again = world.page(feed, Span::ALL, 6).await;
    assert_eq!((&again.posts, again.source), (&first.posts, Source::Pull));
    let orders = world.take().await;
    assert_eq!(orders.len(), 1, "{orders:?}");
    world.handle(&orders[0]).await.unwrap();
    let live = world.page(feed, Span::ALL, 6).await;
    assert_eq!((live.posts, live.source), (first.posts, Source::Cache));
    assert_eq!(world.home("elm").await, posts);
    // the message arrives again, late: there is nothing to do
    world.handle(&orders[0]).await.unwrap();
    assert_eq!(world.home("elm").await, posts);
}
