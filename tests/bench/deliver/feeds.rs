//! Feeds that are full, in either layout, on a server of their own.

use fanfold_core::limits::{BUCKETS_DEFAULT, FEED_CAP_DEFAULT, trim_above, trim_to};
use fanfold_core::{PostId, UserId, order};
use fanfold_store::clock::now_ms;
use fanfold_store::valkey::Keys;
use redis::Cmd;

use super::Audience;
use crate::harness::dice::Dice;
use crate::server::{Server, home};

#[derive(Clone, Copy, PartialEq)]
pub enum Layout {
    /// Oldest first, 500 entries, whatever the server makes of them.
    Plain,
    /// As the scripts leave a feed: memory, floor, and newest first; up to the cap.
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
        let (memory, keys, now) = (server.memory(), Keys::new(BUCKETS_DEFAULT), now_ms());
        let empty_bytes = server.memory_bytes();
        let mut dice = Dice(1);
        server.send(audience.followers.iter().map(|user| match layout {
            Layout::Plain => plain_feed(*user, now),
            Layout::Ours => our_feed(*user, &memory, now, &mut dice),
        }));
        if layout == Layout::Ours {
            let live = |user: &UserId| {
                let mut live = redis::cmd("ZADD");
                live.arg(keys.live(user.bucket(BUCKETS_DEFAULT))).arg(now);
                live.arg(home(*user)).to_owned()
            };
            server.send(audience.followers.iter().map(live));
            server.send(
                (0..BUCKETS_DEFAULT).map(|bucket| {
                    redis::cmd("SET").arg(keys.memory(bucket)).arg(&memory).to_owned()
                }),
            );
        }
        let full_bytes = server.memory_bytes();
        Self { server, layout, empty_bytes, full_bytes }
    }

    /// All that the server used when the feeds had just been made.
    pub fn bytes_per_feed(&self, audience: &Audience) -> f64 {
        (self.full_bytes - self.empty_bytes) / audience.followers.len() as f64
    }

    /// Those who are not live any more are dropped, as the sweep would.
    pub fn drop_all_but(&mut self, all: &Audience, audience: &Audience) {
        let keys = Keys::new(BUCKETS_DEFAULT);
        let live: std::collections::HashSet<UserId> = audience.live.iter().copied().collect();
        let gone = || all.followers.iter().filter(|user| !live.contains(user));
        self.server.send(gone().map(|user| redis::cmd("DEL").arg(home(*user)).to_owned()));
        self.server.send(gone().map(|user| {
            let live = keys.live(user.bucket(BUCKETS_DEFAULT));
            redis::cmd("ZREM").arg(live).arg(home(*user)).to_owned()
        }));
    }

    /// How many of the feeds that should hold a post do not, and how many hold it that should not.
    pub fn wrong(&mut self, audience: &Audience, post: PostId) -> (usize, usize) {
        let wanted = match self.layout {
            Layout::Plain => &audience.followers,
            Layout::Ours => &audience.live,
        };
        let keys = |users: &[UserId]| users.iter().map(|user| home(*user)).collect::<Vec<_>>();
        let member = order::member(post);
        let there = self.server.holding(&keys(wanted), &member);
        let anywhere = self.server.holding(&keys(&audience.followers), &member);
        (wanted.len() - there, anywhere - there)
    }
}

fn plain_feed(user: UserId, now: u64) -> Cmd {
    let mut fill = redis::cmd("ZADD");
    fill.arg(home(user));
    for age in (1..=Layout::PLAIN_ENTRIES as u64).rev() {
        let post = PostId::new(now - age * 60_000, 0, UserId(age));
        fill.arg(post.time_ms()).arg(&order::member(post)[..]);
    }
    fill
}

fn our_feed(user: UserId, memory: &str, now: u64, dice: &mut Dice) -> Cmd {
    // anywhere between two trims: the memory and the floor are members, too
    let keep = trim_to(FEED_CAP_DEFAULT) as u64;
    let entries = keep + dice.below(trim_above(FEED_CAP_DEFAULT) as u64 - 1 - keep);
    let mut fill = redis::cmd("ZADD");
    fill.arg(home(user)).arg("-inf").arg(format!("M{memory}"));
    for age in 1..=entries {
        let post = PostId::new(now - age * 60_000, 0, UserId(age));
        fill.arg(order::score(post.time_ms())).arg(&order::member(post)[..]);
    }
    fill.arg(order::score(now - (entries + 1) * 60_000)).arg(order::FLOOR);
    fill
}
