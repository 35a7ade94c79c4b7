//! Tag feeds, followed tags, and the names of tags.

use std::collections::HashSet;
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use fanfold_core::board::{Day, Zone};
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
use futures::future::join_all;

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

/// Gives a tag more parts. Returns their number.
async fn grown(world: &World, tag: TagHash, known: u8) -> u8 {
    world.app.tags.grown(tag, known, world.now()).await.expect("grown")
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
        assert_eq!(grown(&world, tag, known).await, 2 * known);
    }
    assert_eq!(grown(&world, tag, 16).await, 16);
    let app = world.app.forgetful();
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

/// A row may be in any part. The environment that removes it may remember fewer parts.
#[tokio::test]
async fn a_row_is_found_in_a_late_part() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    publish(&world, "ash", "#wide").await;
    world.drain().await;
    let (tags, tag) = (&world.app.tags, named("wide").tag.hash());
    for known in [1, 2, 4, 8] {
        grown(&world, tag, known).await;
    }
    world.advance(Duration::from_millis(1));
    // with 16 parts, the first one has every 16th post
    let mut row = None;
    for n in 1..=16 {
        let post = PostId::new(world.now(), n, world.id("ash"));
        let tagged = Tagged { post, tag, name: "Wide", expires_at: None };
        world.app.forgetful().tags.put(&[tagged], world.now()).await.expect("written");
        row = Some(post);
    }
    let rows = async || tags.newest(tag, PostId::MAX, 99).await.expect("rows").0.posts;
    let (all, last) = (rows().await, row.expect("a row"));
    assert_eq!((all.len(), all[0]), (17, last));
    assert_eq!(tags.sample(tag, 160).await.expect("read").len(), 17);
    for post in &all[..16] {
        assert_eq!(tags.name_of(*post, tag).await.expect("read").as_deref(), Some("Wide"));
    }
    // without the posts of the first part, the tag still has posts
    for (n, post) in all.iter().enumerate().rev() {
        assert!(tags.has_posts(tag).await.expect("read"), "{n} are left");
        tags.remove(&[(*post, tag)]).await.expect("removed");
        assert_eq!(rows().await, all[..n]);
    }
    assert!(!tags.has_posts(tag).await.expect("read"));
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
    // whoever fills it, it is for everybody
    let hidden = Viewer { hidden: HashSet::from([world.id("birch")]), ..viewer("ash") };
    assert_eq!(page(hidden.clone(), 2).await.len(), 1);
    let (reading, other) = (ReadContext::new(world.now()), feed("other"));
    home::page(&world.app, &viewer("ash"), other, Span::ALL, 2, &reading).await.expect("a page");
    // a reader of less takes the kept page, one of more does not
    world.app.valkey.invalidate(feed("one")).await.expect("dropped");
    let shown = page(viewer("cedar"), 2).await;
    assert_eq!(shown.iter().map(|shown| shown.post.id).collect::<Vec<_>>(), [posts[1], posts[0]]);
    let liked = |shown: &fanfold_kinds::present::ShownPost| {
        shown.marks.has(fanfold_kinds::marks::MarkKind::Like)
    };
    assert_eq!(shown.iter().map(liked).collect::<Vec<_>>(), [false, true]);
    assert!(page(viewer("ash"), 2).await.iter().all(|shown| !liked(shown)));
    let shown = page(hidden, 1).await;
    assert_eq!(shown.iter().map(|shown| shown.post.id).collect::<Vec<_>>(), [posts[0]]);
    world.delete("birch", posts[1]).await;
    edit(&world, posts[0], "#one, again").await;
    let (ash, now) = (viewer("ash"), world.now());
    let pulled = home::pulled_page(&world.app, &ash, feed("one"), Span::ALL, 2, now);
    assert_eq!(pulled.await.expect("a page").posts.len(), 1);
    assert_eq!(page(ash, 2).await.len(), 2);
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
        let followed = world.app.tags.followed(birch.user()).await.expect("read").tags;
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
        let followed = world.app.tags.followed(birch.user()).await.expect("read");
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
    // many changes at once
    let all: Vec<String> = (1..FOLLOWED_TAGS_MAX).map(|n| format!("tag{n}")).collect();
    for result in join_all(all.iter().map(|name| follow(name, false))).await {
        result.expect("unfollowed");
    }
    assert_eq!(names().await, ["two"]);
    let nobody = world.identity("nobody");
    let put = cases::follow(&world.app, &nobody, &named("one"), true, world.now()).await;
    assert!(matches!(put, Err(Error::ProfileMissing)));
    // a profile that ends after it was read
    let put = world.app.tags.put_followed(&world.app.users, &nobody, 0, vec![named("one")]).await;
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
    // the last one is 18 characters for each when spellings are compared
    for nothing in ["x", "rusts", "#", "\u{200d}", &"\u{fdfa}".repeat(101)] {
        assert_eq!(complete(nothing).await, Vec::<String>::new(), "{nothing}");
    }
    world.delete("ash", gone).await;
    world.drain().await;
    world.advance(5 * SECOND);
    assert_eq!(complete("rust").await, ["Rust", "rusty"]);
    assert_eq!(complete("many").await.len(), TAG_NAMES_MAX);
    // those of the first pages have no posts any more
    let first: Vec<String> = (0..2 * TAG_NAMES_MAX).map(|n| format!("#paged{n:02}")).collect();
    let gone = publish(&world, "ash", &first.join(" ")).await;
    publish(&world, "ash", "#paged98 #Paged99").await;
    world.drain().await;
    world.delete("ash", gone).await;
    world.drain().await;
    assert_eq!(complete("paged").await, ["paged98", "Paged99"]);
    // a tag that is used again is kept for longer
    world.advance(Duration::from_secs(20 * 24 * 3_600));
    publish(&world, "ash", "#rusty").await;
    world.drain().await;
    world.advance(Duration::from_secs(20 * 24 * 3_600));
    assert_eq!(complete("rust").await, ["rusty"]);
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
    let dynamo = aws_sdk_dynamodb::Client::new(&world.sdk);
    let row = dynamo.get_item().table_name(world.config.text("MARKS_TABLE").expect("a name"));
    let row = row.key("pk", AttributeValue::S(format!("tagged#{}#0", TagHash::PUBLIC)));
    let row = row.key("sk", AttributeValue::S(two.to_string())).send().await.expect("read");
    let expires_at = two.time().expires_after(Duration::from_secs(2 * 24 * 3_600));
    let expected = AttributeValue::N(expires_at.to_string());
    assert_eq!(row.item.expect("the row")["expires_at"], expected);
    world.drop_user("birch").await;
    world.drain().await;
    assert_eq!(read().await.0, []);
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
    let used = async |name: &str, days: &[Day], first| {
        let tag = named(name).tag.hash();
        let part = (tag.0 % u64::from(BOARD_PARTS)) as u8;
        let used = world.app.tags.used_in_part(days, part, first, 500, None).await;
        let mut used = used.expect("read").expect("all").into_iter();
        used.find(|used| used.tag == tag).map(|used| used.authors)
    };
    let (first, day) = (later.time().hour(), Zone::utc().day(later.time()));
    assert_eq!(used("late", &[day], first).await, Some(1));
    // an author of both days counts once
    edit(&world, later, "#new").await;
    let last = publish(&world, "ash", "#new").await;
    world.drain().await;
    let days = [day, Zone::utc().day(last.time())];
    assert!(days[0] != days[1] && used("new", &days, first).await == Some(2));
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
    world.app.tags.put_uses(&rows, now).await.expect("written");
    let uses = world.app.tags.used_in_part(&[day], part(busy) as u8, now.hour(), 500, None).await;
    let uses = uses.expect("read").expect("all");
    assert_eq!(uses.iter().map(|used| used.tag).collect::<Vec<_>>(), [&[busy], &*after].concat());
    let counted = uses[0].authors as usize;
    assert!((USES_COUNTED_MAX..2 * USES_COUNTED_MAX).contains(&counted), "{counted} are counted");
    // only the best are kept
    let uses = world.app.tags.used_in_part(&[day], part(busy) as u8, now.hour(), 1, None).await;
    let uses = uses.expect("read").expect("all");
    assert_eq!(uses.iter().map(|used| used.tag).collect::<Vec<_>>(), [busy]);
}
