//! Rule 14: the heads above the floor are an author's published posts above it.

use std::time::Duration;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use fanfold_core::limits::COMMIT_GRACE;
use fanfold_core::{Bucket, FeedId, PostId, Slice};
use fanfold_engines::due::ItemDue;
use fanfold_engines::feed::{PostSource as _, Source};
use fanfold_engines::reading::ReadContext;
use fanfold_kinds::audit::{check, check_bucket};
use fanfold_kinds::fanout::dispatch::{Dispatched, dispatch};
use fanfold_kinds::home::Span;
use fanfold_kinds::owned::Audited;
use fanfold_kinds::people::items::HeadBounds;
use fanfold_kinds::posts::messages::PostPublished;
use fanfold_kinds::rebuild::rebuild_user;
use fanfold_kinds::scheduled::{self, NewScheduled};
use fanfold_runtime::StoreError;
use fanfold_runtime::clock::Deadline;

use super::store_without_delivery_at;
use crate::harness::valkeys::Node;
use crate::harness::world::{Message, World};

/// The newest posts of an author, from the profile.
async fn heads(world: &World, author: &str) -> Slice {
    let (app, id) = (&world.app, world.id(author));
    let mut heads = app.users.heads(&[id]).await.expect("read");
    heads.remove(&id).expect("heads").newest
}

/// Posts of ash, newest first.
async fn posts(world: &World, count: usize) -> Vec<PostId> {
    let mut posts = Vec::new();
    for _ in 0..count {
        world.advance(Duration::from_millis(1));
        posts.insert(0, world.publish("ash", "text").await);
    }
    posts
}

#[tokio::test]
async fn heads_follow_publications_and_deletions_and_are_cut() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let HeadBounds { max, kept } = HeadBounds::USUAL;
    let mut all = posts(&world, max - 1).await;
    assert_eq!(heads(&world, "ash").await, Slice { posts: all.clone(), bound: PostId::MIN });
    let gone = all.remove(3);
    world.delete("ash", gone).await;
    assert_eq!(heads(&world, "ash").await, Slice { posts: all.clone(), bound: PostId::MIN });
    // the last of these finds as many heads as there may be
    all.splice(0..0, posts(&world, 3).await);
    let cut = heads(&world, "ash").await;
    assert_eq!((&cut.posts[..], cut.bound.head()), (&all[..kept], all[kept].head()));
    // a post below the floor leaves them alone, whether it comes or goes
    let item = profile(&world, "ash").await;
    let late = store_without_delivery_at(&world, "ash", all[30].time()).await;
    assert_eq!(profile(&world, "ash").await["heads"], item["heads"]);
    world.delete("ash", late).await;
    world.delete("ash", all[33]).await;
    assert_eq!(profile(&world, "ash").await["heads"], item["heads"]);
    assert_eq!(heads(&world, "ash").await, cut);
}

/// A scheduled post of an author with as many heads as possible, and one that is published late, below the floor.
#[tokio::test]
async fn scheduled_posts_have_heads() {
    let mut world = World::new().await;
    world.app.settings.head_bounds = HeadBounds { max: 4, kept: 2 };
    world.people(&["ash"]).await;
    let ash = world.identity("ash");
    for _ in 0..2 {
        let publish_at = world.now() + Duration::from_secs(60);
        let new = NewScheduled { post: "later".into(), publish_at, key: None };
        scheduled::schedule(&world.app, &ash, new, world.now()).await.expect("scheduled");
    }
    let waiting = world.app.scheduled.soonest(ash.user(), None, 9).await.expect("read").items;
    assert_eq!(waiting.len(), 2);
    let mut all = posts(&world, 4).await;
    for (item, later) in waiting.iter().zip([60, 100]) {
        world.advance(Duration::from_secs(later));
        all.splice(0..0, posts(&world, 4).await);
        world.handle(&Message::Due(ItemDue::new(item.entry()))).await.expect("published");
    }
    let all = world.walk(FeedId::author(world.id("ash")), 5).await;
    assert_eq!(all.len(), 14);
    let Slice { posts, bound } = heads(&world, "ash").await;
    let above: Vec<PostId> = all.iter().copied().filter(|post| *post > bound).collect();
    assert_eq!(posts, above);
    let AttributeValue::Bs(set) = &profile(&world, "ash").await["heads"] else { panic!("a set") };
    assert!(set.len() <= 4, "{} heads", set.len());
}

/// DynamoDB may show a post before its author's profile. Dispatch waits: otherwise a feed that becomes live meanwhile lacks it.
#[tokio::test]
async fn dispatch_waits_for_the_head_of_its_post() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let all = posts(&world, 3).await;
    let event = PostPublished::new(all[0]);
    set_heads(&world, "ash", &all[1..]).await;
    let early = dispatch(&world.app, &event, world.now(), Deadline::NONE).await;
    assert!(matches!(early, Err(StoreError::NotCommittedYet { .. })), "{early:?}");
    set_heads(&world, "ash", &all).await;
    let done = dispatch(&world.app, &event, world.now(), Deadline::NONE).await;
    assert!(matches!(done, Ok(Dispatched::Pushed(_))), "{done:?}");
}

/// DynamoDB may show the profile of an author before the post. A page then leaves the entry of the post in the feed.
#[tokio::test]
async fn a_post_that_is_not_there_yet_stays_in_the_feed() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let known = world.publish("ash", "text").await;
    let feed = FeedId::home(world.id("ash"));
    let coming = PostId::new(world.now() + Duration::from_millis(1), 1, world.id("ash"));
    assert_eq!(world.home("ash").await, [known]);
    world.app.valkey.push_own(coming).await.expect("pushed");
    let entries = async || {
        let cached = world.app.valkey.peek(feed, 9).await.expect("read").known();
        cached.expect("a live feed").slice.posts
    };
    assert_eq!((world.home("ash").await, entries().await), (vec![known], vec![coming, known]));
    world.advance(COMMIT_GRACE + Duration::from_secs(1));
    assert_eq!((world.home("ash").await, entries().await), (vec![known], vec![known]));
}

/// A profile with as many heads as possible, the longest name and the longest handle costs a publication one unit.
#[tokio::test]
async fn a_profile_with_all_heads_is_below_one_kilobyte() {
    let world = World::new().await;
    let (name, handle) = ("\u{1F468}\u{1F3FD}".repeat(50), "a".repeat(30));
    world.people(&["ash"]).await;
    world.rename("ash", &handle, &name).await;
    // a cut, and as many heads as possible after it
    let HeadBounds { max, kept } = HeadBounds::USUAL;
    posts(&world, max + 1 + max - kept).await;
    world.app.users.late(world.id("ash"), world.now()).await.expect("noted");
    let item = profile(&world, "ash").await;
    assert_eq!(heads(&world, "ash").await.posts.len(), max);
    let size = |value: &AttributeValue| match value {
        AttributeValue::S(text) => text.len(),
        // counters with up to eight digits
        AttributeValue::N(number) => number.len().div_ceil(2).max(4) + 1,
        AttributeValue::Bs(words) => words.iter().map(|word| word.as_ref().len()).sum(),
        other => panic!("{other:?}"),
    };
    let bytes: usize = item.iter().map(|(name, value)| name.len() + size(value)).sum();
    assert!((900..=1_024).contains(&bytes), "{bytes} bytes");
}

async fn profile(world: &World, user: &str) -> fanfold_engines::table::Item {
    let dynamo = aws_sdk_dynamodb::Client::new(&world.sdk);
    let get = dynamo.get_item().table_name(world.config.text("USERS_TABLE").expect("a table"));
    let key = AttributeValue::S(format!("user#{}", world.id(user)));
    let answer = get.key("pk", key).consistent_read(true).send().await.expect("read");
    answer.item.expect("a profile")
}

/// Of two publications that cut at the same time, one adds its head like any other.
#[tokio::test]
async fn publications_at_the_same_time_lose_no_head() {
    let mut world = World::new().await;
    world.app.settings.head_bounds = HeadBounds { max: 4, kept: 2 };
    world.people(&["ash"]).await;
    let mut all = posts(&world, 4).await;
    let together = futures::future::join_all((0..6).map(|_| world.publish("ash", "text"))).await;
    all.extend(together);
    all.sort_unstable_by(|a, b| b.cmp(a));
    let Slice { posts, bound } = heads(&world, "ash").await;
    let above: Vec<PostId> = all.iter().copied().filter(|post| *post > bound).collect();
    assert_eq!(posts, above);
    assert!(posts.len() >= 2, "{posts:?}");
}

/// A return reads the heads. What is below their floors is read from the posts, so that the feed has no gap.
#[tokio::test]
async fn a_return_reads_heads_and_goes_on_below_their_floors() {
    let mut world = World::with(&[("FEED_CAP", "10")]).await;
    world.app.settings.head_bounds = HeadBounds { max: 4, kept: 2 };
    let authors = ["ash", "birch", "cedar"];
    world.people(&["elm"]).await;
    world.people(&authors).await;
    let mut all = Vec::new();
    for author in authors.iter().cycle().take(40) {
        world.advance(Duration::from_millis(1));
        all.insert(0, world.publish(author, "text").await);
    }
    for author in authors {
        world.follow("elm", author).await;
    }
    world.drain().await;
    world.forget(&["elm"]).await;
    let feed = FeedId::home(world.id("elm"));
    let first = world.page(feed, Span::ALL, 6).await;
    assert_eq!(
        (first.ids().collect::<Vec<_>>(), first.source),
        (all[..6].to_vec(), Source::Rebuild)
    );
    assert_eq!(world.home("elm").await, all);
    // a pull from a place on
    let reading = ReadContext::without_valkey(world.now());
    let pulled = world.app.pull(feed, all[10], 9, &reading).await.expect("pulled");
    assert_eq!(pulled.posts, all[11..20]);
}

/// Very many readers of one author at once come to the live author feed, and not to the author's profile.
#[tokio::test]
async fn the_newest_posts_of_a_hot_author_come_from_valkey() {
    let mut world = World::new().await;
    world.app.settings.hot_followers = 1;
    world.people(&["ash", "birch", "cedar"]).await;
    world.follow("birch", "ash").await;
    world.follow("cedar", "ash").await;
    let all = posts(&world, 3).await;
    world.drain().await;
    // the profile says how many followers there are
    world.forget(&["birch"]).await;
    assert_eq!(world.home("birch").await, all);
    assert!(world.app.hot.contains(&world.id("ash"), world.now()));
    assert!(!world.app.hot.contains(&world.id("birch"), world.now()));
    // heads that are wrong are not read any more, unless Valkey does not have the feed
    set_heads(&world, "ash", &all[..1]).await;
    world.forget(&["birch"]).await;
    assert_eq!(world.home("birch").await, all);
    let reading = ReadContext::without_valkey(world.now());
    let feed = FeedId::home(world.id("birch"));
    let pulled = world.app.pull(feed, PostId::MAX, 9, &reading).await.expect("pulled");
    assert_eq!(pulled.posts, all[..1]);
    // after ten minutes, the profile is read again
    world.advance(Duration::from_secs(601));
    assert!(!world.app.hot.contains(&world.id("ash"), world.now()));
}

/// Replaces the heads of an author, as no function does.
async fn set_heads(world: &World, author: &str, posts: &[PostId]) {
    let dynamo = aws_sdk_dynamodb::Client::new(&world.sdk);
    let key = AttributeValue::S(format!("user#{}", world.id(author)));
    let heads = posts.iter().map(|post| Blob::new(post.head().to_be_bytes())).collect();
    let update =
        dynamo.update_item().table_name(world.config.text("USERS_TABLE").expect("a table"));
    let update = update.key("pk", key).update_expression("SET heads = :heads");
    let update = update.expression_attribute_values(":heads", AttributeValue::Bs(heads));
    update.send().await.expect("written");
}

/// The audit and an operator rebuild a feed from the posts: heads may be what was wrong.
#[tokio::test]
async fn repairs_do_not_use_heads() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    world.follow("birch", "ash").await;
    let all = posts(&world, 3).await;
    world.drain().await;
    let feed = FeedId::home(world.id("birch"));
    set_heads(&world, "ash", &all[1..]).await;
    for is_operator in [false, true] {
        world.forget(&["birch"]).await;
        assert_eq!(world.home("birch").await, all[1..], "a return reads heads");
        if is_operator {
            let birch = world.app.users.profile(world.id("birch")).await.unwrap().unwrap();
            rebuild_user(&world.app, birch, world.now()).await.unwrap().expect("rebuilt");
        } else {
            let mut audited = Audited::default();
            check(&world.app, feed, world.now(), &mut audited).await.expect("checked");
            assert_eq!((audited.differed, audited.repaired), (1, 1));
        }
        assert_eq!(world.home("birch").await, all);
    }
}

#[tokio::test]
async fn the_audit_removes_heads_that_differ() {
    // a server with the cards of no other test
    let node = Node::start(&[]);
    let world = World::with(&[("REDIS_URL", &node.url()), ("BUCKETS", "1")]).await;
    world.people(&["ash", "birch"]).await;
    let mut all = posts(&world, 3).await;
    world.drain().await;
    // the card of the author shows the audit which profile to compare
    world.follow("birch", "ash").await;
    world.home("birch").await;
    let audited = async || {
        let mut audited = Audited::default();
        // the audit began before the last posts
        let (app, now) = (&world.app, world.now() - Duration::from_secs(10));
        check_bucket(app, Bucket(0), now, &mut audited).await.expect("checked");
        (audited.heads, audited.heads_differed)
    };
    assert_eq!(audited().await, (1, 0));
    for wrong in [all[..2].to_vec(), all[1..].to_vec()] {
        set_heads(&world, "ash", &wrong).await;
        assert_eq!(audited().await, (1, 1));
        assert!(heads(&world, "ash").await.posts.is_empty());
        // pages are right without heads, and posts of later are added again
        world.forget(&["birch"]).await;
        assert_eq!(world.home("birch").await, all);
        world.advance(Duration::from_secs(20));
        all.insert(0, world.publish("ash", "later").await);
        world.drain().await;
        assert_eq!(heads(&world, "ash").await.posts, all[..1]);
        assert_eq!(audited().await, (1, 0));
    }
}
