//! Pages below the floor of a home feed: their pull serves the pages that follow, and is charged to the reader.

use std::time::Duration;

use axum::response::IntoResponse as _;
use fanfold_core::kinds::LimitKind;
use fanfold_core::limits::{OLDER_KEPT, OLDER_SETTLES};
use fanfold_core::{FeedId, PostId};
use fanfold_engines::feed::Source;
use fanfold_engines::reading::ReadContext;
use fanfold_kinds::Error;
use fanfold_kinds::home::{self, FeedPage, Span};
use fanfold_kinds::present::Viewer;
use fanfold_web::{Problem, ProblemKind};

use super::store_without_delivery_at;
use crate::harness::world::World;

/// Birch follows ash, whose 30 posts are more than the feed of birch has. The newest is first.
async fn world_with_floor(settings: &[(&str, &str)]) -> (World, Vec<PostId>) {
    let world = World::with(&[&[("FEED_CAP", "10")], settings].concat()).await;
    world.people(&["ash", "birch", "cedar"]).await;
    world.follow("birch", "ash").await;
    world.drain().await;
    let mut posts = Vec::new();
    for _ in 0..30 {
        world.advance(Duration::from_secs(1));
        posts.insert(0, world.publish("ash", "text").await);
    }
    world.drain().await;
    world.advance(OLDER_SETTLES);
    assert_eq!(world.home("birch").await, posts);
    // this read has pulled, too
    world.advance(2 * OLDER_KEPT);
    (world, posts)
}

/// Reads the posts of birch's home feed below a post. Also returns the number of queries that this made.
async fn below(world: &World, before: PostId, limit: usize) -> (Result<FeedPage, Error>, u64) {
    let key = format!("limit:pull:{{{}}}:{}", bucket(world), world.id("birch"));
    let mut redis = world.redis().await;
    let charged = async |redis: &mut redis::aio::MultiplexedConnection| {
        let until: Option<f64> =
            redis::cmd("GET").arg(&key).query_async(redis).await.expect("read");
        until.unwrap_or_default().max(world.now().ms() as f64)
    };
    let earlier = charged(&mut redis).await;
    let (feed, reading) = (FeedId::home(world.id("birch")), ReadContext::new(world.now()));
    let (viewer, span) = (Viewer::of(world.id("birch")), Span { before, ..Span::ALL });
    let page = home::page(&world.app, &viewer, feed, span, limit, &reading).await;
    let per_minute = world.config.text("PULL_QUERIES_PER_MINUTE").expect("a limit");
    let interval_ms = 60_000.0 / per_minute.parse::<f64>().expect("a number");
    (page, ((charged(&mut redis).await - earlier) / interval_ms).round() as u64)
}

fn bucket(world: &World) -> u16 {
    world.app.valkey.keys().bucket(world.id("birch")).0
}

const LIMIT: [(&str, &str); 1] = [("PULL_QUERIES_PER_MINUTE", "1000")];

/// The ids of a page below a post, which was pulled or kept.
async fn ids(world: &World, before: PostId, limit: usize, is_pulled: bool) -> Vec<PostId> {
    let (page, queries) = below(world, before, limit).await;
    assert_eq!(queries > 0, is_pulled, "{queries} queries");
    let page = page.expect("a page");
    assert_eq!(page.source, Source::Pull);
    page.ids().collect()
}

#[tokio::test]
async fn a_pull_below_the_floor_serves_the_pages_that_follow() {
    let (world, posts) = world_with_floor(&LIMIT).await;
    assert_eq!(ids(&world, posts[14], 5, true).await, posts[15..20]);
    for from in [15, 16, 19, 24, 28] {
        let to = (from + 6).min(30);
        assert_eq!(ids(&world, posts[from], 5, false).await, posts[from + 1..to]);
    }
    // above what was pulled
    assert_eq!(ids(&world, posts[12], 5, true).await, posts[13..18]);
    world.advance(2 * OLDER_KEPT);
    assert_eq!(ids(&world, posts[12], 5, true).await, posts[13..18]);
    // without the kept posts, the page is pulled
    let key = world.app.valkey.keys().older(world.id("birch"));
    let mut redis = world.redis().await;
    let left: i64 = redis::cmd("PTTL").arg(&key).query_async(&mut redis).await.expect("a time");
    assert!(left > 0 && left <= OLDER_KEPT.as_millis() as i64, "{left}");
    let _: u64 = redis::cmd("DEL").arg(&key).query_async(&mut redis).await.expect("deleted");
    assert_eq!(ids(&world, posts[12], 5, true).await, posts[13..18]);
}

/// A page shows no author who is not followed any more, every author who is, and no deleted post.
#[tokio::test]
async fn kept_posts_obey_unfollows_follows_and_deletions() {
    let (world, mut posts) = world_with_floor(&LIMIT).await;
    let by_cedar = store_without_delivery_at(&world, "cedar", posts[25].time()).await;
    assert_eq!(ids(&world, posts[14], 5, true).await, posts[15..20]);
    let gone = posts.remove(22);
    world.delete("ash", gone).await;
    assert_eq!(ids(&world, posts[19], 5, false).await, posts[20..25]);
    // the event of the unfollow is not handled yet
    world.unfollow("birch", "ash").await;
    assert_eq!(ids(&world, posts[19], 5, true).await, []);
    world.follow("birch", "cedar").await;
    assert_eq!(ids(&world, posts[19], 5, true).await, [by_cedar]);
    assert_eq!(ids(&world, posts[19], 5, false).await, [by_cedar]);
    world.unfollow("birch", "cedar").await;
    world.follow("birch", "ash").await;
    assert_eq!(ids(&world, posts[19], 5, true).await, posts[20..25]);
}

/// A writer that is slow may still commit a post that is older than the page. An author feed in Valkey may lack a post whose
/// event is not handled.
#[tokio::test]
async fn kept_posts_lack_none_that_is_committed_later() {
    let (world, mut posts) = world_with_floor(&LIMIT).await;
    let late = store_without_delivery_at(&world, "ash", posts[20].time()).await;
    posts.insert(if late > posts[20] { 20 } else { 21 }, late);
    assert_eq!(ids(&world, posts[14], 9, true).await, posts[15..24]);
    assert_eq!(ids(&world, posts[18], 5, false).await, posts[19..24]);
    // the writers of posts that are a few ms old may live
    for _ in 0..9 {
        world.advance(Duration::from_millis(1));
        posts.insert(0, world.publish("ash", "text").await);
        world.drain().await;
    }
    // the push of the reader's own post trims the feed
    world.advance(Duration::from_millis(1));
    posts.insert(0, world.publish("birch", "text").await);
    assert_eq!(ids(&world, posts[8], 3, true).await, posts[9..12]);
    let late = store_without_delivery_at(&world, "ash", posts[9].time()).await;
    posts.insert(if late > posts[9] { 9 } else { 10 }, late);
    assert_eq!(ids(&world, posts[8], 3, true).await, posts[9..12]);
    world.advance(OLDER_SETTLES);
    assert_eq!(ids(&world, posts[8], 3, true).await, posts[9..12]);
    assert_eq!(ids(&world, posts[8], 3, false).await, posts[9..12]);
}

/// With a thirtieth of the usual authors and of the usual limit: a reader who scrolls a page every five seconds is never refused,
/// and one who asks for other pages all the time is.
#[tokio::test]
async fn a_reader_of_many_authors_scrolls_and_one_who_collects_pages_is_refused() {
    const AUTHORS: usize = 167;
    const POSTS: usize = 1_800;
    const FROM: usize = 20;
    let per_minute = (LimitKind::Pull.setting().1 / 30).to_string();
    let world = World::with(&[("FEED_CAP", "10"), ("PULL_QUERIES_PER_MINUTE", &per_minute)]).await;
    let names: Vec<String> = (0..AUTHORS).map(|n| format!("author{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    world.people(&["birch"]).await;
    world.people(&names).await;
    for name in &names {
        world.follow("birch", name).await;
    }
    let mut posts = Vec::new();
    for n in 0..POSTS {
        let at = world.now() + Duration::from_millis(n as u64);
        posts.insert(0, store_without_delivery_at(&world, names[n % AUTHORS], at).await);
    }
    world.drain().await;
    world.advance(OLDER_SETTLES + Duration::from_secs(2));
    world.page(FeedId::home(world.id("birch")), Span::ALL, 5).await;
    world.drain().await;
    // one pull serves as many pages as its posts fill, with the one that shows that there is a next page
    for (limit, served) in [(100, 3), (43, 6)] {
        let (mut pulled, mut from) = (Vec::new(), FROM);
        while from + limit < POSTS {
            world.advance(Duration::from_secs(5));
            let (page, queries) = below(&world, posts[from], limit).await;
            let page = page.unwrap_or_else(|error| panic!("below {from}: {error:?}"));
            assert_eq!(page.ids().collect::<Vec<_>>(), posts[from + 1..=from + limit]);
            pulled.push(queries);
            from += limit;
        }
        // each pull counts its queries: at least one for each author
        let pulls: Vec<u64> = pulled.iter().copied().filter(|queries| *queries > 0).collect();
        assert!(pulls.iter().all(|queries| *queries >= AUTHORS as u64), "{pulled:?}");
        assert_eq!(pulls.len(), pulled.len().div_ceil(served), "{pulled:?}");
        world.advance(2 * OLDER_KEPT);
    }
    // a collector asks at other places, so no page is kept
    let mut taken = 0;
    loop {
        let from = if taken % 2 == 0 { POSTS - 10 } else { FROM };
        world.advance(Duration::from_millis(10));
        match below(&world, posts[from], 1).await.0 {
            Ok(_) => taken += 1,
            Err(error) => {
                break assert_eq!(Problem::from(error).kind, ProblemKind::TooManyRequests);
            }
        }
        assert!(taken < 10, "a collector is not refused");
    }
}

#[tokio::test]
async fn pages_below_the_floor_are_charged() {
    // each pull counts as 100 queries at least, so two make a debt
    let (world, posts) = world_with_floor(&[("PULL_QUERIES_PER_MINUTE", "150")]).await;
    for from in [14, 12] {
        below(&world, posts[from], 3).await.0.expect("a page");
    }
    let refused = Problem::from(below(&world, posts[10], 3).await.0.unwrap_err());
    assert_eq!(refused.kind, ProblemKind::TooManyRequests);
    let response = refused.into_response();
    assert_eq!(response.headers()["retry-after"], "20");
    // what is kept, and what is live, are not refused
    below(&world, posts[13], 3).await.0.expect("a page");
    world.page(FeedId::home(world.id("birch")), Span::ALL, 3).await;
    world.advance(Duration::from_secs(20));
    below(&world, posts[10], 3).await.0.expect("a page");
    // a rebuild is not counted, and neither is the page meanwhile
    world.forget(&["birch"]).await;
    assert_eq!(
        world.page(FeedId::home(world.id("birch")), Span::ALL, 3).await.source,
        Source::Rebuild
    );
}
