//! What readers and writers of tags may cost, and what the audit repairs.

use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use fanfold_core::{Bucket, FeedId, PostId, Tag, TagHash};
use fanfold_engines::reading::ReadContext;
use fanfold_functions::timeline::{self, feed::FeedQuery};
use fanfold_kinds::audit::{check, check_bucket};
use fanfold_kinds::fanout::messages::DeliverChunk;
use fanfold_kinds::home::{self, FeedPage, Of, Span};
use fanfold_kinds::owned::Audited;
use fanfold_kinds::present::Viewer;
use fanfold_kinds::subscriptions::{ChunkOrder, deliver};
use fanfold_kinds::tags::cases;
use fanfold_kinds::tags::messages::UpdateTagFeeds;
use fanfold_kinds::tags::names::NamedTag;
use fanfold_kinds::{Error, posts};
use fanfold_web::ProblemKind;

use crate::harness::valkeys::Node;
use crate::harness::world::World;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

fn tag(name: &str) -> Tag {
    name.parse().expect("a tag")
}

async fn page(
    world: &World,
    viewer: &str,
    feed: FeedId,
    before: PostId,
) -> Result<FeedPage, Error> {
    let (viewer, span) = (Viewer::of(world.id(viewer)), Span { before, ..Span::ALL });
    let reading = ReadContext::of(viewer.user, world.now());
    home::page(&world.app, &viewer, feed, span, 3, &reading).await
}

fn is_refused<T: std::fmt::Debug>(result: Result<T, Error>) -> bool {
    match result {
        Ok(_) => false,
        Err(Error::TooManyRequests { .. }) => true,
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn old_pages_of_a_tag_are_charged_to_the_reader() {
    let world = World::with(&[("FEED_CAP", "10"), ("PULL_QUERIES_PER_MINUTE", "12")]).await;
    world.people(&["ash", "birch", "cedar"]).await;
    let mut posts = Vec::new();
    for _ in 0..60 {
        world.advance(Duration::from_millis(1));
        posts.push(world.publish("ash", "#many").await);
    }
    world.drain().await;
    let (feed, old) = (FeedId::of_tag(&tag("many")), posts[9]);
    page(&world, "ash", feed, PostId::MAX).await.expect("a page");
    // a page takes two queries, one for the number of parts
    for _ in 0..6 {
        let page = page(&world, "birch", feed, old).await.expect("a page");
        assert_eq!(page.ids().collect::<Vec<_>>(), [posts[8], posts[7], posts[6]]);
    }
    let mut tries = 0;
    while !is_refused(page(&world, "birch", feed, old).await) {
        tries += 1;
        assert!(tries < 9, "the reader is never refused");
    }
    // pages from Valkey cost nothing, and others are not refused
    assert!(!is_refused(page(&world, "birch", feed, PostId::MAX).await));
    assert!(!is_refused(page(&world, "cedar", feed, old).await));
    world.advance(MINUTE);
    assert!(!is_refused(page(&world, "birch", feed, old).await));
    // the API charges them, by the queries that they take: one for each part, and one for the number of parts
    for known in [1, 2, 4, 8] {
        world
            .app
            .tags
            .grown(feed.tag_of().expect("a tag"), known, world.now())
            .await
            .expect("grown");
    }
    let (viewer, mut query) = (Viewer::of(world.id("dogwood")), FeedQuery::page(12, None));
    let mut pages = 0;
    loop {
        match timeline::read(&world.app, &viewer, feed, &query, world.now()).await {
            Ok(page) => query.cursor = Some(page.next_cursor.expect("an older page")),
            Err(problem) => break assert_eq!(problem.kind, ProblemKind::TooManyRequests),
        }
        pages += 1;
    }
    assert!(pages <= 2, "{pages} pages");
}

/// What the pages of one reader need is kept for all, also what is below the floor of the live feed.
#[tokio::test]
async fn the_first_page_is_kept_as_a_whole() {
    let world = World::with(&[("FEED_CAP", "10"), ("PULL_QUERIES_PER_MINUTE", "6")]).await;
    world.people(&["ash", "birch"]).await;
    for n in 0..30 {
        world.advance(Duration::from_millis(1));
        world.publish("ash", &format!("#many {n}")).await;
    }
    world.drain().await;
    let feed = FeedId::of_tag(&tag("many"));
    page(&world, "ash", feed, PostId::MAX).await.expect("a live feed");
    world.advance(SECOND);
    let (viewer, tags) = (Viewer::of(world.id("birch")), [NamedTag::new("many").expect("a tag")]);
    for of in [Of::Feed(feed), Of::Tags(&tags)] {
        for _ in 0..20 {
            let reading = ReadContext::of(viewer.user, world.now());
            let page = home::page(&world.app, &viewer, of, Span::ALL, 25, &reading).await;
            assert_eq!(page.expect("a page").posts.len(), 25);
        }
    }
}

/// A page of the tags that a user follows is charged what its queries are.
#[tokio::test]
async fn old_pages_of_several_tags_are_charged_once() {
    let world = World::with(&[("FEED_CAP", "10"), ("PULL_QUERIES_PER_MINUTE", "25")]).await;
    world.people(&["ash", "birch"]).await;
    let tags: Vec<NamedTag> =
        (0..5).map(|n| NamedTag::new(&format!("t{n}")).expect("a tag")).collect();
    let mut posts = Vec::new();
    for n in 0..150 {
        world.advance(Duration::from_millis(1));
        posts.push(world.publish("ash", &format!("#t{}", n % 5)).await);
    }
    world.drain().await;
    for named in &tags {
        page(&world, "ash", FeedId::of_tag(&named.tag), PostId::MAX).await.expect("a live feed");
    }
    let (viewer, span) = (Viewer::of(world.id("birch")), Span { before: posts[60], ..Span::ALL });
    // each takes two queries for each of five tags
    for _ in 0..2 {
        let reading = ReadContext::of(viewer.user, world.now());
        let page = home::page(&world.app, &viewer, Of::Tags(&tags), span, 1, &reading).await;
        assert_eq!(page.expect("a page").ids().collect::<Vec<_>>(), [posts[59]]);
    }
}

/// Messages of one batch succeed or fail alone.
#[tokio::test]
async fn a_post_that_cannot_be_read_does_not_hold_up_others() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let mut posts = Vec::new();
    for n in 0..3 {
        world.advance(Duration::from_millis(1));
        posts.push(world.publish("ash", &format!("#batch {n}")).await);
    }
    world.take().await;
    // a newer version of the software wrote it
    let newer = AttributeValue::N("99".to_owned());
    let dynamo = aws_sdk_dynamodb::Client::new(&world.sdk);
    let update = dynamo.update_item().table_name(world.config.text("POSTS_TABLE").expect("a name"));
    let update = update.key("pk", AttributeValue::S(posts[1].author().to_string()));
    let update = update.key("sk", AttributeValue::S(posts[1].to_string()));
    let update = update.update_expression("SET v = :v").expression_attribute_values(":v", newer);
    update.send().await.expect("written");
    let order = |n: usize| ChunkOrder::from(UpdateTagFeeds { post: posts[n] });
    let chunk = DeliverChunk::new(posts[0], world.now(), vec![world.id("ash")]);
    let orders = vec![order(0), order(1), chunk.into(), order(2)];
    let outcomes = deliver(&world.app, orders, &[], world.now()).await;
    let done: Vec<bool> = outcomes.iter().map(|outcome| outcome.is_done()).collect();
    assert_eq!(done, [true, false, true, true]);
    let rows = world.app.tags.newest(tag("batch").hash(), PostId::MAX, 9).await.expect("rows");
    assert_eq!(rows.0.posts, [posts[2], posts[0]]);
}

/// Anybody may ask for any tag.
#[tokio::test]
async fn a_tag_without_posts_takes_no_memory() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let feed = FeedId::of_tag(&tag("nothing"));
    let is_live = async || world.app.valkey.peek(feed, 9).await.expect("read").known().is_some();
    let read = async || {
        world.advance(SECOND);
        let page = page(&world, "ash", feed, PostId::MAX).await.expect("a page");
        page.ids().collect::<Vec<_>>()
    };
    assert_eq!((read().await, is_live().await), (vec![], false));
    let keys = world.app.valkey.keys();
    let mut exist = redis::cmd("EXISTS");
    exist.arg(keys.feed(feed)).arg(keys.lock(feed));
    let left: u64 = exist.query_async(&mut world.redis().await).await.expect("an answer");
    assert_eq!(left, 0);
    let post = world.publish("ash", "#nothing").await;
    world.drain().await;
    assert_eq!((read().await, is_live().await), (vec![post], true));
}

#[tokio::test]
async fn completions_are_kept_for_a_while_and_charged() {
    let world = World::with(&[("PULL_QUERIES_PER_MINUTE", "40")]).await;
    world.people(&["ash", "birch"]).await;
    world.publish("ash", "#rust").await;
    world.drain().await;
    let complete = async |user: &str, text: &str| {
        cases::beginning_with(&world.app, world.id(user), text, world.now()).await
    };
    for text in ["r", "ru"] {
        assert_eq!(complete("ash", text).await.expect("read").len(), 1, "{text}");
    }
    assert!(is_refused(complete("ash", "rus").await));
    assert!(!is_refused(complete("birch", "rus").await));
    // what was found lately costs nothing
    assert!(!is_refused(complete("ash", "rus").await));
    world.advance(5 * SECOND);
    assert!(is_refused(complete("ash", "ru").await));
    world.advance(MINUTE);
    assert!(!is_refused(complete("ash", "ru").await));
    // tags without posts are looked at, too: 30 names take 62 queries
    let world = World::with(&[("PULL_QUERIES_PER_MINUTE", "70")]).await;
    world.people(&["ash"]).await;
    let names: Vec<String> = (10..40).map(|n| format!("#gone{n}")).collect();
    let post = world.publish("ash", &names.join(" ")).await;
    world.drain().await;
    world.delete("ash", post).await;
    world.drain().await;
    for (text, refused) in [("gone", false), ("x", true)] {
        let found = cases::beginning_with(&world.app, world.id("ash"), text, world.now()).await;
        assert_eq!(is_refused(found), refused, "{text}");
    }
}

#[tokio::test]
async fn the_audit_corrects_the_rows_of_a_post() {
    let node = Node::start(&[]);
    let world = World::with(&[("REDIS_URL", &node.url()), ("BUCKETS", "1")]).await;
    world.people(&["ash"]).await;
    let post = world.publish("ash", "#one and #two").await;
    world.drain().await;
    let viewer = Viewer::of(world.id("ash"));
    posts::read(&world.app, &viewer, post, world.now()).await.expect("a post, with its card");
    let corrected = async || {
        let mut audited = Audited::default();
        check_bucket(&world.app, Bucket(0), world.now(), &mut audited).await.expect("checked");
        audited.tags_corrected
    };
    let has = async |name: &str| {
        world.app.tags.name_of(post, tag(name).hash()).await.expect("read").is_some()
    };
    assert_eq!(corrected().await, 0);
    world.app.tags.remove(&[(post, tag("one").hash())]).await.expect("removed");
    assert_eq!((has("one").await, corrected().await, has("one").await), (false, 1, true));
    // the message about an edit was lost
    let ash = world.identity("ash");
    posts::edit(&world.app, &ash, post, "#two", None, world.now()).await.expect("edited");
    assert!(!world.take().await.is_empty(), "there is no event to lose");
    assert_eq!((has("one").await, corrected().await, has("one").await), (true, 1, false));
    assert_eq!((has("two").await, corrected().await), (true, 0));
    // a reader took a deleted post out of the feed, and its row waits for the message
    let feed = FeedId::of_tag(&tag("two"));
    world.publish("ash", "#two").await;
    world.drain().await;
    page(&world, "ash", feed, PostId::MAX).await.expect("a live feed");
    world.delete("ash", post).await;
    world.advance(SECOND);
    assert_eq!(page(&world, "ash", feed, PostId::MAX).await.expect("a page").posts.len(), 1);
    let mut audited = Audited::default();
    check(&world.app, feed, world.now(), &mut audited).await.expect("checked");
    assert_eq!((audited.checked, audited.differed), (1, 0));
}

/// Readers of followed tags share the newest posts of a tag for a second.
#[tokio::test]
async fn a_timeline_of_tags_is_a_second_old_at_most() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    let one = world.publish("ash", "#one").await;
    world.drain().await;
    let tags = [NamedTag::new("one").expect("a tag")];
    let read = async || {
        let viewer = Viewer::of(world.id("birch"));
        let reading = ReadContext::of(viewer.user, world.now());
        let page = home::page(&world.app, &viewer, Of::Tags(&tags), Span::ALL, 9, &reading).await;
        page.expect("a page").ids().collect::<Vec<_>>()
    };
    assert_eq!(read().await, [one]);
    world.advance(Duration::from_millis(1));
    let two = world.publish("ash", "#one").await;
    world.drain().await;
    world.delete("ash", one).await;
    // what is shown of a post is not kept
    assert_eq!(read().await, []);
    world.advance(SECOND);
    assert_eq!(read().await, [two]);
    // an edit shows before its message is handled
    let ash = world.identity("ash");
    posts::edit(&world.app, &ash, two, "none", None, world.now()).await.expect("edited");
    assert_eq!(read().await, []);
}

/// A tag that is none of the post's is removed from where it may be; a reply was never in the public feed.
#[tokio::test]
async fn a_reply_is_not_removed_from_the_public_feed() {
    let world = World::with(&[("PUBLIC_DAYS", "2")]).await;
    world.people(&["ash"]).await;
    let post = world.publish("ash", "#one").await;
    let reply = world.reply("ash", post).await;
    let taggings = world.app.posts.taggings(&[post, reply].into(), true).await.expect("read");
    let is_public = |post| taggings[&post].ever.contains(&TagHash::PUBLIC);
    assert_eq!((is_public(post), is_public(reply)), (true, false));
    // a deployment may have no public feed
    let (world, query) = (World::new().await, FeedQuery::page(5, None));
    let (viewer, feed) = (Viewer::of(world.id("ash")), FeedId::tag(TagHash::PUBLIC));
    let page = timeline::read(&world.app, &viewer, feed, &query, world.now()).await;
    assert_eq!(page.expect_err("no public feed").kind, ProblemKind::NoPublicFeed);
}
