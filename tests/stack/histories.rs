//! Random histories through the real handlers, on real servers, compared with a plain model. At rest, every feed
//! and every walk through its pages equals the merge of the authors that its reader follows.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fanfold_core::{FeedId, PostId};
use fanfold_kinds::home::Span;
use fanfold_kinds::sweep;

use crate::harness::dice::Dice;
use crate::harness::valkeys::Node;
use crate::harness::world::{Message, World};

const PEOPLE: [&str; 4] = ["ash", "birch", "cedar", "dogwood"];
const STEPS: usize = 45;

/// The expected posts and relations.
#[derive(Default)]
struct Oracle {
    posts: BTreeMap<PostId, &'static str>,
    follows: BTreeSet<(&'static str, &'static str)>,
}

impl Oracle {
    fn home(&self, reader: &'static str) -> Vec<PostId> {
        let seen = |author| author == reader || self.follows.contains(&(reader, author));
        let posts = self.posts.iter().rev().filter(|(_, author)| seen(**author));
        posts.map(|(id, _)| *id).collect()
    }

    fn author(&self, author: &'static str) -> Vec<PostId> {
        let posts = self.posts.iter().rev().filter(|(_, by)| **by == author);
        posts.map(|(id, _)| *id).collect()
    }
}

#[tokio::test]
async fn at_rest_every_feed_merges_the_followed_authors() {
    // small feeds and chunks, so that trims, floors and chunks occur in short histories
    // its own server, because its sweeps drop the feeds of all users
    let node = Node::start(&[]);
    let url = node.url();
    let settings = [("FEED_CAP", "10"), ("CHUNK_FOLLOWERS", "1"), ("REDIS_URL", url.as_str())];
    let world = World::with(&settings).await;
    world.people(&PEOPLE).await;
    let (mut oracle, mut waiting) = (Oracle::default(), Vec::new());
    for seed in 0..4 {
        one_history(&world, &mut oracle, &mut waiting, seed).await;
    }
}

/// Runs one history. All histories run in one world, so the data of earlier ones is still there.
async fn one_history(world: &World, oracle: &mut Oracle, waiting: &mut Vec<Message>, seed: u64) {
    let (mut dice, mut history) = (Dice(seed), Vec::new());
    for _ in 0..STEPS {
        if dice.one_in(2) {
            world.advance(Duration::from_millis(dice.below(3)));
        }
        let (one, other) = (*dice.pick(&PEOPLE), *dice.pick(&PEOPLE));
        match dice.below(16) {
            0..5 => {
                let post = world.publish(one, "text").await;
                history.push(format!("{one} publishes {post}"));
                oracle.posts.insert(post, one);
            }
            5..7 if one != other => {
                history.push(format!("{one} follows {other}"));
                world.follow(one, other).await;
                oracle.follows.insert((one, other));
            }
            7 if one != other => {
                history.push(format!("{one} unfollows {other}"));
                world.unfollow(one, other).await;
                oracle.follows.remove(&(one, other));
            }
            8 => {
                let posts: Vec<PostId> = oracle.author(one);
                if !posts.is_empty() {
                    let post = *dice.pick(&posts);
                    history.push(format!("{one} deletes {post}"));
                    world.delete(one, post).await;
                    oracle.posts.remove(&post);
                }
            }
            9..11 => {
                history.push(format!("{one} reads"));
                world.page(FeedId::home(world.id(one)), Span::ALL, 5).await;
            }
            11 if dice.one_in(3) => {
                history.push("Valkey loses all feeds".to_owned());
                world.forget(&PEOPLE).await;
            }
            12 if dice.one_in(3) => {
                history.push("all feeds are dropped as inactive".to_owned());
                let late =
                    world.now() + world.app.settings.inactive_after + Duration::from_millis(1);
                sweep::sweep(&world.app, late).await.expect("swept");
            }
            _ => some_messages(world, &mut dice, waiting, &mut history).await,
        }
    }
    // come to rest: handle all waiting messages in a random order
    waiting.extend(world.take().await);
    dice.shuffle(waiting);
    for message in waiting.drain(..) {
        settle(world, &message).await;
    }
    world.drain().await;
    for name in PEOPLE {
        let context = format!("{name}, seed {seed}: {history:#?}");
        assert_eq!(world.home(name).await, oracle.home(name), "the home feed of {context}");
        let author = world.walk(FeedId::author(world.id(name)), 4).await;
        assert_eq!(author, oracle.author(name), "the author feed of {context}");
    }
}

/// Handles some of the waiting messages: late, out of order, and some of them twice.
async fn some_messages(
    world: &World,
    dice: &mut Dice,
    waiting: &mut Vec<Message>,
    history: &mut Vec<String>,
) {
    waiting.extend(world.take().await);
    dice.shuffle(waiting);
    for _ in 0..dice.below(4) {
        let Some(message) = waiting.pop() else { return };
        history.push(format!("handles {message:?}"));
        if dice.one_in(3) {
            waiting.insert(0, message.clone());
        }
        settle(world, &message).await;
    }
}

async fn settle(world: &World, message: &Message) {
    if let Err(error) = world.handle(message).await {
        panic!("{message:?}: {error}");
    }
}
