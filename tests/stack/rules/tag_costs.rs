//! What readers and writers of tags may cost, and what the audit repairs.

use std::time::Duration;

use fanfold_core::{Bucket, FeedId, PostId, Tag, TagHash};
use fanfold_engines::reading::ReadContext;
use fanfold_kinds::audit::check_bucket;
use fanfold_kinds::home::{self, FeedPage, Of, Span};
use fanfold_kinds::owned::Audited;
use fanfold_kinds::present::Viewer;
use fanfold_kinds::tags::cases;
use fanfold_kinds::tags::names::NamedTag;
use fanfold_kinds::{Error, posts};

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
    page(&world, "birch", feed, PostId::MAX).await.expect("a page");
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
}

/// A tag that is none of the post's is removed from where it may be; a reply was never in the public feed.
#[tokio::test]
async fn a_reply_is_not_removed_from_the_public_feed() {
    let world = World::with(&[("PUBLIC_DAYS", "2")]).await;
    world.people(&["ash"]).await;
    let post = world.publish("ash", "#one").await;
    let reply = world.reply("ash", post).await;
    let taggings = world.app.posts.taggings(&[post, reply].into()).await.expect("read");
    let is_public = |post| taggings[&post].clone().with_public().ever.contains(&TagHash::PUBLIC);
    assert_eq!((is_public(post), is_public(reply)), (true, false));
}

#[tokio::test]
async fn a_beginning_that_grows_has_no_tags() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    // each is 18 characters when spellings are compared
    let text = "\u{fdfa}".repeat(101);
    let found = cases::beginning_with(&world.app, world.id("ash"), &text, world.now()).await;
    assert_eq!(found.expect("an answer"), []);
}
