//! What is hidden from one viewer is left out of that viewer's pages, and stays for the others.

use std::time::Duration;

use fanfold_core::limits::PAGE_ROUNDS_MAX;
use fanfold_core::{FeedId, PostId, Ranking, UserId, UserRef};
use fanfold_engines::reading::ReadContext;
use fanfold_functions::timeline::feed::FeedQuery;
use fanfold_functions::{timeline, users};
use fanfold_kinds::follows;
use fanfold_kinds::home::{self, FeedPage, Span};
use fanfold_kinds::present::{self, Viewer};
use fanfold_kinds::rankings::{self, Shown};
use fanfold_web::ListQuery;
use fanfold_web::ProblemKind;

use crate::harness::valkeys::Node;
use crate::harness::world::World;

async fn page(world: &World, viewer: &Viewer, feed: FeedId, span: Span, limit: usize) -> FeedPage {
    let (app, reading) = (&world.app, ReadContext::new(world.now()));
    let page = home::page(app, viewer, feed, span, limit, &reading);
    page.await.expect("a page")
}

/// The whole feed as a viewer sees it. Every page is full or the last one.
async fn walk(world: &World, viewer: &Viewer, feed: FeedId, limit: usize) -> Vec<PostId> {
    let (mut span, mut walked) = (Span::ALL, Vec::new());
    loop {
        let page = page(world, viewer, feed, span, limit).await;
        assert!(
            page.next_before.is_none() || page.posts.len() == limit,
            "a page is full or the last"
        );
        walked.extend(page.ids());
        match page.next_before {
            Some(before) => span.before = before,
            None => return walked,
        }
    }
}

fn hiding(viewer: UserId, hidden: &[UserId]) -> Viewer {
    Viewer { hidden: hidden.iter().copied().collect(), ..Viewer::of(viewer) }
}

#[tokio::test]
async fn a_hidden_author_is_replaced_on_pages_and_stays_in_the_feed() {
    let world = World::new().await;
    world.people(&["ash", "birch", "cedar"]).await;
    for author in ["ash", "birch"] {
        world.follow("cedar", author).await;
    }
    world.drain().await;
    world.home("cedar").await;
    let mut posts = Vec::new();
    for number in 0..12 {
        world.advance(Duration::from_millis(1));
        let author = if number % 3 == 0 { "ash" } else { "birch" };
        posts.insert(0, world.publish(author, "text").await);
    }
    world.drain().await;
    let (cedar, birch) = (world.id("cedar"), world.id("birch"));
    let feed = FeedId::home(cedar);
    let of_ash: Vec<PostId> =
        posts.iter().copied().filter(|post| post.author() == world.id("ash")).collect();
    let viewer = hiding(cedar, &[birch]);
    for limit in [1, 2, 3, 5] {
        assert_eq!(walk(&world, &viewer, feed, limit).await, of_ash);
    }
    // nothing was removed: another viewer of the same feed sees everything
    assert_eq!(walk(&world, &Viewer::of(cedar), feed, 5).await, posts);
    // an author feed and a single post of a hidden author are hidden, too
    assert_eq!(walk(&world, &viewer, FeedId::author(birch), 5).await, []);
    let now = world.now();
    let hidden = posts.iter().copied().find(|post| post.author() == birch).expect("a post");
    assert!(fanfold_kinds::posts::read(&world.app, &viewer, hidden, now).await.is_err());
    assert!(fanfold_kinds::posts::read(&world.app, &viewer, of_ash[0], now).await.is_ok());
    // and so are the profile and the lists of a hidden user
    let (of_birch, relations) = (UserRef::Id(birch), &world.app);
    let (cards, reading) = (relations, &ReadContext::new(now));
    assert!(present::user(cards, &Viewer::of(cedar), &of_birch, reading).await.is_ok());
    let profile = present::user(cards, &viewer, &of_birch, reading).await;
    assert!(matches!(profile, Err(fanfold_kinds::Error::NoSuchUser(_))));
    let feed = FeedQuery::page(5, None);
    let page = timeline::author(&world.app, &viewer, &of_birch, &feed, now).await;
    assert_eq!(page.expect_err("hidden").kind, ProblemKind::NoSuchUser);
    for page in [
        users::followers(relations, &viewer, &of_birch, &ListQuery::page(5, None), now).await,
        users::following(relations, &viewer, &of_birch, &ListQuery::page(5, None), now).await,
    ] {
        assert_eq!(page.expect_err("hidden").kind, ProblemKind::NoSuchUser);
    }
}

#[tokio::test]
async fn a_hidden_author_is_passed_over_in_rankings() {
    let node = Node::start(&[]);
    let world = World::with(&[("REDIS_URL", &node.url())]).await;
    world.people(&["ash", "birch", "cedar"]).await;
    let mut all = Vec::new();
    for author in ["ash", "birch", "cedar"] {
        let post = world.publish(author, "text").await;
        world.like("ash", post).await;
        all.push(post);
        // on a tie, the earlier post is first
        world.advance(Duration::from_millis(1));
    }
    world.drain().await;
    let reading = ReadContext::new(world.now());
    let viewer = hiding(world.id("ash"), &[world.id("birch")]);
    let read = async |viewer, ranking, limit| {
        rankings::page(&world.app, viewer, ranking, None, limit, &reading).await.unwrap()
    };
    let page = read(&viewer, Ranking::PostsDay, 2).await;
    let shown = page.entries.iter().map(|entry| match &entry.shown {
        Shown::Post(shown) => (entry.place, shown.post.id),
        other => panic!("{other:?}"),
    });
    assert_eq!(shown.collect::<Vec<_>>(), [(1, all[0]), (3, all[2])]);
    assert_eq!(page.next_after, None);
    assert_eq!(read(&viewer, Ranking::Authors, 100).await.entries.len(), 2);
    let all = Viewer::of(world.id("cedar"));
    assert_eq!(read(&all, Ranking::Authors, 100).await.entries.len(), 3);
}

#[tokio::test]
async fn hidden_users_are_left_out_of_lists() {
    let world = World::new().await;
    world.people(&["ash", "birch", "cedar"]).await;
    for follower in ["birch", "cedar"] {
        world.follow(follower, "ash").await;
    }
    world.drain().await;
    let (ash, reading) = (world.id("ash"), ReadContext::new(world.now()));
    let viewer = hiding(world.id("ash"), &[world.id("birch")]);
    let page = follows::followers(&world.app, &viewer, ash, None, 1, &reading).await.unwrap();
    let found: Vec<UserId> = page.items.iter().map(|user| user.card.id).collect();
    assert_eq!((found, page.next), (vec![world.id("cedar")], None));
}

/// A feed in which a bounded number of rounds finds nothing that may be shown: the page is short, and its cursor goes on.
#[tokio::test]
async fn a_page_that_is_short_after_its_rounds_has_a_cursor() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    world.follow("birch", "ash").await;
    world.drain().await;
    world.home("birch").await;
    let first = world.publish("birch", "the oldest").await;
    for _ in 0..2 * PAGE_ROUNDS_MAX + 10 {
        world.advance(Duration::from_millis(1));
        world.publish("ash", "text").await;
    }
    world.drain().await;
    let (birch, ash) = (world.id("birch"), world.id("ash"));
    let (viewer, feed) = (hiding(birch, &[ash]), FeedId::home(birch));
    // one entry at a time is looked at, and most are hidden
    let (mut span, mut found, mut short) = (Span::ALL, Vec::new(), 0);
    loop {
        let page = page(&world, &viewer, feed, span, 1).await;
        found.extend(page.ids());
        let Some(before) = page.next_before else { break };
        assert!(before < span.before, "each page gets further");
        short += usize::from(page.posts.is_empty());
        span.before = before;
    }
    assert!(short > 0, "the rounds are bounded");
    assert_eq!(found, [first]);
}
