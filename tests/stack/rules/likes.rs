//! Likes, one rule at a time, through the real handlers.

use std::time::Duration;

use fanfold_core::limits::{COMMIT_GRACE, MARKS_CARD_MAX};
use fanfold_core::{FeedId, PostId, Time, UserId};
use fanfold_engines::feed::Source;
use fanfold_engines::mark::{Mark, TokenMark};
use fanfold_engines::reading::ReadContext;
use fanfold_engines::tally::Tallied;
use fanfold_kinds::home::Span;
use fanfold_kinds::likes::{self, LikerPlace};
use fanfold_kinds::marks::items::MarkPut;
use fanfold_kinds::marks::messages::MarkChanged;
use fanfold_kinds::marks::{self, MarkKind, MarkedPlace};
use fanfold_kinds::posts::items::CountPut;
use fanfold_kinds::posts::messages::PostDeleted;
use fanfold_kinds::present::{ShownPost, Viewer};
use fanfold_kinds::{App, Error, posts};
use fanfold_runtime::StoreError;
use fanfold_runtime::clock::Deadline;
use fanfold_runtime::sqs::Announced;
use fanfold_web::{Problem, ProblemKind};

use super::store_without_delivery_at;
use crate::harness::world::{Message, World, page};

async fn shown(world: &World, viewer: &str, post: PostId) -> ShownPost {
    let viewer = Viewer::of(world.id(viewer));
    posts::read(&world.app, &viewer, post, world.now()).await.expect("the post")
}

/// Whether the viewer likes a post, and its number of likes, as the viewer sees it.
pub(super) async fn seen(world: &World, viewer: &str, post: PostId) -> (bool, u64) {
    let shown = shown(world, viewer, post).await;
    (shown.marks.has(MarkKind::Like), shown.post.likes)
}

/// The event of a like with this token.
fn event(world: &World, user: &str, post: PostId, token: &str) -> Message {
    let token = Some(token.to_owned());
    let (user, changed_at) = (world.id(user), world.now());
    Message::Like(MarkChanged { kind: MarkKind::Like, user, post, token, changed_at }.into())
}

/// Adds a like without its event, as if the function `posts` died after the commit.
async fn add(world: &World, user: &str, post: PostId, token: &str) {
    let mark = Mark { user: world.id(user), post, at: world.now() };
    let (made, sent) = (TokenMark { mark, token: token.to_owned() }, Announced::assumed());
    let put = MarkKind::Like.add(&world.app, sent, &world.identity(user), made).await;
    assert_eq!(put.expect("an answer"), MarkPut::Done);
}

/// The posts that a user likes, read page by page, each full or the last one.
async fn all_liked(world: &World, viewer: &Viewer, limit: usize) -> Vec<PostId> {
    let (mut found, mut after) = (Vec::new(), None::<MarkedPlace>);
    loop {
        let reading = ReadContext::new(world.now());
        let page = marks::marked(&world.app, viewer, MarkKind::Like, after, limit, &reading)
            .await
            .expect("a page");
        assert!(page.next.is_none() || page.items.len() == limit, "full or the last");
        found.extend(page.items.iter().map(|shown| shown.post.id));
        after = page.next;
        if after.is_none() {
            return found;
        }
    }
}

/// The users who like a post, read page by page, each full or the last one.
async fn all_likers(world: &World, viewer: &Viewer, post: PostId, limit: usize) -> Vec<UserId> {
    let (mut found, mut after) = (Vec::new(), None::<LikerPlace>);
    loop {
        let reading = ReadContext::new(world.now());
        let page = likes::likers(&world.app, viewer, post, after, limit, &reading).await;
        let page = page.expect("a page");
        assert!(page.next.is_none() || page.items.len() == limit, "full or the last");
        found.extend(page.items.iter().map(|seen| seen.card.id));
        after = page.next;
        if after.is_none() {
            return found;
        }
    }
}

#[tokio::test]
async fn a_like_is_shown_to_its_user_at_once_and_counted_for_all() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    let post = world.publish("ash", "text").await;
    for viewer in ["ash", "birch"] {
        assert_eq!(seen(&world, viewer, post).await, (false, 0));
    }
    world.like("birch", post).await;
    world.like("birch", post).await; // a repetition changes nothing
    assert!(seen(&world, "birch", post).await.0 && !seen(&world, "ash", post).await.0);
    world.drain().await;
    assert_eq!(seen(&world, "birch", post).await, (true, 1));
    assert_eq!(seen(&world, "ash", post).await, (false, 1));
    world.like("ash", post).await;
    world.unlike("birch", post).await;
    world.unlike("birch", post).await;
    assert!(!seen(&world, "birch", post).await.0 && seen(&world, "ash", post).await.0);
    world.drain().await;
    assert_eq!(seen(&world, "birch", post).await, (false, 1));
    // a repeated request with its key shows the like, too
    let (ash, key) = (world.identity("ash"), Some("a key"));
    let publish = || posts::publish(&world.app, &ash, "kept", key, world.now());
    let first = publish().await.expect("a post");
    assert!(!first.marks.has(MarkKind::Like));
    world.like("ash", first.post.id).await;
    world.drain().await;
    let again = publish().await.expect("the same post");
    assert_eq!(
        (again.post.id, again.marks.has(MarkKind::Like), again.post.likes),
        (first.post.id, true, 1)
    );
}

/// A function that dies after the commit marks no card, and nobody counts. Its event does both.
#[tokio::test]
async fn the_event_of_a_dead_writer_marks_the_card_and_counts() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    let post = world.publish("ash", "text").await;
    world.drain().await;
    assert_eq!(seen(&world, "birch", post).await, (false, 0));
    let event = event(&world, "birch", post, "a");
    // before the commit, the event waits
    let early = world.handle(&event).await;
    assert!(matches!(early, Err(StoreError::NotCommittedYet { .. })), "{early:?}");
    add(&world, "birch", post, "a").await;
    assert_eq!(seen(&world, "birch", post).await, (false, 0), "the writer did not mark the card");
    world.handle(&event).await.expect("handled");
    world.drain().await;
    assert_eq!(seen(&world, "birch", post).await, (true, 1));
    // an event whose commit failed is done in the end
    let failed = MarkChanged {
        kind: MarkKind::Like,
        user: world.id("ash"),
        post,
        token: Some("b".to_owned()),
        changed_at: world.now(),
    };
    world.advance(COMMIT_GRACE + Duration::from_secs(1));
    world.handle(&Message::Like(failed.into())).await.expect("handled");
    world.drain().await;
    assert_eq!(seen(&world, "ash", post).await, (false, 1));
}

/// Two requests of a user overlap. The second one commits first, and its like is taken back before the first one commits.
/// The event of the first one must not count the like of the second one as its own.
#[tokio::test]
async fn an_event_waits_for_its_own_like() {
    for is_deleted in [false, true] {
        let world = World::new().await;
        world.people(&["ash", "birch"]).await;
        let post = world.publish("ash", "text").await;
        world.drain().await;
        let first = event(&world, "birch", post, "first");
        world.like("birch", post).await;
        let early = world.handle(&first).await;
        assert!(matches!(early, Err(StoreError::NotCommittedYet { .. })), "{early:?}");
        match is_deleted {
            true => world.delete("ash", post).await,
            false => world.unlike("birch", post).await,
        }
        world.advance(COMMIT_GRACE + Duration::from_secs(1));
        world.drain().await;
        add(&world, "birch", post, "first").await;
        world.handle(&first).await.expect("its own like");
        world.drain().await;
        let counted = world.app.likes.counted(post).await.unwrap().number;
        match is_deleted {
            true => assert_eq!(counted, 0),
            false => assert_eq!((counted, seen(&world, "birch", post).await), (1, (true, 1))),
        }
    }
}

/// The card has the newest of the posts that a viewer likes. Older posts are looked up.
#[tokio::test]
async fn likes_of_posts_that_the_card_does_not_have_are_looked_up() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    let old = world.now() - Duration::from_secs(3_600);
    let mut older = Vec::new();
    for n in 0..2 {
        older.push(store_without_delivery_at(&world, "ash", old + Duration::from_secs(n)).await);
    }
    // the posts need not exist
    for n in 0..MARKS_CARD_MAX as u16 {
        let post = PostId::new(world.now() - Duration::from_secs(60), n, world.id("ash"));
        add(&world, "birch", post, "a").await;
    }
    let newest = world.publish("ash", "text").await;
    add(&world, "birch", older[0], "a").await;
    for _ in 0..2 {
        assert!(!shown(&world, "birch", newest).await.marks.has(MarkKind::Like));
        assert!(shown(&world, "birch", older[0]).await.marks.has(MarkKind::Like));
        assert!(!shown(&world, "birch", older[1]).await.marks.has(MarkKind::Like));
    }
    world.like("birch", newest).await;
    world.unlike("birch", older[0]).await;
    assert!(shown(&world, "birch", newest).await.marks.has(MarkKind::Like));
    assert!(!shown(&world, "birch", older[0]).await.marks.has(MarkKind::Like));
}

#[tokio::test]
async fn both_lists_are_newest_first_and_every_page_is_full() {
    let world = World::new().await;
    let people = ["ash", "birch", "cedar", "dogwood", "elm", "fir", "gum", "hazel"];
    world.people(&people).await;
    let mut posts = Vec::new();
    for _ in 0..7 {
        posts.push(world.publish("ash", "text").await);
        world.advance(Duration::from_millis(1));
    }
    // in another order than the posts and the users
    let order = [3, 0, 6, 2, 5, 1, 4];
    for nth in order {
        world.advance(Duration::from_millis(1));
        world.like("birch", posts[nth]).await;
    }
    for user in ["gum", "cedar", "hazel", "ash", "fir", "elm"] {
        world.advance(Duration::from_millis(1));
        world.like(user, posts[0]).await;
    }
    let expected: Vec<PostId> = order.iter().rev().map(|nth| posts[*nth]).collect();
    let viewer = Viewer::of(world.id("birch"));
    for limit in [1, 2, 7] {
        assert_eq!(all_liked(&world, &viewer, limit).await, expected);
    }
    let names = ["elm", "fir", "ash", "hazel", "cedar", "gum", "birch"];
    let expected = names.map(|name| world.id(name));
    for limit in [1, 3, 7] {
        assert_eq!(all_likers(&world, &viewer, posts[0], limit).await, expected);
    }
    // who is hidden from the viewer is passed over, and so are deleted posts
    let hidden = Viewer { hidden: [world.id("fir"), world.id("gum")].into(), ..viewer.clone() };
    let expected = ["elm", "ash", "hazel", "cedar", "birch"].map(|name| world.id(name));
    assert_eq!(all_likers(&world, &hidden, posts[0], 2).await, expected);
    let hidden = Viewer { hidden: [world.id("ash")].into(), ..viewer.clone() };
    assert_eq!(all_liked(&world, &hidden, 2).await, []);
    world.delete("ash", posts[5]).await;
    world.delete("ash", posts[2]).await;
    let expected: Vec<PostId> = [4, 1, 6, 0, 3].map(|nth| posts[nth]).into();
    assert_eq!(all_liked(&world, &viewer, 2).await, expected, "before its likes are removed");
    world.drain().await;
    assert_eq!(all_liked(&world, &viewer, 2).await, expected);
}

/// The likes of a deleted post go with it, also those that a function without time left over, and one that was given while
/// the post was deleted.
#[tokio::test]
async fn the_likes_of_a_deleted_post_are_removed() {
    let world = World::new().await;
    let people = ["ash", "birch", "cedar", "dogwood", "elm", "fir"];
    world.people(&people).await;
    let post = world.publish("ash", "text").await;
    for user in people {
        world.like(user, post).await;
    }
    world.drain().await;
    assert_eq!(seen(&world, "birch", post).await, (true, 6));
    world.delete("ash", post).await;
    let birch = world.identity("birch");
    let refused =
        marks::put(&world.app, &birch, MarkKind::Like, post, true, world.now()).await.unwrap_err();
    assert!(matches!(refused, Error::NoSuchPost(_)), "{refused:?}");
    let mut rounds = 0;
    loop {
        let messages = world.take().await;
        if messages.is_empty() {
            break;
        }
        rounds += 1;
        for message in messages {
            match &message {
                Message::Like(event) => {
                    let (app, hurry) = (&world.app, Deadline::at(Time::EPOCH));
                    event.handle(app, world.now(), hurry).await.expect("handled");
                }
                other => world.handle(other).await.expect("handled"),
            }
        }
    }
    assert!(rounds > 2, "{rounds}: a function without time leaves the rest to another message");
    let (store, marks) = (&world.app.likes, MarkKind::Like.of(&world.app));
    assert_eq!(store.likers(post, None, 10).await.unwrap(), []);
    assert_eq!(store.counted(post).await.unwrap(), Tallied::default());
    for user in people {
        assert_eq!(marks.mark(world.id(user), post).await.unwrap(), None);
        assert_eq!(marks.of_user(world.id(user), None, 10).await.unwrap(), []);
    }
    // a request that saw the post before its deletion
    add(&world, "birch", post, "a").await;
    world.handle(&event(&world, "birch", post, "a")).await.expect("handled");
    world.drain().await;
    assert_eq!(marks.mark(world.id("birch"), post).await.unwrap(), None);
    assert_eq!(store.counted(post).await.unwrap(), Tallied::default());
}

/// The event of a deletion goes out before the deletion. Until then the likes stay, also if the deletion never comes.
#[tokio::test]
async fn likes_are_not_removed_before_the_post_is() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    let post = world.publish("ash", "text").await;
    world.like("birch", post).await;
    world.drain().await;
    let event = Message::Like(PostDeleted { post, deleted_at: world.now() }.into());
    let early = world.handle(&event).await;
    assert!(matches!(early, Err(StoreError::NotCommittedYet { .. })), "{early:?}");
    world.advance(COMMIT_GRACE + Duration::from_secs(1));
    world.handle(&event).await.expect("done");
    assert_eq!(seen(&world, "birch", post).await, (true, 1));
}

/// Of two counts, the one that includes more changes stays.
#[tokio::test]
async fn an_older_count_does_not_replace_a_newer_one() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let post = world.publish("ash", "text").await;
    let put = async |likes, changes| {
        let (posts, boards) = (&world.app.posts, &world.app.boards);
        let count = Tallied { number: likes, changes };
        posts.put_likes(boards, post, count, world.now()).await.unwrap()
    };
    assert_eq!(put(2, 4).await, CountPut::Written);
    assert_eq!(put(3, 3).await, CountPut::Known);
    assert_eq!(put(2, 4).await, CountPut::Known);
    assert_eq!(put(1, 5).await, CountPut::Written);
    assert_eq!(seen(&world, "ash", post).await.1, 1);
    world.delete("ash", post).await;
    assert_eq!(put(9, 9).await, CountPut::Gone);
}

#[tokio::test]
async fn what_cannot_be_liked_is_refused() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let post = world.publish("ash", "text").await;
    let (ash, nobody) = (world.identity("ash"), world.identity("nobody"));
    let never = PostId::new(world.now(), 7, world.id("ash"));
    let like = async |who, post| {
        marks::put(&world.app, who, MarkKind::Like, post, true, world.now()).await
    };
    let unlike = async |who, post| {
        marks::put(&world.app, who, MarkKind::Like, post, false, world.now()).await
    };
    let kind = |refused: Result<(), Error>| Problem::from(refused.unwrap_err()).kind;
    assert_eq!(kind(like(&ash, never).await), ProblemKind::NoSuchPost);
    assert_eq!(kind(like(&nobody, post).await), ProblemKind::ProfileMissing);
    assert_eq!(kind(unlike(&nobody, post).await), ProblemKind::ProfileMissing);
    assert_eq!(kind(unlike(&ash, never).await), ProblemKind::NoSuchPost);
    unlike(&ash, post).await.expect("there is nothing to take back");
    world.drain().await;
    assert_eq!(seen(&world, "ash", post).await, (false, 0));
}

/// Without Valkey, likes are taken and shown. Their messages wait, and count later.
#[tokio::test]
async fn without_valkey_likes_are_taken() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    let post = world.publish("ash", "text").await;
    world.drain().await;
    let config = world.config_with(&[("REDIS_URL", "redis://127.0.0.1:1")]);
    let away = App::new(&world.sdk, &config).unwrap();
    marks::put(&away, &world.identity("birch"), MarkKind::Like, post, true, world.now())
        .await
        .expect("liked");
    let (viewer, reading) = (Viewer::of(world.id("birch")), ReadContext::new(world.now()));
    let page =
        marks::marked(&away, &viewer, MarkKind::Like, None, 10, &reading).await.expect("a page");
    assert!(page.items.len() == 1 && page.items[0].marks.has(MarkKind::Like), "{page:?}");
    let graph = App::new(&world.sdk, &config).unwrap();
    for message in world.take().await {
        let Message::Like(event) = &message else { continue };
        let waits = event.handle(&graph, world.now(), Deadline::NONE).await;
        assert!(waits.is_err_and(|error| error.is_valkey()));
        world.send_back(&message).await;
    }
    world.drain().await;
    assert_eq!(seen(&world, "birch", post).await, (true, 1));
}

/// A page of a live feed whose cards are there needs no DynamoDB, also for a viewer who likes some of its posts.
#[tokio::test]
async fn a_cached_page_of_20_posts_makes_no_call_to_dynamodb() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    world.follow("birch", "ash").await;
    // more likes of older posts than the card has
    for n in 0..MARKS_CARD_MAX as u16 {
        let older = PostId::new(world.now() - Duration::from_secs(60), n, world.id("ash"));
        add(&world, "birch", older, "a").await;
    }
    let mut posts = Vec::new();
    for _ in 0..21 {
        world.advance(Duration::from_millis(1));
        posts.insert(0, world.publish("ash", "text").await);
    }
    let liked = [posts[0], posts[7], posts[19]];
    for post in liked {
        world.like("birch", post).await;
    }
    world.drain().await;
    let home = FeedId::home(world.id("birch"));
    for _ in 0..2 {
        world.page(home, Span::ALL, 20).await;
    }
    // there are no such tables
    let tables = ["USERS_TABLE", "POSTS_TABLE", "GRAPH_TABLE", "MARKS_TABLE"];
    let config = world.config_with(&tables.map(|table| (table, "none")));
    let timeline = App::new(&world.sdk, &config).unwrap();
    let cached = page(&timeline, home, Span::ALL, 20, world.now()).await.expect("a page of cards");
    assert_eq!((cached.source, cached.posts.len()), (Source::Cache, 20));
    for shown in &cached.posts {
        let is_liked = liked.contains(&shown.post.id);
        assert_eq!(
            (shown.marks.has(MarkKind::Like), shown.post.likes),
            (is_liked, u64::from(is_liked))
        );
    }
    // after another like, the card is read again
    world.like("birch", posts[1]).await;
    let refused = page(&timeline, home, Span::ALL, 20, world.now()).await;
    assert!(refused.is_err(), "{refused:?}");
}

/// Very many likes of one author's posts do not hold up the messages about other authors.
#[tokio::test]
async fn messages_of_the_graph_are_in_the_group_of_the_author() {
    let world = World::new().await;
    world.people(&["ash", "birch", "cedar"]).await;
    let post = world.publish("ash", "text").await;
    world.take().await;
    world.like("birch", post).await;
    world.follow("cedar", "ash").await;
    let ash = world.id("ash").to_string();
    assert_eq!(world.groups("CHANGE_EVENTS_QUEUE_URL", 2).await, [ash.clone(), ash]);
}

#[tokio::test]
async fn likes_have_a_limit() {
    let world = World::with(&[("MARK_CHANGES_PER_MINUTE", "2")]).await;
    world.people(&["ash", "birch"]).await;
    let post = world.publish("ash", "text").await;
    world.like("ash", post).await;
    world.unlike("ash", post).await;
    let (ash, now) = (world.identity("ash"), world.now());
    for refused in [
        marks::put(&world.app, &ash, MarkKind::Like, post, true, now).await,
        marks::put(&world.app, &ash, MarkKind::Like, post, false, now).await,
    ] {
        assert_eq!(Problem::from(refused.unwrap_err()).kind, ProblemKind::TooManyRequests);
    }
    world.like("birch", post).await;
    world.publish("ash", "posts have another limit").await;
}
