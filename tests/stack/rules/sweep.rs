//! The sweep.

use fanfold_store::feeds::{Source, Span};
use fanfold_store::valkey::Feed;

use crate::harness::valkeys::Node;
use crate::harness::world::World;

#[tokio::test]
async fn the_sweep_drops_what_nobody_reads_and_says_what_is_left() {
    // a server of its own: the sweep drops everyone's feeds
    let node = Node::start(&[]);
    let url = node.url();
    let settings = [("INACTIVE_AFTER", "100"), ("BUCKETS", "3"), ("REDIS_URL", url.as_str())];
    let world = World::with(&settings).await;
    let names = ["ash", "birch", "cedar", "dogwood"];
    world.people(&names).await;
    for name in names {
        world.home(name).await;
    }
    world.advance(60_000);
    world.home("ash").await;
    world.advance(50_000);
    let mut sweep = world.sweep.clone();
    sweep.feeds_max = 1;
    let first = fanfold_sweep::handler::sweep(&sweep, world.now()).await.unwrap();
    assert!(first.dropped >= 1 && first.dropped <= 3 && first.remaining >= 1, "{first:?}");
    let all = fanfold_sweep::handler::sweep(&world.sweep, world.now()).await.unwrap();
    assert_eq!(all.remaining, 0, "{all:?}");
    let page = world.page(Feed::home(world.id("ash")), Span::ALL, 5).await;
    assert_eq!(page.source, Source::Cache, "who reads stays");
    let page = world.page(Feed::home(world.id("birch")), Span::ALL, 5).await;
    assert_eq!(page.source, Source::Rebuild, "who returns is rebuilt");
}
