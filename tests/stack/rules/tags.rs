//! Tag feeds, followed tags, and the names of tags.

use std::collections::HashSet;
use std::time::Duration;

use fanfold_core::board::Zone;
use fanfold_core::limits::{
    BOARD_PARTS, FOLLOWED_TAGS_MAX, TAG_NAMES_MAX, TAG_POSTS_COUNTED_MAX, TAGS_EVER_MAX,
};
use fanfold_core::{FeedId, PostId, Ranking, Tag, TagHash, UserId};
use fanfold_engines::feed::Source;
use fanfold_engines::reading::ReadContext;
use fanfold_kinds::home::{self, Of, Span};
use fanfold_kinds::present::Viewer;
use fanfold_kinds::rankings::{self, Shown};
use fanfold_kinds::tags::cases;
use fanfold_kinds::tags::followed::FollowWrite;
use fanfold_kinds::tags::items::Tagged;
use fanfold_kinds::tags::names::NamedTag;
use fanfold_kinds::tags::uses::{USE_ROWS, USES_COUNTED_MAX};
use fanfold_kinds::{Error, posts};

use crate::harness::world::World;

const SECOND: Duration = Duration::from_secs(1);

fn named(name: &str) -> NamedTag {
    NamedTag::new(name).expect("a tag")
}

fn feed(tag: &str) -> FeedId {
    FeedId::of_tag(&named(tag).tag)
}

/// A page of the feed of a tag for a viewer, when no kept page is left.
async fn read(world: &World, viewer: &str, tag: &str, limit: usize) -> (Vec<PostId>, Source) {
    world.advance(SECOND);
    let (viewer, reading) = (Viewer::of(world.id(viewer)), ReadContext::new(world.now()));
    let page = home::page(&world.app, &viewer, feed(tag), Span::ALL, limit, &reading).await;
    let page = page.expect("a page");
    (page.ids().collect(), page.source)
}

async fn edit(world: &World, post: PostId, text: &str) {
    let ash = world.identity("ash");
    posts::edit(&world.app, &ash, post, text, None, world.now()).await.expect("edited");
}

async fn publish(world: &World, author: &str, text: &str) -> PostId {
    world.advance(Duration::from_millis(1));
    world.publish(author, text).await
}

#[tokio::test]
async fn a_tag_feed_has_the_posts_whose_present_text_has_the_tag() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    let one = publish(&world, "ash", "#Straße and #rust").await;
    let two = publish(&world, "ash", "#STRASSE").await;
    let three = publish(&world, "ash", "no tag").await;
    world.drain().await;
    let live = async || {
        let read = world.app.valkey.peek(feed("strasse"), 9).await.expect("read").known();
        read.expect("a live feed").slice.posts
    };
    assert_eq!(read(&world, "birch", "strasse", 9).await, (vec![two, one], Source::Rebuild));
    assert_eq!(read(&world, "birch", "strasse", 9).await, (vec![two, one], Source::Cache));
    assert_eq!(read(&world, "birch", "rust", 9).await.0, [one]);
    assert_eq!(read(&world, "birch", "nothing", 9).await.0, []);
    // an edit moves a post; readers pass over it before its message is handled
    edit(&world, one, "#rust alone").await;
    assert_eq!(read(&world, "birch", "strasse", 9).await, (vec![two], Source::Cache));
    edit(&world, three, "now #strasse").await;
    world.drain().await;
    assert_eq!(read(&world, "birch", "strasse", 9).await, (vec![three, two], Source::Cache));
    assert_eq!(live().await, [three, two]);
    world.delete("ash", two).await;
    world.drain().await;
    assert_eq!(read(&world, "birch", "strasse", 9).await, (vec![three], Source::Cache));
    // and back again
    edit(&world, one, "#STRAßE, too").await;
    world.drain().await;
    assert_eq!(read(&world, "birch", "strasse", 9).await, (vec![three, one], Source::Cache));
    // the live feed has no other entries, and the rows are the same
    assert_eq!(live().await, [three, one]);
    let rows = world.app.tags.newest(named("strasse").tag.hash(), PostId::MAX, 9).await;
    assert_eq!(rows.expect("rows").0.posts, [three, one]);
    world.app.valkey.invalidate(feed("strasse")).await.expect("dropped");
    assert_eq!(read(&world, "birch", "strasse", 9).await, (vec![three, one], Source::Rebuild));
    world.drop_user("ash").await;
    world.drain().await;
    assert_eq!(read(&world, "birch", "strasse", 9).await.0, []);
    let rows = world.app.tags.newest(named("strasse").tag.hash(), PostId::MAX, 9).await;
    assert_eq!(rows.expect("rows").0.posts, []);
}

/// A handler that read a post before an edit writes after the handler of the edit.
#[tokio::test]
async fn a_late_handler_does_not_bring_a_tag_back() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let post = publish(&world, "ash", "#one").await;
    world.drain().await;
    edit(&world, post, "#two").await;
    world.drain().await;
    let one = Tagged { post, tag: named("one").tag.hash(), name: "one", expires_at: None };
    world.app.tags.put(&[one], world.now()).await.expect("written");
    fanfold_kinds::tags::sync::sync(&world.app, [post].into(), world.now()).await.expect("updated");
    assert_eq!(world.app.tags.newest(one.tag, PostId::MAX, 9).await.expect("rows").0.posts, []);
    assert_eq!(read(&world, "ash", "two", 9).await.0, [post]);
}

#[tokio::test]
async fn pages_of_a_tag_have_no_seams() {
    let world = World::with(&[("FEED_CAP", "10")]).await;
    world.people(&["ash", "birch"]).await;
    let (mut expected, mut hidden) = (Vec::new(), HashSet::new());
    for n in 0..40 {
        let post = publish(&world, "ash", &format!("#many {n}")).await;
        expected.insert(0, post);
        if n % 3 == 0 {
            hidden.insert(post);
        }
    }
    world.drain().await;
    for post in &hidden {
        edit(&world, *post, "without").await;
    }
    expected.retain(|post| !hidden.contains(post));
    for _ in 0..2 {
        world.advance(SECOND);
        assert_eq!(world.walk(feed("many"), 3).await, expected);
        world.drain().await;
    }
    // more parts do not hide the rows of earlier
    let tag = named("many").tag.hash();
    for known in [1, 2, 4, 8] {
        world.app.tags.grown(tag, known).await.expect("grown");
    }
    assert_eq!(world.app.tags.parts(tag).await.expect("read"), 16);
    let app = fanfold_kinds::App { tags: world.app.tags.forgetful(), ..world.app.clone() };
    for n in 0..8 {
        world.advance(Duration::from_millis(1));
        let text = format!("#many more {n}");
        expected.insert(0, world.publish("birch", &text).await);
        let of = [expected[0]].into();
        fanfold_kinds::tags::sync::sync(&app, of, world.now()).await.expect("written");
    }
    world.advance(SECOND);
    assert_eq!(world.walk(feed("many"), 3).await, expected);
    let pulled = world.app.tags.newest(tag, PostId::MAX, 100).await.expect("rows");
    assert_eq!(pulled.0.posts, expected);
    // a deletion finds its row in an earlier part
    let (oldest, author) = (expected.pop().expect("a post"), "ash");
    world.delete(author, oldest).await;
    world.drain().await;
    let pulled = world.app.tags.newest(tag, PostId::MAX, 100).await.expect("rows");
    assert_eq!(pulled.0.posts, expected);
}

/// An environment keeps the first page of a tag for a second. What depends on the viewer is read.
#[tokio::test]
async fn a_kept_first_page_is_a_second_old_at_most() {
    let world = World::new().await;
    world.people(&["ash", "birch", "cedar"]).await;
    let posts = [publish(&world, "ash", "#one").await, publish(&world, "birch", "#one").await];
    world.drain().await;
    let page = async |viewer: Viewer, limit| {
        let reading = ReadContext::new(world.now());
        let page = home::page(&world.app, &viewer, feed("one"), Span::ALL, limit, &reading).await;
        page.expect("a page").posts
    };
    let viewer = |name| Viewer::of(world.id(name));
    world.like("cedar", posts[0]).await;
    page(viewer("ash"), 2).await;
    // a reader of less takes the kept page, one of more does not
    world.app.valkey.invalidate(feed("one")).await.expect("dropped");
    let shown = page(viewer("cedar"), 2).await;
    assert_eq!(shown.iter().map(|shown| shown.post.id).collect::<Vec<_>>(), [posts[1], posts[0]]);
    let liked = |shown: &fanfold_kinds::present::ShownPost| {
        shown.marks.has(fanfold_kinds::marks::MarkKind::Like)
    };
    assert_eq!(shown.iter().map(liked).collect::<Vec<_>>(), [false, true]);
    assert!(page(viewer("ash"), 2).await.iter().all(|shown| !liked(shown)));
    let hidden = Viewer { hidden: HashSet::from([world.id("birch")]), ..viewer("ash") };
    let shown = page(hidden, 1).await;
    assert_eq!(shown.iter().map(|shown| shown.post.id).collect::<Vec<_>>(), [posts[0]]);
    world.delete("birch", posts[1]).await;
    edit(&world, posts[0], "#one, again").await;
    world.advance(SECOND);
    let shown = page(viewer("cedar"), 2).await;
    let texts: Vec<&str> = shown.iter().map(|shown| shown.post.text.as_str()).collect();
    assert_eq!(texts, ["#one, again"]);
}

#[tokio::test]
async fn followed_tags_are_merged_when_they_are_read() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    let both = publish(&world, "ash", "#one #two").await;
    let three = publish(&world, "ash", "#three").await;
    let two = publish(&world, "birch", "#Two").await;
    world.drain().await;
    let birch = world.identity("birch");
    let follow = async |name: &str, is_followed| {
        cases::follow(&world.app, &birch, &named(name), is_followed, world.now()).await
    };
    let timeline = async || {
        world.advance(SECOND);
        let followed = world.app.followed_tags.of(birch.user()).await.expect("read").tags;
        let (viewer, of) = (Viewer::of(birch.user()), Of::Tags(&followed));
        let (mut all, mut span) = (Vec::new(), Span::ALL);
        loop {
            let reading = ReadContext::new(world.now());
            let page =
                home::page(&world.app, &viewer, of, span, 1, &reading).await.expect("a page");
            all.extend(page.ids());
            match page.next_before {
                Some(before) => span.before = before,
                None => return all,
            }
        }
    };
    assert_eq!(timeline().await, []);
    for name in ["One", "two", "ONE"] {
        follow(name, true).await.expect("followed");
    }
    let names = || async {
        let followed = world.app.followed_tags.of(birch.user()).await.expect("read");
        followed.tags.into_iter().map(|named| named.name).collect::<Vec<_>>()
    };
    assert_eq!(names().await, ["One", "two"]);
    assert_eq!(timeline().await, [two, both]);
    edit(&world, three, "#three #one").await;
    edit(&world, both, "#one").await;
    world.drain().await;
    assert_eq!(timeline().await, [two, three, both]);
    follow("one", false).await.expect("unfollowed");
    follow("one", false).await.expect("unfollowed again");
    assert_eq!((names().await, timeline().await), (vec!["two".to_owned()], vec![two]));
    for n in 1..FOLLOWED_TAGS_MAX {
        follow(&format!("tag{n}"), true).await.expect("followed");
    }
    assert!(matches!(follow("more", true).await, Err(Error::FollowedTagsLimit { max: 50 })));
    follow("two", true).await.expect("followed already");
    let nobody = world.identity("nobody");
    let put = cases::follow(&world.app, &nobody, &named("one"), true, world.now()).await;
    assert!(matches!(put, Err(Error::ProfileMissing)));
    // a profile that ends after it was read
    let put = world
        .app
        .followed_tags
        .put_followed(&world.app.users, &nobody, 0, vec![named("one")])
        .await;
    assert!(put.expect("an answer").refused(FollowWrite::Profile));
    world.drop_user("birch").await;
    assert_eq!(names().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_tag_says_how_it_is_used() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    let tag: Tag = "rustlang".parse().expect("a tag");
    let used = async || {
        world.advance(Duration::from_secs(5));
        let viewer = Viewer::of(world.id("ash"));
        let (used, _) = cases::tag(&world.app, &viewer, &tag, world.now()).await.expect("read");
        (used.named.name, used.posts, used.authors)
    };
    assert_eq!(used().await, ("rustlang".to_owned(), 0, 0));
    for (author, text) in
        [("ash", "#RustLang"), ("birch", "#RustLang"), ("birch", "#rustlang"), ("ash", "#rustlang")]
    {
        publish(&world, author, text).await;
    }
    let last = publish(&world, "ash", "#RustLang").await;
    world.drain().await;
    assert_eq!(used().await, ("RustLang".to_owned(), 5, 2));
    world.delete("ash", last).await;
    world.drain().await;
    assert_eq!(used().await.1, 4);
    world.advance(Duration::from_secs(7 * 24 * 3_600));
    publish(&world, "birch", "#rustlang").await;
    world.drain().await;
    assert_eq!(used().await, ("rustlang".to_owned(), 1, 1));
    // of very many posts, the newest are counted
    let now = world.now();
    let post = |n: usize| PostId::new(now, n as u16, world.id("ash"));
    let rows: Vec<PostId> = (0..TAG_POSTS_COUNTED_MAX + 5).map(post).collect();
    let rows: Vec<Tagged<'_>> = rows
        .iter()
        .map(|post| Tagged { post: *post, tag: tag.hash(), name: "RUSTLANG", expires_at: None })
        .collect();
    world.app.tags.put(&rows, now).await.expect("written");
    let most = TAG_POSTS_COUNTED_MAX as u64;
    assert_eq!(used().await, ("RUSTLANG".to_owned(), most, 1));
}

#[tokio::test]
async fn a_completion_has_tags_with_posts() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let text: Vec<String> = (0..TAG_NAMES_MAX).map(|n| format!("#Many{n}")).collect();
    publish(&world, "ash", &format!("#Rust #rusty #rest {}", text.join(" "))).await;
    let gone = publish(&world, "ash", "#Rustic #Many").await;
    world.drain().await;
    let ash = world.id("ash");
    let complete = async |text: &str| {
        let found = cases::beginning_with(&world.app, ash, text, world.now()).await.expect("read");
        found.into_iter().map(|named| named.name).collect::<Vec<_>>()
    };
    assert_eq!(complete("RUST").await, ["Rust", "Rustic", "rusty"]);
    assert_eq!(complete("#ru").await, ["Rust", "Rustic", "rusty"]);
    assert_eq!(complete("r").await.len(), 4);
    assert_eq!(complete("many").await.len(), TAG_NAMES_MAX);
    for nothing in ["x", "rusts", "#", "\u{200d}"] {
        assert_eq!(complete(nothing).await, Vec::<String>::new(), "{nothing}");
    }
    world.delete("ash", gone).await;
    world.drain().await;
    world.advance(5 * SECOND);
    assert_eq!(complete("rust").await, ["Rust", "rusty"]);
    assert_eq!(complete("many").await.len(), TAG_NAMES_MAX);
    // nobody has used them for a month
    world.advance(Duration::from_secs(30 * 24 * 3_600));
    assert_eq!(complete("rust").await, Vec::<String>::new());
}

#[tokio::test]
async fn the_public_feed_has_the_posts_of_the_last_days() {
    let world = World::with(&[("PUBLIC_DAYS", "2")]).await;
    world.people(&["ash", "birch"]).await;
    let public = FeedId::tag(TagHash::PUBLIC);
    let read = async || {
        world.advance(SECOND);
        let (viewer, reading) = (Viewer::of(world.id("birch")), ReadContext::new(world.now()));
        let page = home::page(&world.app, &viewer, public, Span::ALL, 9, &reading).await;
        let page = page.expect("a page");
        (page.ids().collect::<Vec<_>>(), page.next_before, page.source)
    };
    let one = publish(&world, "ash", "one").await;
    world.reply("birch", one).await;
    world.drain().await;
    assert_eq!(read().await, (vec![one], None, Source::Rebuild));
    world.advance(Duration::from_secs(24 * 3_600));
    let two = publish(&world, "birch", "two #tag").await;
    let three = publish(&world, "birch", "three").await;
    world.drain().await;
    assert_eq!(read().await, (vec![three, two, one], None, Source::Cache));
    world.delete("birch", three).await;
    world.drain().await;
    assert_eq!(read().await, (vec![two, one], None, Source::Cache));
    // the first post is too old; its row expires
    world.advance(Duration::from_secs(24 * 3_600));
    assert_eq!(read().await, (vec![two], None, Source::Cache));
    assert_eq!(world.walk(public, 1).await, [two]);
    world.app.valkey.invalidate(public).await.expect("dropped");
    assert_eq!(read().await, (vec![two], None, Source::Rebuild));
    let rows = world.app.tags.newest(TagHash::PUBLIC, PostId::MAX, 9).await.expect("rows");
    assert_eq!(rows.0.posts, [two, one]);
    world.drop_user("birch").await;
    world.drain().await;
    assert_eq!(read().await.0, []);
}

/// A deployment without a public feed writes nothing for posts without tags.
#[tokio::test]
async fn without_a_public_feed_a_post_without_tags_sends_no_order() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let post = world.publish("ash", "no tag").await;
    for message in world.take().await {
        world.handle(&message).await.expect("handled");
    }
    world.delete("ash", post).await;
    for message in world.take().await {
        world.handle(&message).await.expect("handled");
    }
    assert!(world.take().await.is_empty());
    let rows = world.app.tags.newest(TagHash::PUBLIC, PostId::MAX, 9).await.expect("rows");
    assert_eq!(rows.0.posts, []);
}

#[tokio::test]
async fn tags_in_use_are_ranked_by_authors() {
    let world = World::new().await;
    world.people(&["ash", "birch", "cedar"]).await;
    let ranked = async || {
        world.advance(Duration::from_secs(60));
        let (viewer, reading) = (Viewer::of(world.id("ash")), ReadContext::new(world.now()));
        let page = rankings::page(&world.app, &viewer, Ranking::TagsDay, None, 9, &reading).await;
        let entries = page.expect("a ranking").entries.into_iter();
        let named = entries.map(|entry| match entry.shown {
            Shown::Tag(named) => (named.name, entry.count),
            other => panic!("{other:?}"),
        });
        named.collect::<Vec<_>>()
    };
    assert_eq!(ranked().await, []);
    // one author cannot push a tag
    for n in 0..5 {
        publish(&world, "ash", &format!("#mine {n}")).await;
    }
    let both = publish(&world, "birch", "#Ours").await;
    publish(&world, "cedar", "#ours").await;
    publish(&world, "cedar", "#ours").await;
    world.drain().await;
    assert_eq!(ranked().await, [("ours".to_owned(), 2), ("mine".to_owned(), 1)]);
    let later = publish(&world, "ash", "nothing yet").await;
    edit(&world, later, "#ours, too").await;
    world.delete("birch", both).await;
    world.drain().await;
    assert_eq!(ranked().await, [("ours".to_owned(), 2), ("mine".to_owned(), 1)]);
    // a tag that an edit adds counts on the day of the post
    world.advance(Duration::from_secs(26 * 3_600));
    assert_eq!(ranked().await, []);
    edit(&world, later, "#late").await;
    publish(&world, "cedar", "#new").await;
    world.drain().await;
    assert_eq!(ranked().await, [("new".to_owned(), 1)]);
}

#[tokio::test]
async fn the_versions_of_a_post_have_a_limited_number_of_tags() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let tags = |from: usize, count: usize| {
        let tags = (from..from + count).map(|n| format!("#t{n}"));
        tags.collect::<Vec<_>>().join(" ")
    };
    let post = publish(&world, "ash", &tags(0, TAGS_EVER_MAX / 2)).await;
    edit(&world, post, &tags(TAGS_EVER_MAX / 2, TAGS_EVER_MAX / 2)).await;
    let ash = world.identity("ash");
    let more = posts::edit(&world.app, &ash, post, "#more", None, world.now()).await;
    assert!(matches!(more, Err(Error::TagsLimit { max: TAGS_EVER_MAX })));
    // those that it had are allowed
    edit(&world, post, &tags(20, 20)).await;
    world.drain().await;
    assert_eq!(read(&world, "ash", "t0", 9).await.0, []);
    assert_eq!(read(&world, "ash", "t39", 9).await.0, [post]);
}

/// The ranking passes over most uses of a busy tag, and counts those of the tags after it.
#[tokio::test]
async fn a_busy_tag_does_not_hide_those_after_it() {
    let world = World::new().await;
    let now = world.now();
    let (part, day) = (|tag: TagHash| tag.0 % u64::from(BOARD_PARTS), Zone::utc().day(now));
    let busy = named("busy").tag.hash();
    let after = (0..).map(|n| named(&format!("after{n}")).tag.hash());
    let after = after.filter(|tag| *tag > busy && part(*tag) == part(busy)).take(2);
    let mut after: Vec<TagHash> = after.collect();
    after.sort_unstable();
    let busy_posts = 3 * USES_COUNTED_MAX;
    // each post has an author of its own
    let authors = (0..busy_posts as u64).map(|n| UserId(n * u64::from(USE_ROWS)));
    let posts = authors.map(|author| PostId::new(now, 1, author));
    let rows = posts.map(|post| Tagged { post, tag: busy, name: "busy", expires_at: None });
    let mut rows: Vec<Tagged<'_>> = rows.collect();
    let first = rows[0];
    rows.extend(after.iter().map(|tag| Tagged { tag: *tag, name: "after", ..first }));
    world.app.uses.put(&rows, now).await.expect("written");
    let uses = world.app.uses.of_part(&[day], part(busy) as u8, now.hour(), 500, None).await;
    let uses = uses.expect("read").expect("all");
    assert_eq!(uses.iter().map(|used| used.tag).collect::<Vec<_>>(), [&[busy], &*after].concat());
    let counted = uses[0].authors as usize;
    assert!((USES_COUNTED_MAX..2 * USES_COUNTED_MAX).contains(&counted), "{counted} are counted");
    // only the best are kept
    let uses = world.app.uses.of_part(&[day], part(busy) as u8, now.hour(), 1, None).await;
    assert_eq!(uses.expect("read").expect("all").len(), 1);
}
