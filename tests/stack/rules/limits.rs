//! The request limits of a user.

use std::sync::Arc;
use std::time::Duration;

use axum::response::IntoResponse as _;
use fanfold_core::kinds::LimitKind;
use fanfold_core::{FeedId, Relation, Scores, Time, UserId, UserRef};
use fanfold_engines::feed::Source;
use fanfold_engines::reading::ReadContext;
use fanfold_engines::valkey::{Answers, FeedSettings, Link, RateLimit, Valkey};
use fanfold_kinds::App;
use fanfold_kinds::boards::change::What;
use fanfold_kinds::boards::{self, BoardRef};
use fanfold_kinds::export::{self, ExportPlace};
use fanfold_kinds::follows;
use fanfold_kinds::home::{self, Span};
use fanfold_kinds::limit::within_limit;
use fanfold_kinds::people;
use fanfold_kinds::posts;
use fanfold_kinds::present::Viewer;
use fanfold_kinds::scheduled::{self, NewScheduled, ScheduledEdit};
use fanfold_kinds::timers::{self, NewTimer};
use fanfold_runtime::{Config, StoreError};
use fanfold_web::{Problem, ProblemKind};
use redis::{Cmd, RedisFuture, Value};

use crate::harness::board_settings;
use crate::harness::world::World;

/// The seconds in the header `Retry-After` of a refusal.
fn retry_after(refused: fanfold_kinds::Error) -> u64 {
    let refused = Problem::from(refused);
    assert_eq!(refused.kind, ProblemKind::TooManyRequests, "{refused:?}");
    let response = refused.into_response();
    let after = response.headers().get("retry-after").expect("a Retry-After");
    after.to_str().unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_user_who_posts_too_often_gets_a_retry_after_header() {
    let world = World::with(&[("POSTS_PER_MINUTE", "3")]).await;
    world.people(&["ash", "birch"]).await;
    let mut last = world.publish("ash", "1").await;
    for _ in 0..2 {
        last = world.publish("ash", "more").await;
    }
    assert_eq!(retry_after(world.try_publish("ash", "4").await.unwrap_err()), 20);
    // a deletion is a write, too; a refused write changes nothing
    let ash = world.identity("ash");
    let refused = posts::delete(&world.app, &ash, last, world.now()).await.unwrap_err();
    assert_eq!(retry_after(refused), 20);
    world.drain().await;
    assert_eq!(world.home("ash").await.len(), 3);
    // other users are not affected
    world.publish("birch", "1").await;
    world.advance(Duration::from_secs(19));
    assert_eq!(retry_after(world.try_publish("ash", "4").await.unwrap_err()), 1);
    world.advance(Duration::from_secs(1));
    world.delete("ash", last).await;
    assert_eq!(retry_after(world.try_publish("ash", "5").await.unwrap_err()), 20);
    world.advance(Duration::from_secs(60));
    for _ in 0..3 {
        world.publish("ash", "again").await;
    }
    assert!(world.try_publish("ash", "one too many").await.is_err());
}

#[tokio::test]
async fn relations_and_profiles_have_separate_limits() {
    let limits = [("RELATION_CHANGES_PER_MINUTE", "2"), ("PROFILE_CHANGES_PER_MINUTE", "1")];
    let world = World::with(&limits).await;
    world.people(&["ash", "birch"]).await;
    let (ash, birch) = (world.identity("ash"), UserRef::Id(world.id("birch")));
    world.rename("ash", "ash", "Ash").await;
    let refused =
        people::put_profile(&world.app, &ash, "ash", "Other", world.now()).await.unwrap_err();
    assert_eq!(retry_after(refused), 60);
    world.follow("ash", "birch").await;
    world.unfollow("ash", "birch").await;
    for relation in [Relation::Following, Relation::NotFollowing] {
        let refused =
            follows::relate(&world.app, &ash, &birch, relation, world.now()).await.unwrap_err();
        assert_eq!(retry_after(refused), 30);
    }
    world.publish("ash", "posts have another limit").await;
}

#[tokio::test]
async fn scheduled_posts_count_as_posts_and_timers_have_a_limit() {
    let world = World::with(&[("POSTS_PER_MINUTE", "3"), ("TIMER_CHANGES_PER_MINUTE", "2")]).await;
    world.people(&["ash"]).await;
    let (ash, now) = (world.identity("ash"), world.now());
    let schedule = || {
        let publish_at = now + Duration::from_secs(3_600);
        let new = NewScheduled { post: "later".into(), publish_at, key: None };
        scheduled::schedule(&world.app, &ash, new, now)
    };
    let item = schedule().await.unwrap();
    let change = ScheduledEdit { text: Some("other"), ..ScheduledEdit::default() };
    scheduled::change(&world.app, &ash, item.id, change.clone(), now).await.unwrap();
    world.publish("ash", "posts have the same limit").await;
    let refused = [
        schedule().await.unwrap_err(),
        scheduled::change(&world.app, &ash, item.id, change, now).await.unwrap_err(),
        scheduled::cancel(&world.app, &ash, item.id, now).await.unwrap_err(),
    ];
    assert_eq!(refused.map(retry_after), [20; 3]);
    let (name, due_at) = ("renew".parse().unwrap(), now + Duration::from_secs(3_600));
    let put = || {
        let new = NewTimer { due_at, every: None, payload: serde_json::Value::Null };
        timers::put(&world.app, &ash, &name, new, now)
    };
    for _ in 0..2 {
        put().await.unwrap();
    }
    let deleted = timers::delete(&world.app, &ash, &name, now).await;
    assert_eq!([put().await.unwrap_err(), deleted.unwrap_err()].map(retry_after), [30; 2]);
    world.advance(Duration::from_secs(30));
    timers::delete(&world.app, &ash, &name, world.now()).await.unwrap();
}

#[tokio::test]
async fn pages_that_are_pulled_on_purpose_are_limited_and_equal_to_those_of_the_cache() {
    // each page counts as 100 queries, and the second makes a debt
    let world = World::with(&[("PULL_QUERIES_PER_MINUTE", "150")]).await;
    world.people(&["ash", "birch"]).await;
    world.follow("ash", "birch").await;
    for n in 0..5 {
        world.publish("birch", &n.to_string()).await;
    }
    world.drain().await;
    let (viewer, feed) = (Viewer::of(world.id("ash")), FeedId::home(world.id("ash")));
    let app = &world.app;
    let pulled = async || home::pulled_page(app, &viewer, feed, Span::ALL, 3, world.now()).await;
    let reading = ReadContext::new(world.now());
    home::page(app, &viewer, feed, Span::ALL, 3, &reading).await.expect("rebuilt");
    let cached = home::page(app, &viewer, feed, Span::ALL, 3, &reading).await.expect("a page");
    assert_eq!(cached.source, Source::Cache);
    for _ in 0..2 {
        let page = pulled().await.expect("a page");
        assert_eq!(page.source, Source::Pull);
        assert_eq!((&page.posts, page.next_before), (&cached.posts, cached.next_before));
    }
    assert_eq!(retry_after(pulled().await.unwrap_err()), 20);
    // pages of the cache, and other users, are not limited
    home::page(app, &viewer, feed, Span::ALL, 3, &reading).await.expect("a page");
    let birch = Viewer::of(world.id("birch"));
    let other = FeedId::home(birch.user);
    home::pulled_page(app, &birch, other, Span::ALL, 3, world.now()).await.expect("a page");
}

#[tokio::test]
async fn pages_of_an_export_are_limited() {
    let world = World::with(&[("PULL_QUERIES_PER_MINUTE", "250")]).await;
    world.people(&["ash"]).await;
    let page = async || {
        export::of_caller(&world.app, world.id("ash"), ExportPlace::FIRST, world.now()).await
    };
    for _ in 0..2 {
        page().await.expect("a page");
    }
    assert_eq!(retry_after(page().await.unwrap_err()), 12);
}

/// All members of a request count, or none. A request of more members than the limit is accepted alone.
#[tokio::test]
async fn each_member_of_a_bulk_change_counts() {
    let world = World::with(&[("BOARD_CHANGES_PER_MINUTE", "60")]).await;
    world.people(&["ash"]).await;
    let (ash, name) = (world.identity("ash"), "b".parse().expect("a name"));
    let settings = board_settings(serde_json::json!({}));
    boards::settings::put(&world.app, &ash, &name, settings, world.now()).await.expect("put");
    let board = BoardRef { owner: ash.user(), name, day: None };
    let change_many = async |count: i64| {
        let change = |n: i64| boards::change::ScoreChange {
            member: format!("m{n}").parse().expect("a name"),
            what: What::Set(Scores::new(&[n]).expect("scores")),
        };
        let changes: Vec<_> = (0..count).map(change).collect();
        boards::change::change(&world.app, &ash, &board, &changes, None, world.now()).await
    };
    change_many(58).await.expect("changed");
    // one is left
    assert_eq!(retry_after(change_many(2).await.unwrap_err()), 1);
    change_many(1).await.expect("changed");
    assert_eq!(retry_after(change_many(1).await.unwrap_err()), 1);
    assert_eq!(retry_after(change_many(100).await.unwrap_err()), 60);
    world.advance(Duration::from_secs(60));
    change_many(100).await.expect("changed");
    assert_eq!(retry_after(change_many(1).await.unwrap_err()), 41);
}

#[tokio::test]
async fn timers_have_the_bounds_of_the_settings() {
    let world = World::with(&[("TIMERS_MAX", "2"), ("TIMER_EVERY_MIN", "3600")]).await;
    world.people(&["ash"]).await;
    let (ash, due_at) = (world.identity("ash"), world.now() + Duration::from_secs(3_600));
    let put = async |name: &str, every: Option<&str>| {
        let every = every.map(|every| every.parse().expect("a duration"));
        let new = NewTimer { due_at, every, payload: serde_json::Value::Null };
        timers::put(&world.app, &ash, &name.parse().expect("a name"), new, world.now()).await
    };
    let refused = Problem::from(put("often", Some("PT59M59S")).await.unwrap_err());
    assert_eq!(
        (refused.kind, refused.detail.as_str()),
        (ProblemKind::InvalidTime, "every must be at least 3600 s")
    );
    put("hourly", Some("PT1H")).await.expect("put");
    put("once", None).await.expect("put");
    let refused = Problem::from(put("more", None).await.unwrap_err());
    assert_eq!(refused.kind, ProblemKind::TimersLimit);
    assert!(refused.detail.contains("at most 2 timers"), "{}", refused.detail);
    put("once", Some("PT2H")).await.expect("replaced");
    for (name, value) in [("TIMERS_MAX", "0"), ("TIMER_EVERY_MIN", "59")] {
        let refused = App::new(&world.sdk, &world.config_with(&[(name, value)]));
        assert!(refused.is_err_and(|error| error.to_string().contains(name)));
    }
}

#[tokio::test]
async fn without_valkey_no_write_is_limited() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    let away = [
        ("REDIS_URL", "redis://127.0.0.1:1"),
        ("POSTS_PER_MINUTE", "1"),
        ("RELATION_CHANGES_PER_MINUTE", "1"),
        ("PROFILE_CHANGES_PER_MINUTE", "1"),
    ];
    let config = world.config_with(&away);
    let posts = App::new(&world.sdk, &config).unwrap();
    let relations = App::new(&world.sdk, &config).unwrap();
    let profiles = App::new(&world.sdk, &config).unwrap();
    let (ash, birch, now) = (world.identity("ash"), UserRef::Id(world.id("birch")), world.now());
    for _ in 0..3 {
        let post = posts::publish(&posts, &ash, "text", None, now).await.expect("accepted").post;
        posts::delete(&posts, &ash, post.id, now).await.expect("accepted");
        for relation in [Relation::Following, Relation::NotFollowing] {
            follows::relate(&relations, &ash, &birch, relation, now).await.expect("accepted");
        }
        people::put_profile(&profiles, &ash, "ash", "Ash", now).await.expect("accepted");
    }
}

/// A server that accepts commands and never answers.
struct Hangs;

impl Answers for Hangs {
    fn answer<'a>(&'a self, _: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(std::future::pending())
    }
}

/// A server that refuses every command at once.
struct Refuses;

impl Answers for Refuses {
    fn answer<'a>(&'a self, _: &'a Cmd) -> RedisFuture<'a, Value> {
        let refused = (redis::ErrorKind::Io, "this server is unavailable").into();
        Box::pin(std::future::ready(Err(refused)))
    }
}

#[tokio::test]
async fn a_write_that_valkey_refuses_to_count_is_allowed() {
    let settings = Config::from_pairs([("REDIS_URL", "redis://not-asked.invalid")]);
    let valkey =
        Valkey::over(Link::given(Arc::new(Refuses)), &FeedSettings::read(&settings).unwrap());
    let limit = RateLimit { kind: LimitKind::Post, per_minute: 1 };
    // the count fails before the read ends
    let read = async {
        tokio::time::sleep(Duration::from_millis(5)).await;
        Ok::<_, StoreError>("read")
    };
    let read = within_limit(&valkey, limit, UserId(1), Time::from_ms(1), read).await;
    assert_eq!(read.unwrap(), "read");
}

/// The writes are counted at the same time as the read that a request does anyway. A server that hangs delays the
/// request by a bounded time.
#[tokio::test(start_paused = true)]
async fn counting_writes_delays_a_request_by_a_bounded_time() {
    let settings = Config::from_pairs([("REDIS_URL", "redis://not-asked.invalid")]);
    let valkey =
        Valkey::over(Link::given(Arc::new(Hangs)), &FeedSettings::read(&settings).unwrap());
    let limit = RateLimit { kind: LimitKind::Post, per_minute: 1 };
    for read_ms in [0, 5, 500] {
        let start = tokio::time::Instant::now();
        let read = async {
            tokio::time::sleep(Duration::from_millis(read_ms)).await;
            Ok::<_, StoreError>(read_ms)
        };
        let read = within_limit(&valkey, limit, UserId(1), Time::from_ms(1), read).await;
        assert_eq!(read.unwrap(), read_ms);
        let took = start.elapsed();
        let most = Duration::from_millis(read_ms + 21);
        assert!(took >= Duration::from_millis(read_ms) && took <= most, "{read_ms}: {took:?}");
    }
}
