//! The sweep drops inactive feeds.

use std::time::Duration;

use fanfold_core::FeedId;
use fanfold_engines::feed::Source;
use fanfold_kinds::home::Span;
use fanfold_kinds::sweep;

use crate::harness::valkeys::Node;
use crate::harness::world::World;

#[tokio::test]
async fn the_sweep_drops_inactive_feeds_and_counts_the_remaining() {
    // its own server, because the sweep drops the feeds of all users; fewer buckets than feeds, of which a round drops one each
    let node = Node::start(&[]);
    let url = node.url();
    let settings = [("INACTIVE_AFTER", "100"), ("BUCKETS", "2"), ("REDIS_URL", url.as_str())];
    let world = World::with(&settings).await;
    let names = ["ash", "birch", "cedar", "dogwood"];
    world.people(&names).await;
    for name in names {
        world.home(name).await;
    }
    world.advance(Duration::from_secs(60));
    world.home("ash").await;
    world.advance(Duration::from_secs(50));
    let mut sweep = world.app.clone();
    sweep.settings.sweep_feeds_max = 1;
    let first = sweep::sweep(&sweep, world.now()).await.unwrap();
    assert!(first.dropped >= 1 && first.dropped <= 2 && first.remaining >= 1, "{first:?}");
    let all = sweep::sweep(&world.app, world.now()).await.unwrap();
    assert_eq!(all.remaining, 0, "{all:?}");
    let page = world.page(FeedId::home(world.id("ash")), Span::ALL, 5).await;
    assert_eq!(page.source, Source::Cache, "a feed that is read is kept");
    let page = world.page(FeedId::home(world.id("birch")), Span::ALL, 5).await;
    assert_eq!(page.source, Source::Rebuild, "a dropped feed is rebuilt when its reader returns");
}
