//! Full feeds in one of two layouts, on their own server.

use std::time::Duration;

use fanfold_core::limits::{BUCKETS_DEFAULT, FEED_CAP_DEFAULT, trim_above, trim_to};
use fanfold_core::{PostId, Time, UserId, order};
use fanfold_engines::valkey::Keys;
use fanfold_runtime::clock::now;
use redis::Cmd;

use super::Audience;
use crate::harness::dice::Dice;
use crate::server::{Server, home};

#[derive(Clone, Copy, PartialEq)]
pub enum Layout {
    /// Oldest first, 500 entries, in the server's default encoding.
    Plain,
    /// The layout of the scripts: memory, floor, and entries with the newest first, up to the cap.
    Ours,
}

impl Layout {
    pub const PLAIN_ENTRIES: usize = 500;
}

pub struct Feeds {
    pub server: Server,
    layout: Layout,
    empty_bytes: f64,
    full_bytes: f64,
}

impl Feeds {
    pub fn full(layout: Layout, audience: &Audience) -> Self {
        let mut server = Server::start();
        let (memory, keys, now) = (server.memory(), Keys::new(BUCKETS_DEFAULT), now());
        let empty_bytes = server.memory_bytes();
        let mut dice = Dice(1);
        server.send(audience.followers.iter().map(|user| match layout {
            Layout::Plain => plain_feed(*user, now),
            Layout::Ours => our_feed(*user, &memory, now, &mut dice),
        }));
        if layout == Layout::Ours {
            let live = |user: &UserId| {
                let mut live = redis::cmd("ZADD");
                live.arg(keys.live(user.bucket(BUCKETS_DEFAULT))).arg(now.ms());
                live.arg(home(*user)).to_owned()
            };
            server.send(audience.followers.iter().map(live));
            server.send(
                keys.all_buckets().map(|bucket| {
                    redis::cmd("SET").arg(keys.memory(bucket)).arg(&memory).to_owned()
                }),
            );
        }
        let full_bytes = server.memory_bytes();
        Self { server, layout, empty_bytes, full_bytes }
    }

    /// All memory that the server used for the new feeds, per feed.
    pub fn bytes_per_feed(&self, audience: &Audience) -> f64 {
        (self.full_bytes - self.empty_bytes) / audience.followers.len() as f64
    }

    /// Drops the feeds that are not live in `audience`, as the sweep would.
    pub fn drop_all_but(&mut self, all: &Audience, audience: &Audience) {
        let keys = Keys::new(BUCKETS_DEFAULT);
        let live: std::collections::HashSet<UserId> = audience.live.iter().copied().collect();
        let idle = || all.followers.iter().filter(|user| !live.contains(user));
        self.server.send(idle().map(|user| redis::cmd("DEL").arg(home(*user)).to_owned()));
        self.server.send(idle().map(|user| {
            let live = keys.live(user.bucket(BUCKETS_DEFAULT));
            redis::cmd("ZREM").arg(live).arg(home(*user)).to_owned()
        }));
    }

    /// The number of feeds that wrongly lack a post, and of those that wrongly have it.
    pub fn wrong(&mut self, audience: &Audience, post: PostId) -> (usize, usize) {
        let wanted = match self.layout {
            Layout::Plain => &audience.followers,
            Layout::Ours => &audience.live,
        };
        let keys = |users: &[UserId]| users.iter().map(|user| home(*user)).collect::<Vec<_>>();
        let member = order::member(post);
        let right = self.server.count_with(&keys(wanted), &member);
        let all = self.server.count_with(&keys(&audience.followers), &member);
        (wanted.len() - right, all - right)
    }
}

fn plain_feed(user: UserId, now: Time) -> Cmd {
    let mut fill = redis::cmd("ZADD");
    fill.arg(home(user));
    for age in (1..=Layout::PLAIN_ENTRIES as u64).rev() {
        let post = PostId::new(now - Duration::from_secs(age * 60), 0, UserId(age));
        fill.arg(post.time().ms()).arg(&order::member(post)[..]);
    }
    fill
}

fn our_feed(user: UserId, memory: &str, now: Time, dice: &mut Dice) -> Cmd {
    // a random size between two trims; the memory and the floor are members, too
    let keep = trim_to(FEED_CAP_DEFAULT) as u64;
    let entries = keep + dice.below(trim_above(FEED_CAP_DEFAULT) as u64 - 1 - keep);
    let mut fill = redis::cmd("ZADD");
    fill.arg(home(user)).arg("-inf").arg(format!("M{memory}"));
    for age in 1..=entries {
        let post = PostId::new(now - Duration::from_secs(age * 60), 0, UserId(age));
        fill.arg(order::score(post.time())).arg(&order::member(post)[..]);
    }
    fill.arg(order::score(now - Duration::from_secs((entries + 1) * 60))).arg(order::FLOOR);
    fill
}
