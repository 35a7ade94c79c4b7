//! The audit: which feeds differ, and their repair.

use std::pin::pin;
use std::time::Duration;

use fanfold_core::{Bucket, FeedId, PostId, Scores, Time, UserId, UserRef, order};
use fanfold_engines::feed::Source;
use fanfold_engines::reading::ReadContext;
use fanfold_engines::tally::Tallied;
use fanfold_engines::valkey::PageOf;
use fanfold_kinds::audit::{audit, check, check_bucket};
use fanfold_kinds::boards::change::{ScoreChange, What};
use fanfold_kinds::boards::round::BoardRound;
use fanfold_kinds::boards::{self, BoardRef};
use fanfold_kinds::home::Span;
use fanfold_kinds::owned::Audited;
use fanfold_kinds::posts;
use fanfold_kinds::posts::items::CountPut;
use fanfold_kinds::present::{self, Viewer};
use fanfold_runtime::clock::Deadline;
use fanfold_runtime::sqs::Announced;
use serde_json::json;

use super::store_without_delivery;
use crate::harness::board_settings;
use crate::harness::valkeys::Node;
use crate::harness::world::World;

/// A follower of ash with a live feed that contains posts.
async fn reader() -> (World, FeedId, Vec<PostId>) {
    reader_in(World::new().await).await
}

async fn reader_in(world: World) -> (World, FeedId, Vec<PostId>) {
    world.people(&["ash", "birch"]).await;
    world.follow("birch", "ash").await;
    world.drain().await;
    world.home("birch").await;
    let mut posts = Vec::new();
    for _ in 0..4 {
        world.advance(Duration::from_millis(1));
        posts.insert(0, world.publish("ash", "text").await);
    }
    world.drain().await;
    let feed = FeedId::home(world.id("birch"));
    (world, feed, posts)
}

async fn checked(world: &World, feed: FeedId) -> Audited {
    let mut audited = Audited::default();
    check(&world.app, feed, world.now(), &mut audited).await.expect("checked");
    audited
}

#[tokio::test]
async fn a_feed_with_a_missing_or_an_extra_post_is_found_and_repaired() {
    let (world, feed, posts) = reader().await;
    assert_eq!(
        checked(&world, feed).await,
        Audited { checked: 1, differed: 0, repaired: 0, counted: 0, ..Audited::default() }
    );
    let key = world.app.valkey.keys().feed(feed);
    let mut connection = world.redis().await;
    let foreign = PostId::new(world.now(), 1, world.id("cedar"));
    let mut miss = redis::cmd("ZREM");
    miss.arg(&key).arg(&order::member(posts[1])[..]);
    let mut add = redis::cmd("ZADD");
    add.arg(&key).arg(order::score(foreign.time())).arg(&order::member(foreign)[..]);
    // every reader skips an entry without a post
    let () = add.query_async(&mut connection).await.unwrap();
    assert_eq!(
        checked(&world, feed).await,
        Audited { checked: 1, differed: 0, repaired: 0, counted: 0, ..Audited::default() }
    );
    let () = miss.query_async(&mut connection).await.unwrap();
    assert_eq!(
        checked(&world, feed).await,
        Audited { checked: 1, differed: 1, repaired: 1, counted: 0, ..Audited::default() }
    );
    // a post of an author whom the reader does not follow
    world.people(&["cedar"]).await;
    let foreign = store_without_delivery(&world, "cedar").await;
    let mut add = redis::cmd("ZADD");
    add.arg(&key).arg(order::score(foreign.time())).arg(&order::member(foreign)[..]);
    let () = add.query_async(&mut connection).await.unwrap();
    assert_eq!(
        checked(&world, feed).await,
        Audited { checked: 1, differed: 1, repaired: 1, counted: 0, ..Audited::default() }
    );
    let page = world.page(feed, Span::ALL, 9).await;
    let shown: Vec<PostId> = page.ids().collect();
    assert_eq!((shown, page.source), (posts, Source::Cache));
}

/// Only events update the number of followers. The audit corrects the number if an event was lost.
#[tokio::test]
async fn a_wrong_number_of_followers_is_corrected() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    world.follow("birch", "ash").await;
    assert!(!world.take().await.is_empty(), "there is no event to lose");
    let feed = FeedId::author(world.id("ash"));
    assert_eq!(world.walk(feed, 5).await, []);
    let reading = ReadContext::new(world.now());
    let ash = UserRef::Id(feed.user());
    let viewer = Viewer::of(feed.user());
    let shown =
        async || present::user(&world.app, &viewer, &ash, &reading).await.unwrap().followers;
    assert_eq!(shown().await, 0);
    let audited = checked(&world, feed).await;
    assert_eq!(
        audited,
        Audited { checked: 1, differed: 0, repaired: 0, counted: 1, ..Audited::default() }
    );
    assert_eq!(shown().await, 1);
    let ash = world.app.users.profile(feed.user()).await.unwrap().unwrap();
    assert_eq!(ash.followers, 1);
    assert_eq!(checked(&world, feed).await.counted, 0);
}

#[tokio::test]
async fn a_wrong_number_of_likes_is_corrected() {
    let node = Node::start(&[]);
    let world = World::with(&[("REDIS_URL", &node.url()), ("BUCKETS", "1")]).await;
    world.people(&["ash", "birch"]).await;
    let post = world.publish("ash", "text").await;
    world.like("birch", post).await;
    assert!(!world.take().await.is_empty(), "there is no event to lose");
    let viewer = Viewer::of(world.id("birch"));
    let shown = async || {
        let shown = posts::read(&world.app, &viewer, post, world.now()).await.unwrap();
        shown.post.likes
    };
    let audited = async || {
        let mut audited = Audited::default();
        check_bucket(&world.app, Bucket(0), world.now(), &mut audited).await.expect("checked");
        audited.likes_counted
    };
    assert_eq!((shown().await, audited().await), (0, 1));
    assert_eq!((shown().await, audited().await), (1, 0));
    // a wrong number after the same changes
    let counted = Tallied { number: 7, changes: 1 };
    assert_eq!(
        world.app.posts.put_likes(&world.app.boards, post, counted, world.now()).await.unwrap(),
        CountPut::Written
    );
    assert_eq!((audited().await, shown().await), (1, 1));
}

/// A push under way is not a difference if it arrives before the audit compares the feed again.
#[tokio::test]
async fn a_push_under_way_is_no_difference() {
    // its own server, whose calls show that the audit has read the feed
    let node = Node::start(&[]);
    let world = World::with(&[("REDIS_URL", &node.url())]).await;
    let (world, feed, _) = reader_in(world).await;
    world.publish("ash", "under way").await;
    let calls = || {
        let stats = node.cli(&["INFO", "commandstats"]);
        let calls = stats.lines().find(|line| line.starts_with("cmdstat_evalsha:"));
        calls.expect("scripts were called").split(',').next().map(str::to_owned)
    };
    let before = calls();
    let mut audit = pin!(checked(&world, feed));
    let first_look = async {
        while calls() == before {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        biased;
        () = first_look => {}
        audited = &mut audit => panic!("the feed lacks a post, but: {audited:?}"),
    }
    // nothing polls the audit now, so it waits for the push, however long that takes
    world.drain().await;
    assert_eq!(
        audit.await,
        Audited { checked: 1, differed: 0, repaired: 0, counted: 0, ..Audited::default() }
    );
}

#[tokio::test]
async fn a_run_is_bounded_and_does_not_mark_feeds_as_read() {
    // its own server, because the audit compares the feeds of all users
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
        let keys = world.app.valkey.keys();
        let mut score = redis::cmd("ZSCORE");
        score.arg(keys.live(keys.bucket(user))).arg(keys.feed(FeedId::home(user)));
        score.query_async::<u64>(&mut world.redis().await).await.unwrap()
    };
    let before = seen(world.id("reader0")).await;
    let audited =
        audit(&world.app, world.now() + Duration::from_secs(60), Deadline::NONE).await.unwrap();
    assert!((1..=3).contains(&audited.checked) && audited.differed == 0, "{audited:?}");
    assert_eq!(seen(world.id("reader0")).await, before);
    // without time, the audit does nothing
    let audited = audit(&world.app, world.now(), Deadline::at(Time::EPOCH)).await.unwrap();
    assert_eq!(audited, Audited::default());
}

/// A copy of a board that has other scores than DynamoDB is dropped, and made again by the next reader.
#[tokio::test]
async fn a_board_that_differs_is_made_again() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let (ash, now) = (world.identity("ash"), world.now());
    let settings = board_settings(json!({"kept_days": 1}));
    let name = "b".parse().unwrap();
    let put = boards::settings::put(&world.app, &ash, &name, settings, now).await;
    let board = put.unwrap().0;
    let named = BoardRef { owner: ash.user(), name, day: None };
    let what = What::Set(Scores::new(&[1]).unwrap());
    let change = ScoreChange { member: "x".parse().unwrap(), what };
    boards::change::change(&world.app, &ash, &named, &[change], None, now).await.unwrap();
    let target = BoardRound::new(board.clone(), board.settings.round(now), now);
    let bucket = target.copy().id.bucket(world.app.valkey.keys().buckets());
    let mut audited = Audited::default();
    check_bucket(&world.app, bucket, now, &mut audited).await.unwrap();
    assert_eq!((audited.boards, audited.boards_differed), (1, 0));
    // the writer died, and its event was removed from the queue by hand
    let (sent, member) = (Announced::assumed(), "x".parse().unwrap());
    let (store, scores) = (&world.app.boards, Scores::new(&[2]).unwrap());
    store.set_scores(&sent, target.rows(), &member, &scores, None, now).await.unwrap();
    check_bucket(&world.app, bucket, now, &mut audited).await.unwrap();
    assert_eq!((audited.boards, audited.boards_differed), (2, 1));
    let first = PageOf::Rank { from: 1, limit: 1 };
    let shown = boards::read::page(&world.app, &named, first, now).await.unwrap();
    assert_eq!(shown.page.rows[0].scores, scores);
}
