//! Random histories through the real handlers, on real servers, against a plain oracle: at rest,
//! every feed and every walk down its pages equals the merge of what its reader follows.

use std::collections::{BTreeMap, BTreeSet};

use fanfold_core::PostId;
use fanfold_store::feeds::Span;
use fanfold_store::valkey::Feed;

use crate::harness::dice::Dice;
use crate::harness::valkeys::Node;
use crate::harness::world::{Message, World};

const PEOPLE: [&str; 4] = ["ash", "birch", "cedar", "dogwood"];
const STEPS: usize = 45;

/// What was done, and nothing about how.
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
async fn at_rest_every_feed_is_the_merge_of_what_its_reader_follows() {
    // small feeds and chunks: trims, floors and chunks come up in short histories
    // and a server of its own: its sweeps drop everyone's feeds
    let node = Node::start(&[]);
    let url = node.url();
    let settings = [("FEED_CAP", "10"), ("CHUNK_FOLLOWERS", "1"), ("REDIS_URL", url.as_str())];
    let world = World::with(&settings).await;
    world.people(&PEOPLE).await;
    let (mut oracle, mut waiting) = (Oracle::default(), Vec::new());
    for seed in 0..24 {
        one_history(&world, &mut oracle, &mut waiting, seed).await;
    }
}

/// Histories follow on each other in one world: what an earlier one left behind is still there.
async fn one_history(world: &World, oracle: &mut Oracle, waiting: &mut Vec<Message>, seed: u64) {
    let (mut dice, mut history) = (Dice(seed), Vec::new());
    for _ in 0..STEPS {
        if dice.one_in(2) {
            world.advance(dice.below(3));
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
                world.page(Feed::home(world.id(one)), Span::ALL, 5).await;
            }
            11 if dice.one_in(3) => {
                history.push("Valkey forgets everything".to_owned());
                world.forget(&PEOPLE).await;
            }
            12 if dice.one_in(3) => {
                history.push("all feeds are dropped as inactive".to_owned());
                let late = world.now() + world.sweep.inactive_after_ms + 1;
                fanfold_sweep::handler::sweep(&world.sweep, late).await.expect("swept");
            }
            _ => some_messages(world, &mut dice, waiting, &mut history).await,
        }
    }
    // to rest: everything that waits is handled, in any order
    waiting.extend(world.take().await);
    dice.shuffle(waiting);
    for message in waiting.drain(..) {
        settle(world, &message).await;
    }
    world.drain().await;
    for name in PEOPLE {
        let said = format!("{name}, seed {seed}: {history:#?}");
        assert_eq!(world.home(name).await, oracle.home(name), "the home feed of {said}");
        let author = world.walk(Feed::author(world.id(name)), 4).await;
        assert_eq!(author, oracle.author(name), "the author feed of {said}");
    }
}

/// Some of what waits is handled: late, out of order, and some of it twice.
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
