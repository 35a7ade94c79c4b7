//! Rule 8: Valkey is a cache. Without it, reads and posts continue.

use std::sync::Arc;
use std::time::Duration;

use fanfold_core::{Bucket, FeedId, PostId, Relation, RelationChange, Slice, Time, UserId};
use fanfold_engines::feed::Source;
use fanfold_engines::valkey::{Answers, FeedSettings, Link, Valkey};
use fanfold_kinds::App;
use fanfold_kinds::fanout::deliver;
use fanfold_kinds::fanout::dispatch::dispatch;
use fanfold_kinds::fanout::messages::DeliverChunk;
use fanfold_kinds::follows;
use fanfold_kinds::home::Span;
use fanfold_kinds::posts;
use fanfold_kinds::posts::messages::PostPublished;
use fanfold_runtime::clock::Deadline;
use fanfold_runtime::{Config, StoreError};
use redis::{Cmd, RedisFuture, Value};

use crate::harness::world::{World, page};

#[tokio::test]
async fn without_valkey_reads_are_pulled_posts_are_accepted_and_pushes_wait() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    world.follow("birch", "ash").await;
    let config = world.config_with_one("REDIS_URL", "redis://127.0.0.1:1");
    let posts = App::new(&world.sdk, &config).unwrap();
    let (ash, now) = (world.identity("ash"), world.now());
    let published = posts::publish(&posts, &ash, "text", None, now).await;
    let post = published.unwrap().post;
    let timeline = App::new(&world.sdk, &config).unwrap();
    let feed = FeedId::home(world.id("birch"));
    let page = page(&timeline, feed, Span::ALL, 5, now).await.unwrap();
    assert_eq!((page.source, page.ids().next().unwrap()), (Source::Pull, post.id));
    let dispatch_app = App::new(&world.sdk, &config).unwrap();
    let waits = dispatch(&dispatch_app, &PostPublished::new(post.id), now, Deadline::NONE).await;
    assert!(waits.is_err_and(|error| error.is_valkey()), "the event does not return to its queue");
    let deliver = App::new(&world.sdk, &config).unwrap();
    let chunk = DeliverChunk::new(post.id, now, vec![world.id("birch")]);
    let waits = deliver::deliver(&deliver, &[chunk], &[], now).await.pop();
    let waits = waits.expect("an outcome").whole();
    assert!(waits.is_err_and(|error| error.is_valkey()), "the chunk does not return to its queue");
    // Valkey is back: the waiting message is handled
    world.home("birch").await;
    world.drain().await;
    assert_eq!(world.home("birch").await, [post.id]);
}

#[tokio::test]
async fn an_empty_feed_is_cached() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let feed = FeedId::home(world.id("ash"));
    for source in [Source::Rebuild, Source::Cache] {
        let page = world.page(feed, Span::ALL, 5).await;
        assert_eq!((page.posts.len(), page.next_before, page.source), (0, None, source));
    }
}

#[tokio::test]
async fn newer_than_gives_only_newer_posts() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let seen = world.publish("ash", "seen").await;
    let mut since = Vec::new();
    for _ in 0..5 {
        world.advance(Duration::from_millis(1));
        since.insert(0, world.publish("ash", "new").await);
    }
    let feed = FeedId::home(world.id("ash"));
    let mut span = Span { after: seen, ..Span::ALL };
    let mut walked = Vec::new();
    loop {
        let page = world.page(feed, span, 2).await;
        walked.extend(page.ids());
        let Some(before) = page.next_before else { break };
        span.before = before;
    }
    assert_eq!(walked, since);
}

/// A server that answers every command with one value.
struct Constant(Value);

impl Answers for Constant {
    fn answer<'a>(&'a self, _: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(std::future::ready(Ok(self.0.clone())))
    }
}

/// An answer that no script gives is an error. It is not interpreted as an outcome.
#[tokio::test]
async fn an_unknown_answer_of_a_script_is_an_error() {
    let settings =
        FeedSettings::read(&Config::from_pairs([("REDIS_URL", "redis://not-asked.invalid")]))
            .unwrap();
    let text = |text: &str| Value::BulkString(text.as_bytes().to_vec());
    let (feed, user, post) =
        (FeedId::home(UserId(1)), UserId(1), PostId::new(Time::from_ms(1), 1, UserId(1)));
    let counts = |n| Value::Array(vec![Value::Int(n), Value::Int(0), Value::Int(0)]);
    for odd in [
        text("something else"),
        Value::Nil,
        Value::Int(7),
        Value::Array(Vec::new()),
        Value::Array(vec![text("something else"), Value::Int(0)]),
        // for a push: too few answers, too many, and an answer that omits a feed
        Value::Array(vec![counts(1), counts(1)]),
        Value::Array(vec![counts(0)]),
    ] {
        let valkey = Valkey::over(Link::given(Arc::new(Constant(odd.clone()))), &settings);
        let change = RelationChange { relation: Relation::Following, at: Time::from_ms(1) };
        let slice = Slice::EMPTY;
        let errors = [
            valkey.begin(feed, "token", Time::from_ms(1)).await.err(),
            valkey.commit(feed, "token", &slice, &[]).await.err(),
            valkey.renew(Bucket(0), "token", Time::from_ms(1)).await.err(),
            valkey.relate(user, user, change, None, "").await.err(),
            valkey.read(feed, PostId::MAX, 9, Time::from_ms(1)).await.err(),
            valkey.request_count(&follows::events::counted(user), "token").await.err(),
            valkey.push_own(post).await.err(),
        ];
        for (place, error) in errors.iter().enumerate() {
            assert!(
                error.as_ref().is_some_and(StoreError::is_valkey),
                "{place}: {odd:?}: {error:?}"
            );
        }
    }
}
