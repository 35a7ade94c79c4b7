//! The rules that keep a feed right, one by one, through the real handlers.

use fanfold_core::limits::{COMMIT_GRACE_MS, REBUILD_LEASE_MS, REL_KEPT_MS};
use fanfold_core::message::{DeliverChunk, PostPublished, RelationChanged};
use fanfold_core::{PostId, Relation, Slice};
use fanfold_dispatch::handler::{Dispatched, dispatch};
use fanfold_store::dynamo::posts::{Created, Post};
use fanfold_store::feeds::{Source, Span};
use fanfold_store::valkey::{Begun, Feed, Read};
use fanfold_store::{Config, StoreError, clock};

use crate::harness::world::{Message, World};

/// Stores a post as the posts function does, which then dies: no feed was touched.
async fn only_stored(world: &World, author: &str) -> PostId {
    let id = PostId::new(world.now(), clock::random() as u16, world.id(author));
    let post = Post { id, text: "text".to_owned() };
    let (table, identity) = (world.posts.users.table(), world.identity(author));
    let created = world.posts.posts.create(table, &identity, &post, None, world.now()).await;
    assert_eq!(created.unwrap(), Created::Created);
    id
}

// ---- rule 1: delivered only after the commit --------------------------------------------------

#[tokio::test]
async fn an_event_without_its_post_goes_back_until_it_never_will_come() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let post = PostId::new(world.now(), 1, world.id("ash"));
    let event = PostPublished::new(post);
    let early = dispatch(&world.dispatch, &event, world.now()).await;
    assert!(matches!(early, Err(StoreError::NotCommittedYet { .. })), "{early:?}");
    let late = dispatch(&world.dispatch, &event, world.now() + COMMIT_GRACE_MS + 1).await;
    assert_eq!(late.unwrap(), Dispatched::NothingToDo);
}

#[tokio::test]
async fn an_event_ahead_of_its_commit_waits_a_moment_for_it() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let id = PostId::new(world.now(), 1, world.id("ash"));
    let event = PostPublished::new(id);
    let commit = async {
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        let (identity, table) = (world.identity("ash"), world.posts.users.table());
        let post = Post { id, text: "text".to_owned() };
        world.posts.posts.create(table, &identity, &post, None, world.now()).await.unwrap();
    };
    let (dispatched, ()) = futures::join!(dispatch(&world.dispatch, &event, world.now()), commit);
    assert_eq!(dispatched.unwrap(), Dispatched::Pushed { delivered: 0 });
}

#[tokio::test]
async fn a_post_deleted_before_its_dispatch_is_pushed_to_nobody() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    world.follow("birch", "ash").await;
    world.drain().await;
    let feed = Feed::home(world.id("birch"));
    world.home("birch").await;
    let post = world.publish("ash", "gone soon").await;
    world.delete("ash", post).await;
    let dispatched = dispatch(&world.dispatch, &PostPublished::new(post), world.now()).await;
    assert_eq!(dispatched.unwrap(), Dispatched::NothingToDo);
    let read = world.timeline.feeds.valkey.read(feed, PostId::MAX, 9, world.now()).await;
    assert_eq!(read.unwrap(), Read::Known(Slice::EMPTY));
}

// ---- rule 2: the author feed first -------------------------------------------------------------

#[tokio::test]
async fn who_follows_while_chunks_wait_finds_the_post_in_the_author_feed() {
    let world = World::with(&[("CHUNK_FOLLOWERS", "1")]).await;
    world.people(&["ash", "birch", "cedar", "dogwood"]).await;
    world.follow("birch", "ash").await;
    world.follow("cedar", "ash").await;
    world.drain().await;
    // live before: the author feed that a backfill reads, and the feed of who follows next
    world.walk(Feed::author(world.id("ash")), 5).await;
    world.home("dogwood").await;
    let post = only_stored(&world, "ash").await;
    let dispatched = dispatch(&world.dispatch, &PostPublished::new(post), world.now()).await;
    assert_eq!(dispatched.unwrap(), Dispatched::Cut { chunks: 2 });
    world.follow("dogwood", "ash").await;
    for message in world.take().await {
        if matches!(message, Message::Relation(_)) {
            world.handle(&message).await.unwrap();
        }
    }
    assert_eq!(world.home("dogwood").await, [post]);
}

// ---- rule 3: make live, read, commit -------------------------------------------------------------

#[tokio::test]
async fn a_feed_that_is_being_rebuilt_keeps_what_is_pushed_and_is_not_shown() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let old = world.publish("ash", "old").await;
    world.forget(&["ash"]).await;
    let (feed, valkey) = (Feed::home(world.id("ash")), &world.timeline.feeds.valkey);
    assert_eq!(valkey.begin(feed, 1, world.now()).await.unwrap(), Begun::Begun);
    assert_eq!(valkey.begin(feed, 2, world.now()).await.unwrap(), Begun::Busy);
    world.advance(1);
    let new = world.publish("ash", "new").await;
    assert_eq!(valkey.read(feed, PostId::MAX, 9, world.now()).await.unwrap(), Read::Unknown);
    // a reader meanwhile is served by a pull, whole
    let page = world.page(feed, Span::ALL, 9).await;
    assert_eq!((page.source, page.posts.len()), (Source::Pull, 2));
    // the rebuild had read before the new post
    let slice = Slice { posts: vec![old], bound: PostId::MIN };
    assert!(!valkey.commit(feed, 2, &slice).await.unwrap(), "a token without the lease");
    assert!(valkey.commit(feed, 1, &slice).await.unwrap());
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
    assert_eq!(valkey.begin(feed, 1, world.now()).await.unwrap(), Begun::Begun);
    // the lease is the server's clock's: let it end at once
    let lock = valkey.keys().lock(feed);
    let mut connection = world.redis().await;
    let left: i64 = redis::cmd("PTTL").arg(&lock).query_async(&mut connection).await.unwrap();
    assert!(left > 0 && left as u64 <= REBUILD_LEASE_MS, "a lease must end: {left}");
    let () = redis::cmd("DEL").arg(&lock).query_async(&mut connection).await.unwrap();
    let page = world.page(feed, Span::ALL, 9).await;
    assert_eq!((page.source, page.posts[0].id), (Source::Rebuild, post));
    assert!(!valkey.commit(feed, 1, &Slice::EMPTY).await.unwrap(), "its work is discarded");
    assert_eq!(world.home("ash").await, [post]);
}

// ---- rule 4: the floor ----------------------------------------------------------------------------

#[tokio::test]
async fn pages_go_on_below_the_floor_to_the_very_first_post() {
    let world = World::with(&[("FEED_CAP", "10")]).await;
    world.people(&["ash", "birch"]).await;
    world.follow("birch", "ash").await;
    world.drain().await;
    let mut posts = Vec::new();
    world.home("birch").await;
    for _ in 0..35 {
        world.advance(1);
        posts.insert(0, world.publish("ash", "text").await);
        world.drain().await;
    }
    assert_eq!(world.home("birch").await, posts);
    let members = members(&world, "birch").await;
    assert!(members <= 10, "{members} members after trims");
    // a late push below the floor does no harm
    let late = only_stored_at(&world, "ash", posts[30].time_ms()).await;
    posts.insert(if late > posts[30] { 30 } else { 31 }, late);
    dispatch(&world.dispatch, &PostPublished::new(late), world.now()).await.unwrap();
    assert_eq!(world.home("birch").await, posts);
}

async fn only_stored_at(world: &World, author: &str, time_ms: u64) -> PostId {
    let id = PostId::new(time_ms, clock::random() as u16, world.id(author));
    let post = Post { id, text: "late".to_owned() };
    let (table, identity) = (world.posts.users.table(), world.identity(author));
    world.posts.posts.create(table, &identity, &post, None, world.now()).await.unwrap();
    id
}

async fn members(world: &World, name: &str) -> u64 {
    let key = world.timeline.feeds.valkey.keys().feed(Feed::home(world.id(name)));
    redis::cmd("ZCARD").arg(key).query_async(&mut world.redis().await).await.unwrap()
}

#[tokio::test]
async fn following_somebody_with_many_posts_leaves_no_hole() {
    let world = World::with(&[("FEED_CAP", "10")]).await;
    world.people(&["ash", "birch"]).await;
    let mut posts = Vec::new();
    for n in 0..30 {
        world.advance(1);
        posts.insert(0, world.publish(if n % 3 == 0 { "birch" } else { "ash" }, "text").await);
    }
    world.drain().await;
    world.home("birch").await;
    world.follow("birch", "ash").await;
    world.drain().await;
    let page = world.page(Feed::home(world.id("birch")), Span::ALL, 5).await;
    assert_eq!(page.source, Source::Cache);
    assert_eq!(world.home("birch").await, posts);
}

#[tokio::test]
async fn many_posts_of_one_millisecond_neither_repeat_nor_are_left_out() {
    let world = World::with(&[("FEED_CAP", "10")]).await;
    world.people(&["ash", "birch"]).await;
    world.follow("birch", "ash").await;
    world.drain().await;
    world.home("birch").await;
    let mut posts = Vec::new();
    for n in 0..30 {
        posts.push(world.publish(if n % 2 == 0 { "birch" } else { "ash" }, "text").await);
    }
    world.drain().await;
    posts.sort_unstable_by(|a, b| b.cmp(a));
    for limit in [1, 3, 8, 100] {
        assert_eq!(world.walk(Feed::home(world.id("birch")), limit).await, posts);
    }
}

// ---- rule 5: last change wins ---------------------------------------------------------------------

#[tokio::test]
async fn relation_events_in_any_order_leave_the_last_change() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    let post = world.publish("ash", "text").await;
    world.drain().await;
    world.home("birch").await;
    for last in [Relation::Following, Relation::NotFollowing] {
        world.follow("birch", "ash").await;
        world.unfollow("birch", "ash").await;
        if last == Relation::Following {
            world.follow("birch", "ash").await;
        }
        let mut messages = world.take().await;
        messages.reverse();
        messages.extend(messages.clone());
        for message in messages {
            world.handle(&message).await.unwrap();
        }
        let expected = if last == Relation::Following { vec![post] } else { vec![] };
        assert_eq!(world.home("birch").await, expected);
    }
}

#[tokio::test]
async fn what_is_on_its_way_after_an_unfollow_does_no_harm() {
    let world = World::with(&[("CHUNK_FOLLOWERS", "1")]).await;
    world.people(&["ash", "birch", "cedar"]).await;
    world.follow("birch", "ash").await;
    world.follow("cedar", "ash").await;
    world.drain().await;
    let feed = Feed::home(world.id("birch"));
    world.home("birch").await;
    // a push on its way
    world.publish("ash", "on its way").await;
    for message in world.take().await {
        world.handle(&message).await.unwrap();
    }
    let chunks = world.take().await;
    assert_eq!(chunks.len(), 2);
    // a rebuild on its way
    let valkey = &world.timeline.feeds.valkey;
    world.forget(&["birch"]).await;
    assert_eq!(valkey.begin(feed, 1, world.now()).await.unwrap(), Begun::Begun);
    let slice = world.timeline.feeds.pull(feed, PostId::MAX, 9, world.now(), true).await.unwrap();
    assert_eq!(slice.posts.len(), 1);
    world.unfollow("birch", "ash").await;
    world.drain().await;
    for chunk in &chunks {
        world.handle(chunk).await.unwrap();
    }
    assert!(valkey.commit(feed, 1, &slice).await.unwrap());
    let read = valkey.read(feed, PostId::MAX, 9, world.now()).await.unwrap();
    assert_eq!(read, Read::Known(Slice::EMPTY), "nothing of ash may be left");
}

#[tokio::test]
async fn a_chunk_older_than_valkeys_memory_asks_who_still_follows() {
    let world = World::new().await;
    world.people(&["ash", "birch", "cedar"]).await;
    world.follow("cedar", "ash").await;
    world.drain().await;
    world.home("birch").await;
    world.home("cedar").await;
    let post = only_stored(&world, "ash").await;
    // birch unfollowed so long ago that Valkey has forgotten it
    let followers = vec![world.id("birch"), world.id("cedar")];
    let chunk = DeliverChunk::new(post, world.now(), followers);
    let later = world.now() + REL_KEPT_MS + 1;
    let pushed = fanfold_deliver::handler::deliver(&world.deliver, &chunk, later).await.unwrap();
    assert_eq!((pushed.delivered, pushed.not_live), (1, 0));
    assert_eq!(world.home("birch").await, []);
    assert_eq!(world.home("cedar").await, [post]);
}

#[tokio::test]
async fn the_time_of_a_change_is_later_than_the_last_one_whatever_the_clock_says() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    world.follow("birch", "ash").await;
    let graph = &world.users.graph;
    let first = graph.relation(world.id("birch"), world.id("ash")).await.unwrap().unwrap();
    let (identity, slow) = (world.identity("birch"), world.now() - 5_000);
    let user = fanfold_store::http::UserRef::Id(world.id("ash"));
    let relate = fanfold_users::handler::relate;
    relate(&world.users, &identity, &user, Relation::NotFollowing, slow).await.unwrap();
    let second = graph.relation(world.id("birch"), world.id("ash")).await.unwrap().unwrap();
    assert!(second.wins_over(first) && second.relation == Relation::NotFollowing);
}

#[tokio::test]
async fn an_event_whose_change_was_never_committed_changes_nothing() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    world.follow("birch", "ash").await;
    world.drain().await;
    let post = world.publish("ash", "text").await;
    world.drain().await;
    // the event of an unfollow, whose transaction failed
    let event = RelationChanged::new(world.id("birch"), world.id("ash"), world.now() + 1);
    let early = world.handle(&Message::Relation(event.clone())).await;
    assert!(matches!(early, Err(StoreError::NotCommittedYet { .. })), "{early:?}");
    world.advance(COMMIT_GRACE_MS + 2);
    world.handle(&Message::Relation(event)).await.unwrap();
    assert_eq!(world.home("birch").await, [post]);
}

// ---- rule 7: a page is full or the last -----------------------------------------------------------

#[tokio::test]
async fn deleted_posts_are_replaced_from_below_and_their_entries_removed() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    world.follow("birch", "ash").await;
    world.drain().await;
    world.home("birch").await;
    let mut posts = Vec::new();
    for _ in 0..12 {
        world.advance(1);
        posts.insert(0, world.publish("ash", "text").await);
    }
    world.drain().await;
    let feed = Feed::home(world.id("birch"));
    let first = world.page(feed, Span::ALL, 4).await;
    // the post at the cursor, and most of the next page
    for post in &posts[3..7] {
        world.delete("ash", *post).await;
    }
    let next = Span { before: first.next_before.unwrap(), ..Span::ALL };
    let second = world.page(feed, next, 4).await;
    let ids: Vec<PostId> = second.posts.iter().map(|post| post.id).collect();
    assert_eq!((ids.as_slice(), second.source), (&posts[7..11], Source::Cache));
    assert_eq!(members(&world, "birch").await, 12 - 3 + 1, "gone but the cursor's, and the floor");
    let last = Span { before: second.next_before.unwrap(), ..Span::ALL };
    let third = world.page(feed, last, 4).await;
    assert_eq!((third.posts.len(), third.next_before), (1, None));
}

// ---- rule 8: Valkey is a cache ----------------------------------------------------------------------

#[tokio::test]
async fn without_valkey_reads_are_pulled_posts_are_taken_and_pushes_wait() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    world.follow("birch", "ash").await;
    let pairs =
        ["USERS_TABLE", "POSTS_TABLE", "GRAPH_TABLE", "POST_EVENTS_QUEUE_URL", "CHUNKS_QUEUE_URL"];
    let pairs = pairs.map(|name| (name, world.config.text(name).unwrap()));
    let away = ("REDIS_URL", "redis://127.0.0.1:1".to_owned());
    let config = Config::from_pairs(pairs.into_iter().chain([away]));
    let posts = fanfold_posts::App::new(&world.sdk, &config).unwrap();
    let (ash, now) = (world.identity("ash"), world.now());
    let published = fanfold_posts::handler::publish(&posts, &ash, "text", None, now).await;
    let (post, _) = published.unwrap();
    let timeline = fanfold_timeline::App::new(&world.sdk, &config).unwrap();
    let feed = Feed::home(world.id("birch"));
    let page = timeline.feeds.page(feed, Span::ALL, 5, now).await.unwrap();
    assert_eq!((page.source, page.posts[0].id), (Source::Pull, post.id));
    let dispatch_app = fanfold_dispatch::App::new(&world.sdk, &config).unwrap();
    let waits = dispatch(&dispatch_app, &PostPublished::new(post.id), now).await;
    assert!(waits.is_err_and(|error| error.is_valkey()), "the event must go back to its queue");
    // back again: the message that waited is handled
    world.home("birch").await;
    world.drain().await;
    assert_eq!(world.home("birch").await, [post.id]);
}

#[tokio::test]
async fn an_empty_feed_is_known_to_be_empty() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let feed = Feed::home(world.id("ash"));
    for source in [Source::Rebuild, Source::Cache] {
        let page = world.page(feed, Span::ALL, 5).await;
        assert_eq!((page.posts.len(), page.next_before, page.source), (0, None, source));
    }
}

#[tokio::test]
async fn newer_than_gives_what_came_since_and_ends_there() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let seen = world.publish("ash", "seen").await;
    let mut since = Vec::new();
    for _ in 0..5 {
        world.advance(1);
        since.insert(0, world.publish("ash", "new").await);
    }
    let feed = Feed::home(world.id("ash"));
    let mut span = Span { after: seen, ..Span::ALL };
    let mut walked = Vec::new();
    loop {
        let page = world.page(feed, span, 2).await;
        walked.extend(page.posts.iter().map(|post| post.id));
        let Some(before) = page.next_before else { break };
        span.before = before;
    }
    assert_eq!(walked, since);
}

// ---- the sweep ------------------------------------------------------------------------------------------

#[tokio::test]
async fn the_sweep_drops_what_nobody_reads_and_says_what_is_left() {
    let world = World::with(&[("INACTIVE_AFTER", "100"), ("BUCKETS", "3")]).await;
    let names = ["ash", "birch", "cedar", "dogwood"];
    world.people(&names).await;
    for name in names {
        world.home(name).await;
    }
    world.advance(60_000);
    world.home("ash").await;
    world.advance(50_000);
    // other worlds have feeds in these buckets too, but nobody reads as far in the past
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
