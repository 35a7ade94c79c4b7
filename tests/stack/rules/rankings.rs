//! Rankings, one rule at a time, through the real handlers.

use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use axum::response::IntoResponse as _;
use fanfold_core::board::Zone;
use fanfold_core::limits::{BOARD_PARTS, COMMIT_GRACE, RANKING_KEPT};
use fanfold_core::{PostId, Ranking, Time, UserId};
use fanfold_engines::reading::ReadContext;
use fanfold_engines::tally::Tallied;
use fanfold_kinds::Error;
use fanfold_kinds::posts::items::CountPut;
use fanfold_kinds::present::Viewer;
use fanfold_kinds::rankings::{RankingEntry, RankingPage, RankingPlace, Shown, page};
use fanfold_kinds::subscriptions::RebuildOrder;
use fanfold_runtime::clock::Deadline;
use fanfold_web::{Problem, ProblemKind};

use crate::harness::valkeys::Node;
use crate::harness::world::{Message, World};

const HOUR: Duration = Duration::from_secs(3_600);
const MINUTE: Duration = Duration::from_secs(60);

/// A world with a Valkey of its own: a deployment has one copy of each ranking. A test begins in the morning (UTC), so
/// that no day ends in it.
async fn world() -> (Node, World) {
    let node = Node::start(&[]);
    let world = World::with(&[("REDIS_URL", &node.url())]).await;
    let (utc, now) = (Zone::utc(), world.now());
    world.advance(utc.begin(utc.day(now).plus_days(1)).since(now) + 8 * HOUR);
    world.people(&["ash", "birch", "cedar", "dogwood"]).await;
    (node, world)
}

pub(super) async fn try_read(
    world: &World,
    ranking: Ranking,
    after: Option<RankingPlace>,
    limit: usize,
) -> Result<RankingPage, Error> {
    let (viewer, reading) = (Viewer::of(world.id("ash")), ReadContext::new(world.now()));
    page(&world.app, &viewer, ranking, after, limit, &reading).await
}

async fn read(
    world: &World,
    ranking: Ranking,
    after: Option<RankingPlace>,
    limit: usize,
) -> RankingPage {
    try_read(world, ranking, after, limit).await.expect("a page")
}

/// The posts of a ranking with their likes, in a new snapshot.
async fn posts(world: &World, ranking: Ranking) -> Vec<(PostId, u64)> {
    world.advance(MINUTE);
    ids(read(world, ranking, None, 100).await.entries)
}

pub(super) fn ids(entries: Vec<RankingEntry>) -> Vec<(PostId, u64)> {
    let id = |entry: RankingEntry| match entry.shown {
        Shown::Post(shown) => (shown.post.id, entry.count),
        other => panic!("{other:?} among posts"),
    };
    entries.into_iter().map(id).collect()
}

/// The authors of the ranking with their likes, in a new snapshot.
async fn authors(world: &World) -> Vec<(String, u64)> {
    world.advance(MINUTE);
    let entries = read(world, Ranking::Authors, None, 100).await.entries;
    let name = |entry: RankingEntry| match entry.shown {
        Shown::Author(author) => (author.card.name, entry.count),
        other => panic!("{other:?} among authors"),
    };
    entries.into_iter().map(name).collect()
}

/// Counts likes of a post, as the handler of `CountLikes` does.
async fn counted(world: &World, post: PostId, likes: u64, changes: u64) {
    let (store, boards) = (&world.app.posts, &world.app.boards);
    let put = store.put_likes(boards, post, Tallied { number: likes, changes }, world.now()).await;
    assert_eq!(put.expect("an answer"), CountPut::Written);
}

#[tokio::test]
async fn posts_are_ranked_by_the_likes_of_the_last_day_or_week() {
    let (_node, world) = world().await;
    let mut all = Vec::new();
    for text in ["a", "b", "c"] {
        all.push(world.publish("ash", text).await);
        world.advance(Duration::from_millis(1));
    }
    let [a, b, c] = all[..] else { panic!("{all:?}") };
    assert_eq!(posts(&world, Ranking::PostsDay).await, []);
    counted(&world, a, 3, 3).await;
    counted(&world, b, 2, 2).await;
    assert_eq!(posts(&world, Ranking::PostsDay).await, [(a, 3), (b, 2)]);
    world.advance(23 * HOUR - 10 * MINUTE);
    counted(&world, b, 4, 4).await;
    counted(&world, c, 2, 2).await;
    let both = [(b, 4), (a, 3), (c, 2)];
    assert_eq!(posts(&world, Ranking::PostsDay).await, both);
    assert_eq!(posts(&world, Ranking::PostsWeek).await, both);
    // the first likes are older than a day; the earlier post is first on a tie
    world.advance(3 * HOUR);
    assert_eq!(posts(&world, Ranking::PostsDay).await, [(b, 2), (c, 2)]);
    assert_eq!(posts(&world, Ranking::PostsWeek).await, both);
    // likes that are taken back
    counted(&world, b, 3, 5).await;
    assert_eq!(posts(&world, Ranking::PostsDay).await, [(c, 2), (b, 1)]);
    counted(&world, b, 2, 6).await;
    assert_eq!(posts(&world, Ranking::PostsDay).await, [(c, 2)]);
    assert_eq!(posts(&world, Ranking::PostsWeek).await, [(a, 3), (b, 2), (c, 2)]);
    world.advance(6 * 24 * HOUR);
    assert_eq!(posts(&world, Ranking::PostsWeek).await, [(c, 2)]);
    world.advance(2 * 24 * HOUR);
    assert_eq!(posts(&world, Ranking::PostsWeek).await, []);
    assert_eq!(authors(&world).await, [("ash".to_owned(), 7)]);
}

#[tokio::test]
async fn authors_are_ranked_by_likes_and_then_by_followers() {
    let (_node, world) = world().await;
    for (author, likers) in
        [("ash", &["birch"][..]), ("birch", &["ash", "cedar"]), ("cedar", &["ash", "birch"])]
    {
        for text in ["one", "two"] {
            let post = world.publish(author, text).await;
            for liker in likers {
                world.like(liker, post).await;
            }
        }
    }
    world.follow("ash", "cedar").await;
    world.drain().await;
    let expected =
        [("cedar", 4), ("birch", 4), ("ash", 2)].map(|(name, likes)| (name.to_owned(), likes));
    assert_eq!(authors(&world).await, expected);
    world.follow("ash", "birch").await;
    world.follow("cedar", "birch").await;
    world.drain().await;
    let names: Vec<String> = authors(&world).await.into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["birch", "cedar", "ash"]);
}

/// A deleted post vanishes from snapshots at once. Its likes are taken from those of its author.
#[tokio::test]
async fn deleted_posts_vanish() {
    let (_node, world) = world().await;
    let (gone, stays) = (world.publish("ash", "gone").await, world.publish("birch", "stays").await);
    for liker in ["birch", "cedar"] {
        world.like(liker, gone).await;
    }
    world.like("cedar", stays).await;
    world.drain().await;
    assert_eq!(posts(&world, Ranking::PostsDay).await, [(gone, 2), (stays, 1)]);
    world.delete("ash", gone).await;
    let entries = read(&world, Ranking::PostsDay, None, 100).await.entries;
    assert_eq!(entries.iter().map(|entry| entry.place).collect::<Vec<_>>(), [2]);
    assert_eq!(ids(entries), [(stays, 1)]);
    world.drain().await;
    // the message comes again
    world.advance(COMMIT_GRACE);
    let again = fanfold_kinds::posts::messages::PostDeleted { post: gone, deleted_at: world.now() };
    world.handle(&Message::Like(again.into())).await.expect("handled");
    assert_eq!(posts(&world, Ranking::PostsWeek).await, [(stays, 1)]);
    assert_eq!(authors(&world).await, [("birch".to_owned(), 1)]);
    let boards = &world.app.boards;
    let (now, mut rows) = (world.now(), Vec::new());
    for part in 0..BOARD_PARTS {
        let day = Zone::utc().day(now);
        rows.extend(boards.trends(day, part, now.hour().minus(24), None, None).await.unwrap().rows);
    }
    assert_eq!(rows, [(stays, 1)], "the rows of the deleted post are left");
}

#[tokio::test]
async fn the_pages_of_a_snapshot_have_no_gaps_and_no_repetitions() {
    let (node, world) = world().await;
    let mut all = Vec::new();
    for n in 0..7 {
        let post = world.publish("ash", &format!("{n}")).await;
        counted(&world, post, 10 - n, 20).await;
        all.push((post, 10 - n));
    }
    let first = read(&world, Ranking::PostsDay, None, 3).await;
    assert_eq!(ids(first.entries), all[..3]);
    // meanwhile, the last one becomes the first one, and a new snapshot begins
    counted(&world, all[6].0, 100, 200).await;
    assert_eq!(posts(&world, Ranking::PostsDay).await[0], (all[6].0, 100));
    world.delete("ash", all[4].0).await;
    let second = read(&world, Ranking::PostsDay, first.next_after, 3).await;
    assert_eq!(second.at, first.at);
    assert_eq!(ids(second.entries), [all[3], all[5], all[6]]);
    assert_eq!(second.next_after, None);
    // a full page that is the last one has no cursor
    let all_at_once = read(&world, Ranking::PostsDay, first.next_after, 3).await;
    assert_eq!((all_at_once.entries.len(), all_at_once.next_after), (3, None));
    // a snapshot that Valkey has lost is replaced by the present one
    node.cli(&["FLUSHALL"]);
    let later = read(&world, Ranking::PostsDay, first.next_after, 3).await;
    assert!(later.at > first.at);
    assert_eq!(ids(later.entries), [all[2], all[3], all[5]]);
    assert_eq!(later.next_after, None);
    // places that no ranking has
    for place in [500, u64::MAX] {
        let past = read(&world, Ranking::PostsDay, Some((first.at, place)), 3).await;
        assert_eq!((past.entries, past.next_after), (Vec::new(), None));
    }
}

/// The rows of all authors.
async fn received(world: &World) -> Vec<(UserId, i64)> {
    let mut rows = Vec::new();
    for part in 0..BOARD_PARTS {
        rows.extend(world.app.boards.received_by(part, None, None).await.expect("rows").rows);
    }
    rows
}

/// Also if the message about a deleted post arrives after the author was dropped.
#[tokio::test]
async fn a_dropped_author_leaves_no_row() {
    let (_node, world) = world().await;
    let (deleted, kept) = (world.publish("ash", "one").await, world.publish("ash", "two").await);
    for post in [deleted, kept] {
        world.like("birch", post).await;
    }
    world.drain().await;
    let likes: i64 = received(&world).await.into_iter().map(|(_, likes)| likes).sum();
    assert_eq!(likes, 2);
    world.delete("ash", deleted).await;
    let late = world.take().await;
    // an order to drop the author removes the rows before it removes the tombstone of the post
    world.app.boards.forget_received(world.id("ash")).await.expect("removed");
    for message in &late {
        world.handle(message).await.expect("handled");
    }
    assert_eq!(received(&world).await, []);
    world.like("cedar", kept).await;
    world.drain().await;
    assert_eq!(received(&world).await, [(world.id("ash"), 1)]);
    world.drop_user("ash").await;
    assert_eq!(received(&world).await, []);
    for message in &late {
        world.handle(message).await.expect("handled");
    }
    world.drain().await;
    assert_eq!(received(&world).await, []);
    assert_eq!(posts(&world, Ranking::PostsDay).await, []);
}

/// Readers share a snapshot, and it reads no row again.
#[tokio::test]
async fn a_snapshot_is_shared_until_the_next_one() {
    let (_node, world) = world().await;
    let post = world.publish("ash", "text").await;
    // the middle of a minute, so that the next seconds belong to it
    let ms = world.now().ms() % 60_000;
    world.advance(Duration::from_millis(90_000 - ms));
    counted(&world, post, 1, 1).await;
    let shown = async || ids(read(&world, Ranking::PostsDay, None, 3).await.entries);
    assert_eq!(shown().await, [(post, 1)]);
    counted(&world, post, 2, 2).await;
    world.advance(Duration::from_secs(20));
    assert_eq!(shown().await, [(post, 1)]);
    world.advance(Duration::from_secs(20));
    assert_eq!(shown().await, [(post, 2)]);
}

/// A ranking of very many likes is made by messages. Meanwhile, readers get the one before, and if there is none, an answer
/// that names the reason.
#[tokio::test]
async fn a_large_ranking_is_made_by_messages() {
    let (_node, mut world) = world().await;
    let mut all = Vec::new();
    for n in 0..40 {
        let post = world.publish(["ash", "birch", "cedar", "dogwood"][n % 4], "text").await;
        counted(&world, post, 100 - n as u64, 200).await;
        all.push((post, 100 - n as u64));
    }
    let total = |n: usize| (0..10).map(|k| 100 - (4 * k + n) as u64).sum::<u64>();
    world.take().await;
    world.app.settings.rows_in_request = 1;
    let refused = try_read(&world, Ranking::PostsDay, None, 100).await;
    assert!(matches!(refused, Err(Error::RankingBuilding)), "{refused:?}");
    let problem = Problem::from(refused.unwrap_err());
    assert_eq!(
        (problem.kind, problem.detail.as_str()),
        (ProblemKind::Unavailable, "the ranking is being prepared; try again")
    );
    let response = problem.into_response();
    assert_eq!(
        (response.status().as_u16(), &response.headers()["retry-after"]),
        (503, &"1".parse().unwrap())
    );
    let order = async || {
        let taken = world.take().await;
        match &taken[..] {
            [] => None,
            [Message::Rebuild(order @ RebuildOrder::RebuildRanking(_))] => Some(order.clone()),
            _ => panic!("{taken:?}"),
        }
    };
    // no message has time for more than one part
    let (mut next, mut parts) = (order().await, 0);
    while let Some(RebuildOrder::RebuildRanking(order_of_part)) = next {
        assert!(try_read(&world, Ranking::PostsDay, None, 100).await.is_err(), "shown in part");
        let (late, message) = (Deadline::at(Time::EPOCH), RebuildOrder::from(order_of_part));
        message.handle(&world.app, world.now(), late).await.expect("made");
        (next, parts) = (order().await, parts + 1);
    }
    assert_eq!(parts, BOARD_PARTS);
    assert_eq!(ids(read(&world, Ranking::PostsDay, None, 100).await.entries), all);
    // the next snapshot: the earlier one is shown while its message waits, and nobody orders another one meanwhile
    counted(&world, all[39].0, 500, 900).await;
    for _ in 0..3 {
        world.advance(MINUTE);
        assert_eq!(ids(read(&world, Ranking::PostsDay, None, 100).await.entries), all);
    }
    let message = order().await.expect("an order");
    message.handle(&world.app, world.now(), Deadline::NONE).await.expect("made");
    let (first, rest) = (all[39].0, &all[..39]);
    let shown = ids(read(&world, Ranking::PostsDay, None, 100).await.entries);
    assert_eq!((shown[0], &shown[1..]), ((first, 500), rest));
    assert!(order().await.is_some(), "the present snapshot");
    // authors
    assert!(try_read(&world, Ranking::Authors, None, 100).await.is_err());
    let message = order().await.expect("an order");
    message.handle(&world.app, world.now(), Deadline::NONE).await.expect("made");
    let entries = read(&world, Ranking::Authors, None, 100).await.entries;
    let likes: Vec<u64> = entries.iter().map(|entry| entry.count).collect();
    assert_eq!(likes, [total(3) + 439, total(0), total(1), total(2)]);
    // a ranking without an earlier snapshot: nobody orders a second one
    for _ in 0..2 {
        world.advance(MINUTE);
        assert!(try_read(&world, Ranking::PostsWeek, None, 100).await.is_err());
    }
    let message = order().await.expect("an order");
    message.handle(&world.app, world.now(), Deadline::NONE).await.expect("made");
}

/// A snapshot takes longer than the time after which the next one begins: it is shown, and nobody begins another one meanwhile.
#[tokio::test]
async fn a_slow_ranking_is_made_alone() {
    let (_node, mut world) = world().await;
    world.app.settings.ranking_every = Duration::from_secs(1);
    world.app.settings.rows_in_request = 1;
    for n in 0..40 {
        let post = world.publish("ash", "text").await;
        counted(&world, post, 100 - n, 200).await;
    }
    world.take().await;
    let (mut made_at, mut shown) = (Vec::new(), 0);
    for second in 0..30 {
        world.advance(Duration::from_secs(1));
        if let Ok(found) = try_read(&world, Ranking::PostsDay, None, 100).await {
            assert_eq!(found.entries.len(), 40);
            made_at.push(found.at);
            shown += 1;
        }
        // an order takes five seconds
        if second % 5 == 4 {
            let taken = world.take().await;
            let [Message::Rebuild(order)] = &taken[..] else { panic!("{taken:?}") };
            let handled = order.handle(&world.app, world.now(), Deadline::NONE);
            handled.await.expect("made");
        }
    }
    made_at.dedup();
    assert_eq!((shown, made_at.len()), (25, 5), "{made_at:?}");
}

/// The name of an author who is gone is not shown, although the row is there.
#[tokio::test]
async fn an_author_without_a_profile_has_no_place() {
    let (_node, world) = world().await;
    let gone = PostId::new(world.now(), 1, world.id("elm"));
    let boards = &world.app.boards;
    let post = world.publish("ash", "text").await;
    counted(&world, post, 1, 1).await;
    assert_eq!(authors(&world).await, [("ash".to_owned(), 1)]);
    // without a post, no row is made
    let count = Tallied { number: 9, changes: 9 };
    let put = world.app.posts.put_likes(boards, gone, count, world.now()).await;
    assert_eq!(put.expect("an answer"), CountPut::Gone);
    let table = world.config.text("USERS_TABLE").expect("a table");
    let key = AttributeValue::S(format!("user#{}", world.id("ash")));
    let dynamo = aws_sdk_dynamodb::Client::new(&world.sdk);
    let removed = dynamo.delete_item().table_name(table).key("pk", key).send().await;
    removed.expect("removed");
    world.advance(RANKING_KEPT);
    assert_eq!(authors(&world).await, []);
}
