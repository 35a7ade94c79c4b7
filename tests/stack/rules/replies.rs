//! Replies: threads and their contexts, through the real handlers.

use std::time::Duration;

use fanfold_core::PostId;
use fanfold_core::limits::ANCESTORS_MAX;
use fanfold_engines::due::ItemDue;
use fanfold_engines::reading::ReadContext;
use fanfold_engines::table::ByTime;
use fanfold_kinds::posts::NewPost;
use fanfold_kinds::present::Viewer;
use fanfold_kinds::replies::{self, RepliesTo};
use fanfold_kinds::scheduled::items::ScheduledState;
use fanfold_kinds::scheduled::{self, NewScheduled, ScheduledEdit};
use fanfold_kinds::{Error, posts};

use crate::harness::world::{Message, World};

/// The posts above a post (`None`: a placeholder), and the replies below it.
type Thread = (Vec<(PostId, bool)>, Vec<PostId>);

/// Reads the whole context of a post.
async fn context(world: &World, viewer: &Viewer, post: PostId, order: ByTime) -> Thread {
    let (list, mut after, mut replies) = (RepliesTo(post, order), None, Vec::new());
    loop {
        let reading = ReadContext::new(world.now());
        let page = replies::context(&world.app, viewer, list, after, 2, &reading).await;
        let page = page.expect("a context");
        replies.extend(page.replies.items.iter().map(|shown| shown.post.id));
        after = page.replies.next;
        if after.is_none() {
            let above = page.above.iter().map(|above| (above.id, above.post.is_some()));
            return (above.collect(), replies);
        }
    }
}

async fn oldest(world: &World, post: PostId) -> Thread {
    context(world, &Viewer::of(world.id("ash")), post, ByTime::OldestFirst).await
}

/// The number of replies that a post shows.
async fn number(world: &World, post: PostId) -> u64 {
    let viewer = Viewer::of(world.id("ash"));
    posts::read(&world.app, &viewer, post, world.now()).await.expect("a post").post.replies
}

#[tokio::test]
async fn a_context_has_the_posts_above_and_all_replies_below() {
    let world = World::new().await;
    world.people(&["ash", "birch", "cedar"]).await;
    let root = world.publish("ash", "a question").await;
    let first = world.reply("birch", root).await;
    let under = world.reply("ash", first).await;
    let second = world.reply("cedar", root).await;
    let deep = world.reply("birch", under).await;
    // the next request shows each of them, before any message is handled
    assert_eq!(oldest(&world, root).await, (vec![], vec![first, under, second, deep]));
    let above = vec![(root, true), (first, true)];
    assert_eq!(oldest(&world, under).await, (above.clone(), vec![deep]));
    assert_eq!(oldest(&world, second).await, (vec![(root, true)], vec![]));
    let viewer = Viewer::of(world.id("cedar"));
    let newest = context(&world, &viewer, root, ByTime::NewestFirst).await;
    assert_eq!(newest, (vec![], vec![deep, second, under, first]));
    world.drain().await;
    for (post, replies) in [(root, 2), (first, 1), (under, 1), (second, 0), (deep, 0)] {
        assert_eq!(number(&world, post).await, replies, "{post}");
    }
    // a deleted reply is left out, and is a placeholder above what answers it
    world.delete("ash", under).await;
    assert_eq!(oldest(&world, root).await, (vec![], vec![first, second, deep]));
    let gone = vec![(root, true), (first, true), (under, false)];
    assert_eq!(oldest(&world, deep).await, (gone, vec![]));
    let reading = ReadContext::new(world.now());
    let list = RepliesTo(under, ByTime::NewestFirst);
    let context = replies::context(&world.app, &viewer, list, None, 2, &reading).await;
    assert!(matches!(context, Err(Error::NoSuchPost(post)) if post == under), "{context:?}");
    world.drain().await;
    assert_eq!((number(&world, first).await, number(&world, root).await), (0, 2));
    // a hidden author is left out in the same way
    let mut viewer = Viewer::of(world.id("cedar"));
    viewer.hidden.insert(world.id("ash"));
    let seen = self::context(&world, &viewer, deep, ByTime::OldestFirst).await;
    assert_eq!(seen, (vec![(root, false), (first, true), (under, false)], vec![]));
}

#[tokio::test]
async fn a_reply_answers_a_post_that_is_there() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    let root = world.publish("ash", "a question").await;
    world.delete("ash", root).await;
    for missing in [root, PostId::new(world.now(), 7, world.id("ash"))] {
        let refused = world.try_reply("birch", missing).await;
        assert!(matches!(refused, Err(Error::NoSuchPost(post)) if post == missing), "{refused:?}");
    }
    // the answered post is a part of what a key stands for
    let (root, birch) = (world.publish("ash", "another").await, world.identity("birch"));
    let publish = async |in_reply_to| {
        let new = NewPost { in_reply_to, .."a reply".into() };
        posts::publish(&world.app, &birch, new, Some("a key"), world.now()).await
    };
    let made = publish(Some(root)).await.expect("a reply");
    assert_eq!(publish(Some(root)).await.expect("the same").post.id, made.post.id);
    assert!(matches!(publish(None).await, Err(Error::KeyReused)));
}

#[tokio::test]
async fn a_deep_thread_shows_its_root_and_its_end() {
    let world = World::new().await;
    world.people(&["ash"]).await;
    let mut all = vec![world.publish("ash", "a question").await];
    for depth in 0..ANCESTORS_MAX + 2 {
        all.push(world.reply("ash", all[depth]).await);
    }
    let (above, _) = oldest(&world, *all.last().unwrap()).await;
    let near = &all[all.len() - ANCESTORS_MAX..all.len() - 1];
    let expected: Vec<PostId> = [&all[..1], near].concat();
    assert_eq!(above.into_iter().map(|(id, _)| id).collect::<Vec<_>>(), expected);
    assert_eq!(oldest(&world, all[0]).await.1, all[1..]);
    assert_eq!(oldest(&world, all[1]).await.1, all[2..ANCESTORS_MAX + 1]);
    assert_eq!(oldest(&world, all[3]).await.1, all[4..]);
}

/// A scheduled post is never published as anything else than the reply that it is.
#[tokio::test]
async fn a_scheduled_reply_to_a_post_that_is_gone_fails() {
    let world = World::new().await;
    world.people(&["ash", "birch"]).await;
    let roots = [world.publish("ash", "one").await, world.publish("ash", "two").await];
    let (birch, publish_at) = (world.identity("birch"), world.now() + Duration::from_secs(60));
    let mut items = Vec::new();
    for root in roots {
        let post = NewPost { in_reply_to: Some(root), .."later".into() };
        let new = NewScheduled { post, publish_at, key: None };
        let item = scheduled::schedule(&world.app, &birch, new, world.now()).await;
        items.push(item.expect("scheduled"));
    }
    world.delete("ash", roots[0]).await;
    let post = NewPost { in_reply_to: Some(roots[0]), .."too late".into() };
    let new = NewScheduled { post, publish_at, key: None };
    let refused = scheduled::schedule(&world.app, &birch, new, world.now()).await;
    assert!(matches!(refused, Err(Error::NoSuchPost(_))), "{refused:?}");
    world.advance(Duration::from_secs(60));
    for item in &items {
        for _ in 0..2 {
            let due = Message::Due(ItemDue::new(item.entry()));
            world.handle(&due).await.expect("handled");
        }
    }
    world.drain().await;
    let states = [ScheduledState::Failed, ScheduledState::Published];
    for (item, state) in items.iter().zip(states) {
        let found = scheduled::read(&world.app, &birch, item.id).await.expect("an item");
        assert_eq!(found.state, state);
        let kept = if state == ScheduledState::Failed { "later" } else { "" };
        assert_eq!(found.text, kept);
    }
    let failed = world.app.scheduled.failed(world.id("birch")).await.expect("read");
    assert_eq!(failed.iter().map(|item| item.id).collect::<Vec<_>>(), [items[0].id]);
    let edit = ScheduledEdit { text: Some("another"), ..ScheduledEdit::default() };
    let change = scheduled::change(&world.app, &birch, items[0].id, edit, world.now()).await;
    assert!(matches!(change, Err(Error::ScheduledFailed(_))), "{change:?}");
    // its text can be removed
    for _ in 0..2 {
        scheduled::cancel(&world.app, &birch, items[0].id, world.now()).await.expect("removed");
        assert_eq!(world.app.scheduled.failed(world.id("birch")).await.expect("read"), []);
    }
    assert_eq!(oldest(&world, roots[1]).await, (vec![], vec![items[1].post]));
    assert_eq!(number(&world, roots[1]).await, 1);
    let birch = world.app.users.profile(world.id("birch")).await.unwrap().expect("a profile");
    assert_eq!(birch.posts, 1, "the failed one is not counted");
}

/// What comes twice is counted once, and what is erased before its message is handled is removed by the erasure.
#[tokio::test]
async fn a_reply_leaves_its_thread_once() {
    let world = World::new().await;
    world.people(&["ash", "birch", "cedar"]).await;
    let root = world.publish("ash", "a question").await;
    let replies = [world.reply("birch", root).await, world.reply("cedar", root).await];
    world.drain().await;
    assert_eq!(number(&world, root).await, 2);
    world.delete("birch", replies[0]).await;
    let messages = world.take().await;
    for _ in 0..2 {
        for message in &messages {
            world.handle(message).await.expect("handled");
        }
    }
    world.drain().await;
    assert_eq!(number(&world, root).await, 1);
    // the messages about the posts of an erased user are late
    world.drop_user("cedar").await;
    assert_eq!(world.app.replies.below(root, ByTime::NewestFirst, None, 9).await.unwrap(), []);
    world.drain().await;
    let counted = world.app.replies.counted(root).await.unwrap();
    assert_eq!((counted.number, number(&world, root).await), (0, 0));
    // a post that is gone keeps no count
    let late = world.reply("birch", root).await;
    world.drain().await;
    world.delete("ash", root).await;
    world.drain().await;
    assert_eq!(world.app.replies.counted(root).await.unwrap().changes, 0);
    assert_eq!(oldest(&world, late).await, (vec![(root, false)], vec![]));
}
