//! The audit: what it calls different, and that it repairs it.

use fanfold_audit::handler::{Audited, audit, check};
use fanfold_core::{PostId, UserId, order};
use fanfold_store::clock::Deadline;
use fanfold_store::feeds::{Source, Span};
use fanfold_store::valkey::Feed;

use super::only_stored;
use crate::harness::valkeys::Node;
use crate::harness::world::World;

/// A reader of ash whose feed is live, with posts in it.
async fn reader() -> (World, Feed, Vec<PostId>) {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    world.follow("birch", "ash").await;
    world.drain().await;
    world.home("birch").await;
    let mut posts = Vec::new();
    for _ in 0..4 {
        world.advance(1);
        posts.insert(0, world.publish("ash", "text").await);
    }
    world.drain().await;
    let feed = Feed::home(world.id("birch"));
    (world, feed, posts)
}

async fn checked(world: &World, feed: Feed) -> Audited {
    let mut audited = Audited::default();
    check(&world.audit, feed, world.now(), &mut audited).await.expect("checked");
    audited
}

#[tokio::test]
async fn a_feed_that_misses_a_post_or_has_one_too_many_is_found_and_repaired() {
    let (world, feed, posts) = reader().await;
    assert_eq!(checked(&world, feed).await, Audited { checked: 1, differed: 0, repaired: 0 });
    let key = world.timeline.feeds.valkey.keys().feed(feed);
    let mut connection = world.redis().await;
    let strange = PostId::new(world.now(), 1, world.id("cedar"));
    let mut miss = redis::cmd("ZREM");
    miss.arg(&key).arg(&order::member(posts[1])[..]);
    let mut add = redis::cmd("ZADD");
    add.arg(&key).arg(order::score(strange.time_ms())).arg(&order::member(strange)[..]);
    // an entry without a post is passed over by every reader
    let () = add.query_async(&mut connection).await.unwrap();
    assert_eq!(checked(&world, feed).await, Audited { checked: 1, differed: 0, repaired: 0 });
    let () = miss.query_async(&mut connection).await.unwrap();
    assert_eq!(checked(&world, feed).await, Audited { checked: 1, differed: 1, repaired: 1 });
    // somebody's post whom the reader does not follow
    world.people(&["cedar"]).await;
    let strange = only_stored(&world, "cedar").await;
    let mut add = redis::cmd("ZADD");
    add.arg(&key).arg(order::score(strange.time_ms())).arg(&order::member(strange)[..]);
    let () = add.query_async(&mut connection).await.unwrap();
    assert_eq!(checked(&world, feed).await, Audited { checked: 1, differed: 1, repaired: 1 });
    let page = world.page(feed, Span::ALL, 9).await;
    let shown: Vec<PostId> = page.posts.iter().map(|post| post.id).collect();
    assert_eq!((shown, page.source), (posts, Source::Cache));
}

/// A push on its way is no difference, if it arrives while the audit looks again.
#[tokio::test]
async fn what_is_on_its_way_is_no_difference() {
    let (world, feed, _) = reader().await;
    world.publish("ash", "on its way").await;
    let late = async {
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        world.drain().await;
    };
    let (audited, ()) = futures::join!(checked(&world, feed), late);
    assert_eq!(audited, Audited { checked: 1, differed: 0, repaired: 0 });
}

#[tokio::test]
async fn a_run_is_bounded_and_leaves_no_note_that_a_feed_was_read() {
    // a server of its own: the audit compares everyone's feeds
    let node = Node::start(&[]);
    let url = node.url();
    let settings = [("AUDIT_FEEDS", "3"), ("BUCKETS", "2"), ("REDIS_URL", url.as_str())];
    let world = World::with(&settings).await;
    let names: Vec<String> = (0..6).map(|n| format!("reader{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    world.people(&names).await;
    for name in &names {
        world.home(name).await;
    }
    let seen = async |user: UserId| {
        let keys = world.timeline.feeds.valkey.keys();
        let mut score = redis::cmd("ZSCORE");
        score.arg(keys.live(keys.bucket(user))).arg(keys.feed(Feed::home(user)));
        score.query_async::<u64>(&mut world.redis().await).await.unwrap()
    };
    let before = seen(world.id("reader0")).await;
    let audited = audit(&world.audit, world.now() + 60_000, Deadline::NONE).await.unwrap();
    assert!((1..=3).contains(&audited.checked) && audited.differed == 0, "{audited:?}");
    assert_eq!(seen(world.id("reader0")).await, before);
    // without time it does nothing
    let audited = audit(&world.audit, world.now(), Deadline::at_ms(0)).await.unwrap();
    assert_eq!(audited, Audited::default());
}
