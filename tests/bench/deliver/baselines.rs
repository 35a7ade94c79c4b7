//! The other ways to deliver a post.

use fanfold_core::limits::{BUCKETS_DEFAULT, FEED_CAP_DEFAULT, TRIM_POST_IN, trim_above, trim_to};
use fanfold_core::{PostId, order};
use fanfold_engines::valkey::Keys;
use tokio::runtime::Runtime;

use super::Audience;
use super::feeds::{Feeds, Layout};
use super::variant::Variant;
use crate::server::home;

/// Plain commands for each follower, as in a tutorial.
pub struct Plain {
    pub feeds: Feeds,
}

impl Plain {
    pub fn new(audience: &Audience) -> Self {
        Self { feeds: Feeds::full(Layout::Plain, audience) }
    }
}

impl Variant for Plain {
    fn feeds(&mut self) -> &mut Feeds {
        &mut self.feeds
    }

    fn deliver(&mut self, audience: &Audience, post: PostId, _: &Runtime) {
        let (score, member) = (post.time().ms(), order::member(post));
        self.feeds.server.send(audience.followers.iter().flat_map(|user| {
            let key = home(*user);
            let add = redis::cmd("ZADD").arg(&key).arg(score).arg(&member[..]).to_owned();
            let last = -(Layout::PLAIN_ENTRIES as i64) - 1;
            [add, redis::cmd("ZREMRANGEBYRANK").arg(&key).arg(0).arg(last).to_owned()]
        }));
    }
}

/// One script call per follower.
pub struct Script {
    feeds: Feeds,
    hash: String,
}

const SCRIPT: &str = include_str!("per_follower.lua");

impl Script {
    pub fn new(audience: &Audience) -> Self {
        let mut feeds = Feeds::full(Layout::Ours, audience);
        let hash = feeds.server.query(redis::cmd("SCRIPT").arg("LOAD").arg(SCRIPT));
        Self { feeds, hash }
    }
}

impl Variant for Script {
    fn feeds(&mut self) -> &mut Feeds {
        &mut self.feeds
    }

    fn deliver(&mut self, audience: &Audience, post: PostId, _: &Runtime) {
        let keys = Keys::new(BUCKETS_DEFAULT);
        let (score, member) = (order::score(post.time()), order::member(post));
        let Self { feeds, hash } = self;
        feeds.server.send(audience.followers.iter().map(|user| {
            let mut call = redis::cmd("EVALSHA");
            call.arg(&*hash).arg(2).arg(keys.live(user.bucket(BUCKETS_DEFAULT))).arg(home(*user));
            call.arg(score).arg(&member[..]);
            call.arg(trim_above(FEED_CAP_DEFAULT)).arg(trim_to(FEED_CAP_DEFAULT)).to_owned()
        }));
    }
}

/// Only the inserts.
pub struct Ceiling {
    feeds: Feeds,
}

impl Ceiling {
    pub fn new(audience: &Audience) -> Self {
        Self { feeds: Feeds::full(Layout::Ours, audience) }
    }
}

impl Variant for Ceiling {
    fn feeds(&mut self) -> &mut Feeds {
        &mut self.feeds
    }

    fn deliver(&mut self, audience: &Audience, post: PostId, _: &Runtime) {
        let (score, member) = (order::score(post.time()), order::member(post));
        self.feeds.server.send(audience.live.iter().map(|user| {
            redis::cmd("ZADD").arg(home(*user)).arg(score).arg(&member[..]).to_owned()
        }));
    }

    /// Trims like the push script, and at the same posts, so that the feeds have the same sizes.
    fn tidy(&mut self, audience: &Audience, post: PostId) {
        if !((post.0 >> 64) as u16).is_multiple_of(TRIM_POST_IN) {
            return;
        }
        const TRIM: &str = include_str!("trim.lua");
        let (full, keep) = (trim_above(FEED_CAP_DEFAULT), trim_to(FEED_CAP_DEFAULT));
        self.feeds.server.send(audience.live.chunks(500).map(|users| {
            let mut trim = redis::cmd("EVAL");
            trim.arg(TRIM).arg(users.len());
            for user in users {
                trim.arg(home(*user));
            }
            trim.arg(full).arg(keep).to_owned()
        }));
    }
}
