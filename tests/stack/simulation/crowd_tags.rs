//! 5,000 posts a second have one tag, and 50,000 readers a second read its first page, with the limits of DynamoDB and of a shard of
//! Valkey. Then an author deletes a post and another one edits one, while as many read. What is outside the simulation: the rate of the HTTP API (`ApiRate`), the concurrent executions of the account (about
//! 500 for these reads, if each takes 10 ms, and 50 for the deliveries), and the dispatch of 5,000 posts, which their authors share.

use std::cell::Cell;
use std::time::Duration;

use fanfold_core::{FeedId, PostId, Tag, UserId};
use fanfold_functions::timeline::feed::{FeedQuery, FeedView};
use fanfold_kinds::App;
use fanfold_kinds::posts;
use fanfold_kinds::present::Viewer;
use fanfold_kinds::subscriptions::{ChunkOrder, deliver};
use fanfold_kinds::tags::items::TAG_PARTS_MAX;
use fanfold_kinds::tags::messages::UpdateTagFeeds;
use futures::future::join_all;
use serde_json::json;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};

use super::apps::{POSTS, id, identity};
use super::crowd::{Deployment, fan};
use super::server::Server;
use super::tasks::runtime;

const SECOND: Duration = Duration::from_secs(1);
const POSTS_A_SECOND: usize = 5_000;
const READS_A_SECOND: usize = 50_000;
/// Environments of the function that answers pages, of the one that delivers, and messages in a batch.
const READING: usize = 500;
const DELIVERING: usize = 50;
const BATCH: usize = 10;
const AUTHORS: usize = 500;
const VIEWERS: usize = 1_000;
/// Calls a second to one hash slot of ElastiCache Serverless, if each takes 10 of its 30,000 ECPU.
const SLOT_CALLS_MAX: u64 = 3_000;

fn tag() -> Tag {
    "crowd".parse().expect("a tag")
}

/// Posts of all authors, as the function `posts` stores them. They are published within the second that begins now.
fn stored(deployment: &Deployment, first: usize) -> Vec<(Duration, PostId)> {
    let tagged = tag().hash().0.to_string();
    let mut cloud = deployment.apps.cloud.lock();
    let post = |n: usize| {
        let at = SECOND * n as u32 / POSTS_A_SECOND as u32;
        let author = id(&fan(n % AUTHORS));
        let post = PostId::new(deployment.now() + at, (first + n) as u16, author);
        let item = json!({
            "pk": {"S": author.to_string()}, "sk": {"S": post.to_string()}, "v": {"N": "1"},
            "text": {"S": "#crowd"}, "entities": {"S": "0-6#crowd"}, "tagged": {"NS": [tagged]},
        });
        cloud.put(POSTS, item.as_object().expect("an item").clone());
        (at, post)
    };
    (0..POSTS_A_SECOND).map(post).collect()
}

/// Delivers posts in batches, each when its last post was published. Returns the number of messages that were tried again.
async fn deliver_all(
    deployment: &Deployment,
    environments: &[App],
    posts: &[(Duration, PostId)],
) -> usize {
    let retried = Cell::new(0);
    let batches = posts.chunks(BATCH).enumerate().map(|(n, batch)| {
        let (app, retried) = (&environments[n % environments.len()], &retried);
        async move {
            let (at, _) = batch[batch.len() - 1];
            sleep(at).await;
            let order = |(_, post): &(Duration, PostId)| UpdateTagFeeds { post: *post };
            let mut left: Vec<UpdateTagFeeds> = batch.iter().map(order).collect();
            while !left.is_empty() {
                let orders = left.iter().cloned().map(ChunkOrder::from).collect();
                let outcomes = deliver(app, orders, &[], deployment.now()).await;
                let all = left.into_iter().zip(outcomes);
                left =
                    all.filter(|(_, outcome)| !outcome.is_done()).map(|(order, _)| order).collect();
                retried.set(retried.get() + left.len());
                if !left.is_empty() {
                    sleep(SECOND).await;
                }
            }
        }
    });
    join_all(batches).await;
    retried.get()
}

#[test]
fn a_crowd_posts_and_reads_one_tag() {
    let server = Server::start();
    runtime().block_on(async {
        let settings = [("FEED_CAP", "120".to_owned()), ("BUCKETS", "256".to_owned())];
        let deployment = Deployment::new(&server, &settings);
        deployment.put_profiles((0..AUTHORS).map(fan)).await;
        deployment.start_latency();
        let App { first_pages, first_slices, .. } = deployment.apps.keeping.clone();
        let app = &App { first_pages, first_slices, ..deployment.apps.app.clone() };
        let delivering: Vec<App> = (0..DELIVERING).map(|_| app.forgetful()).collect();
        // an environment answers one request at a time
        let reading: Vec<Mutex<App>> = (0..READING).map(|_| Mutex::new(app.forgetful())).collect();
        let feed = FeedId::of_tag(&tag());
        let read = async |app: &Mutex<App>, viewer: u64, limit| {
            page(&deployment, &*app.lock().await, viewer, (limit, None)).await.items
        };
        // a tag that nobody used has one part, and gets more while DynamoDB refuses its rows
        assert_eq!(app.tags.parts(tag().hash()).await.expect("read"), 1);
        assert!(read(&reading[0], 0, 20).await.is_empty());
        let refused = || self::refused(&deployment);
        let (mut all, mut before, mut rounds) = (Vec::new(), 0, Vec::new());
        for _ in 0..2 {
            let posts = stored(&deployment, all.len());
            let retried = deliver_all(&deployment, &delivering, &posts).await;
            all.extend(posts);
            rounds.push(refused() - before);
            println!("{rounds:?} rows refused, {retried} messages tried again");
            before = refused();
        }
        assert!(rounds[1] < rounds[0] / 2, "writers forget the number of parts: {rounds:?}");
        let parts = app.tags.parts(tag().hash()).await.expect("read");
        assert!((8..=TAG_PARTS_MAX).contains(&parts), "{parts} parts");
        // from then on, no part is at its limit: all environments have read the number of parts. After two minutes, posts
        // are no longer looked for in the parts of before
        sleep(130 * SECOND).await;
        let posts = stored(&deployment, all.len());
        let readers = join_all((0..READS_A_SECOND).map(|n| {
            let (read, reading) = (&read, &reading);
            async move {
                sleep(SECOND * n as u32 / READS_A_SECOND as u32).await;
                // more than a live feed has after a trim
                let limit = if n % 49 == 0 { 100 } else { 20 };
                let shown = read(&reading[n % READING], (n % VIEWERS) as u64, limit).await;
                assert_eq!(shown.len(), limit);
                assert!(shown.is_sorted_by(|a, b| a.id > b.id), "out of order");
            }
        }));
        let (retried, _) = futures::join!(deliver_all(&deployment, &delivering, &posts), readers);
        all.extend(posts);
        let bucket = app.valkey.keys().bucket_of(feed).to_string();
        let calls = deployment.apps.valkey.busiest(&bucket);
        println!("{READS_A_SECOND} reads: at most {calls} calls a second to the shard of the tag");
        let refused = refused() - before;
        println!("{parts} parts: {refused} rows refused");
        assert!(retried == 0 && refused <= POSTS_A_SECOND as u64 / 100, "{retried}, {refused}");
        assert_eq!(deployment.apps.valkey.busier_than(SLOT_CALLS_MAX), []);
        check(&deployment, feed, &all).await;
        let (before_last, last) = all.split_at(all.len() - POSTS_A_SECOND);
        let (gone, left): (Vec<_>, Vec<_>) = last.iter().enumerate().partition(|(n, _)| n % 2 == 0);
        let [deleted, left] = [gone, left].map(|posts| posts.into_iter().map(|(_, post)| *post));
        let deleted: Vec<(Duration, PostId)> = deleted.collect();
        let kept: Vec<_> = before_last.iter().copied().chain(left).collect();
        bury(&deployment, &deleted);
        before = self::refused(&deployment);
        let retried = deliver_all(&deployment, &delivering, &deleted).await;
        let refused = self::refused(&deployment) - before;
        println!("{} posts deleted: {refused} calls refused", deleted.len());
        assert!(retried == 0 && refused <= deleted.len() as u64 / 100, "{retried}, {refused}");
        check(&deployment, feed, &kept).await;
        changes_show(&deployment, &reading).await;
        assert_eq!(deployment.apps.valkey.busier_than(SLOT_CALLS_MAX), []);
    });
}

/// The number of calls and rows that DynamoDB refused.
fn refused(deployment: &Deployment) -> u64 {
    deployment.refused().iter().map(|(_, count)| *count).sum()
}

/// Replaces posts by tombstones, as the function `posts` does.
fn bury(deployment: &Deployment, posts: &[(Duration, PostId)]) {
    let mut cloud = deployment.apps.cloud.lock();
    for (_, post) in posts {
        let item = json!({
            "pk": {"S": post.author().to_string()}, "sk": {"S": post.to_string()}, "v": {"N": "1"},
            "deleted_at_ms": {"N": deployment.now().ms().to_string()},
            "tagged": {"NS": [tag().hash().0.to_string()]},
        });
        cloud.put(POSTS, item.as_object().expect("an item").clone());
    }
}

/// A page of the tag, as a viewer sees it in an environment.
async fn page(
    deployment: &Deployment,
    app: &App,
    viewer: u64,
    (limit, newer_than): (usize, Option<&str>),
) -> FeedView {
    let (feed, viewer) = (FeedId::of_tag(&tag()), Viewer::of(UserId(viewer)));
    let mut query = FeedQuery::page(limit, None);
    query.newer_than = newer_than.map(str::to_owned);
    let page = fanfold_functions::timeline::read(app, &viewer, feed, &query, deployment.now());
    page.await.expect("a page")
}

/// A deletion and an edit show within a second, although every environment keeps the page, and before any message is handled.
async fn changes_show(deployment: &Deployment, reading: &[Mutex<App>]) {
    let app = &deployment.apps.app;
    let authors = [0, 1].map(|n| identity(&fan(n)));
    let mut changed = Vec::new();
    for author in &authors {
        let published = posts::publish(app, author, "#crowd", None, deployment.now()).await;
        changed.push(published.expect("published").post.id);
    }
    let [gone, edited] = [changed[0], changed[1]];
    deliver_all(deployment, &[app.forgetful()], &[gone, edited].map(|post| (Duration::ZERO, post)))
        .await;
    sleep(SECOND).await;
    let before = page(deployment, &app.forgetful(), 0, (20, None)).await;
    let is_changed = |id: &str| changed.iter().any(|post| post.to_string() == id);
    assert_eq!(before.items.iter().filter(|post| is_changed(&post.id)).count(), 2);
    let (shown_until, seen, late) = (Cell::new(None), Cell::new(0), Cell::new(0));
    let change = async {
        sleep(SECOND / 10).await;
        let now = deployment.now();
        posts::delete(app, &authors[0], gone, now).await.expect("deleted");
        posts::edit(app, &authors[1], edited, "without", None, now).await.expect("edited");
        shown_until.set(Some(Instant::now() + SECOND));
    };
    let readers = join_all((0..READS_A_SECOND).map(|n| {
        let (shown_until, seen, late) = (&shown_until, &seen, &late);
        let (newest, is_changed) = (&before.newest_cursor, &is_changed);
        async move {
            sleep(2 * SECOND * n as u32 / READS_A_SECOND as u32).await;
            // each environment has readers of both kinds
            let newer_than = (n / READING).is_multiple_of(2).then_some(&**newest);
            let (app, viewer) = (reading[n % READING].lock().await, (n % VIEWERS) as u64);
            let is_late = shown_until.get().is_some_and(|until| Instant::now() >= until);
            let items = page(deployment, &app, viewer, (20, newer_than)).await.items;
            assert_eq!(items.len(), if newer_than.is_some() { 0 } else { 20 });
            let has_changed = items.iter().any(|post| is_changed(&post.id));
            assert!(!(is_late && has_changed), "a change does not show after a second");
            seen.set(seen.get() + usize::from(has_changed));
            late.set(late.get() + usize::from(is_late));
        }
    }));
    futures::join!(change, readers);
    println!(
        "the posts were shown {} times, and not to {} readers after a second",
        seen.get(),
        late.get()
    );
    assert!(seen.get() > 0 && late.get() > READS_A_SECOND / 4, "{} {}", seen.get(), late.get());
}

/// Every post is under the tag, and the live feed has the newest ones.
async fn check(deployment: &Deployment, feed: FeedId, all: &[(Duration, PostId)]) {
    let app = &deployment.apps.app;
    let mut expected: Vec<PostId> = all.iter().map(|(_, post)| *post).collect();
    expected.sort_unstable_by(|a, b| b.cmp(a));
    let (rows, _) = app.tags.newest(tag().hash(), PostId::MAX, all.len() + 1).await.expect("rows");
    assert!(rows.posts == expected && rows.is_end(), "{} rows", rows.posts.len());
    let live = app.valkey.peek(feed, 1_000).await.expect("read").known().expect("a live feed");
    let slice = live.slice;
    expected.retain(|post| *post > slice.bound);
    assert!(!expected.is_empty() && slice.posts == expected, "{} live posts", slice.posts.len());
}
