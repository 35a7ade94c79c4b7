//! Pushes posts to feeds (`lua/push.lua`), and removes entries.

use std::collections::BTreeMap;
use std::time::Duration;

use fanfold_core::limits::{CLOCKS_DIFFER, SWEEP_BATCH, TRIM_POST_IN, VALKEY_ARGUMENTS_MAX};
use fanfold_core::{Bucket, FeedId, PostId, Time, order};
use fanfold_runtime::clock::Stopwatch;
use fanfold_runtime::error::StoreError;
use futures::stream::{self, StreamExt as _};
use redis::{ErrorKind, FromRedisValue, ParsingError, RedisResult, Value};

use super::{Valkey, failed, scripts};

/// Feeds in one script call. The server does nothing else while a script runs.
const PUSH_FEEDS_MAX: usize = 1_000;
/// The time within which the script calls of one push begin. Later ones fail without being sent, so that
/// a server that does not answer cannot use up a function's time.
const PUSH_CALLS_BEGIN_WITHIN: Duration = Duration::from_secs(6);
/// Script calls of one push that are under way at the same time.
const PUSH_CALLS_AT_ONCE: usize = 64;

/// The result of a push, in counts of feeds.
#[derive(Debug, Default)]
pub struct Pushed {
    /// Feeds that have the post now.
    pub delivered: u64,
    /// Feeds that are not live.
    pub not_live: u64,
    /// Feeds whose reader has unfollowed the author.
    pub unfollowed: u64,
    /// Live feeds without the post, because the server may have forgotten unfollows.
    pub forgotten: Vec<Forgotten>,
    /// Feeds that may lack the post, because the server did not answer.
    pub failed: Option<FailedPush>,
}

/// The feeds for which a push failed, and the error.
#[derive(Debug)]
pub struct FailedPush {
    /// The feeds to push to again.
    pub feeds: Vec<FeedId>,
    /// The error of the last call that failed.
    pub error: StoreError,
}

/// Live feeds of one bucket whose relations the caller must read again. The next push to them must use
/// [`Chosen::Since`] with this memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forgotten {
    /// The name of the server's memory of the bucket.
    pub memory: String,
    /// The feeds.
    pub feeds: Vec<FeedId>,
}

/// How the feeds of a push were chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Chosen {
    /// The feeds are the author's own. Relations are not checked.
    Own,
    /// The feeds belong to followers who were read at this time.
    At(Time),
    /// The feeds belong to followers whose relations were read after the server had returned this memory.
    Since(String),
}

/// A post to push, and the feeds to push it to.
#[derive(Debug, Clone)]
pub struct Push {
    /// The post.
    pub post: PostId,
    /// The feeds.
    pub feeds: Vec<FeedId>,
    /// How the feeds were chosen.
    pub chosen: Chosen,
    /// Whether a pointer to the author is added too, because later posts of this author will be pulled.
    pub pointer: bool,
}

const PUSHING: &str = "pushing posts";

/// Arguments of a push call for each post, without its feeds.
const ARGUMENTS_PER_POST: usize = 7;
/// Other arguments of a push call.
const ARGUMENTS_PER_PUSH: usize = 7;

impl Valkey {
    /// Pushes a post to the author's own two feeds, if they are live. A full server drops a feed instead.
    pub async fn push_own(&self, post: PostId) -> Result<Pushed, StoreError> {
        let feeds = FeedId::own(post.author()).to_vec();
        self.push(&Push { post, feeds, chosen: Chosen::Own, pointer: false }).await
    }

    /// Pushes a post to feeds, if they are live. Fails if the server did not answer for some of them.
    pub async fn push(&self, push: &Push) -> Result<Pushed, StoreError> {
        let mut all = Pushed::default();
        for mut pushed in self.push_all(std::slice::from_ref(push)).await {
            if let Some(failed) = pushed.failed.take() {
                return Err(failed.error);
            }
            all = pushed;
        }
        Ok(all)
    }

    /// Pushes several posts, with one script call per bucket for all of them (more if a call would be too long).
    /// Returns a result for each, in their order.
    pub async fn push_all(&self, pushes: &[Push]) -> Vec<Pushed> {
        let mut all: Vec<Target> = pushes
            .iter()
            .enumerate()
            .flat_map(|(place, push)| push.feeds.iter().map(move |feed| (place, push, *feed)))
            .map(|(place, push, feed)| Target {
                bucket: self.keys.bucket_of(feed),
                place,
                push,
                feed,
            })
            .collect();
        all.sort_by_key(|target| (target.bucket, target.place));
        let stopwatch = Stopwatch::start();
        let calls: Vec<_> = all
            .chunk_by(|a, b| a.bucket == b.bucket)
            .flat_map(calls_of)
            .map(|call| self.push_call(call, stopwatch))
            .collect();
        let mut calls = stream::iter(calls).buffer_unordered(PUSH_CALLS_AT_ONCE);
        let mut sums: BTreeMap<usize, Pushed> = BTreeMap::new();
        while let Some(answers) = calls.next().await {
            for (group, answer) in answers {
                sums.entry(group.place).or_default().add(&group, answer);
            }
        }
        (0..pushes.len()).map(|place| sums.remove(&place).unwrap_or_default()).collect()
    }

    /// Calls the script for targets of one bucket. Returns an answer for each post.
    async fn push_call<'a>(
        &self,
        call: &'a [Target<'a>],
        stopwatch: Stopwatch,
    ) -> Vec<(Group<'a>, Result<Answer, StoreError>)> {
        let groups = Group::all(call);
        let answers = match stopwatch.elapsed() < PUSH_CALLS_BEGIN_WITHIN {
            true => self.run_push(&groups).await,
            false => Err((ErrorKind::Io, "other calls took too long").into()),
        };
        let answers = match answers {
            Ok(answers) => answers.into_iter().map(Ok).collect(),
            Err(source) => groups.iter().map(|_| Err(failed(PUSHING)(source.clone()))).collect(),
        };
        groups.into_iter().zip::<Vec<_>>(answers).collect()
    }

    /// Runs the script. Returns one answer for each group.
    async fn run_push(&self, groups: &[Group<'_>]) -> RedisResult<Vec<Answer>> {
        let bucket = groups.first().map_or(Bucket(0), |group| group.bucket);
        let mut script = scripts::PUSH.call();
        script.key(self.keys.live(bucket)).key(self.keys.memory(bucket));
        script.arg(self.full()).arg(self.keep());
        for Group { push: Push { post, chosen, pointer, .. }, targets, .. } in groups {
            script.key(self.keys.rel(bucket, post.author()));
            script.arg(order::score(post.time())).arg(&order::member(*post)[..]);
            script.arg(targets.len()).arg(u8::from(checks_lengths(*post, chosen)));
            script.arg(if *pointer { order::pointer(post.author()).to_vec() } else { Vec::new() });
            match chosen {
                Chosen::Own => script.arg("*"),
                Chosen::At(at) => script.arg((*at - CLOCKS_DIFFER).ms()),
                Chosen::Since(memory) => script.arg(memory),
            };
        }
        for target in groups.iter().flat_map(|group| group.targets) {
            script.key(self.keys.feed(target.feed));
        }
        let answers: Vec<Answer> = script.ask(&self.link).await?;
        let counts = groups.iter().zip(&answers).all(|(group, answer)| answer.fits(group));
        if answers.len() != groups.len() || !counts {
            return Err(scripts::unknown(&format!("{answers:?} for {} posts", groups.len())));
        }
        Ok(answers)
    }

    /// Removes deleted posts from a feed.
    pub async fn remove(&self, feed: FeedId, posts: &[PostId]) -> Result<(), StoreError> {
        for batch in posts.chunks(SWEEP_BATCH) {
            let mut command = self.keys.feed(feed).command("ZREM");
            for post in batch {
                command.arg(&order::member(*post)[..]);
            }
            let () = command
                .query_async(&mut self.link.clone())
                .await
                .map_err(failed("removing posts from a feed"))?;
        }
        Ok(())
    }

    /// Removes posts from a feed that everybody reads. A rebuild of it that is under way may have read them, so it loses its lease.
    pub async fn remove_from_shared(
        &self,
        feed: FeedId,
        posts: &[PostId],
    ) -> Result<(), StoreError> {
        for batch in posts.chunks(SWEEP_BATCH) {
            let mut script = scripts::REMOVE.call();
            script.key(self.keys.feed(feed)).key(self.keys.lock(feed));
            for post in batch {
                script.arg(&order::member(*post)[..]);
            }
            let _removed: u64 =
                script.run(&self.link, "removing posts from a feed of everybody").await?;
        }
        Ok(())
    }

    /// Deletes the contents of a feed, so that the next read rebuilds it.
    pub async fn invalidate(&self, feed: FeedId) -> Result<(), StoreError> {
        self.keys
            .feed(feed)
            .command("UNLINK")
            .query_async(&mut self.link.clone())
            .await
            .map_err(failed("invalidating a feed"))
    }
}

/// One feed of one push.
#[derive(Debug, Clone, Copy)]
struct Target<'a> {
    bucket: Bucket,
    push: &'a Push,
    /// The index of the push.
    place: usize,
    feed: FeedId,
}

/// The targets of a call that belong to one push. Keys, arguments and answers of a call all follow the order of
/// its groups, so they belong to the same posts.
struct Group<'a> {
    bucket: Bucket,
    push: &'a Push,
    place: usize,
    targets: &'a [Target<'a>],
}

impl<'a> Group<'a> {
    fn all(call: &'a [Target<'a>]) -> Vec<Self> {
        let groups = call.chunk_by(|a, b| a.place == b.place);
        let group = |targets: &'a [Target<'a>]| {
            let Target { bucket, push, place, .. } = *targets.first()?;
            Some(Self { bucket, push, place, targets })
        };
        groups.filter_map(group).collect()
    }
}

/// Cuts the targets of a bucket into calls of at most [`PUSH_FEEDS_MAX`] feeds and [`VALKEY_ARGUMENTS_MAX`]
/// arguments. The targets are in the order of their pushes.
fn calls_of<'a>(bucket: &'a [Target<'a>]) -> Vec<&'a [Target<'a>]> {
    let (mut calls, mut rest) = (Vec::new(), bucket);
    while !rest.is_empty() {
        let (mut arguments, mut before) = (ARGUMENTS_PER_PUSH, None);
        let fits = |target: &&Target| {
            arguments += 1 + if before == Some(target.place) { 0 } else { ARGUMENTS_PER_POST };
            before = Some(target.place);
            arguments <= VALKEY_ARGUMENTS_MAX
        };
        let count = rest.iter().take(PUSH_FEEDS_MAX).take_while(fits).count().max(1);
        let (call, others) = rest.split_at(count);
        calls.push(call);
        rest = others;
    }
    calls
}

/// The script's answer for one post in one bucket.
#[derive(Debug)]
enum Answer {
    /// Delivered, not live, unfollowed.
    Counts(u64, u64, u64),
    /// The memory, the number of feeds that are not live, and the indexes of the others.
    Forgotten(String, u64, Vec<usize>),
}

impl Answer {
    /// Whether the counts of this answer add up to the targets of the group.
    fn fits(&self, group: &Group) -> bool {
        match self {
            Self::Counts(delivered, not_live, unfollowed) => {
                let targets = group.targets.len() as u64;
                delivered.saturating_add(*not_live).saturating_add(*unfollowed) == targets
            }
            Self::Forgotten(memory, not_live, live) => {
                let targets = group.targets.len();
                let are_in = live.iter().all(|place| *place < targets);
                let count = not_live.saturating_add(live.len() as u64);
                !memory.is_empty() && are_in && count == targets as u64
            }
        }
    }
}

impl FromRedisValue for Answer {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        Ok(match &value {
            Value::Array(values) if matches!(values.as_slice(), [Value::BulkString(_), ..]) => {
                let (memory, not_live, live) = FromRedisValue::from_redis_value(value)?;
                Answer::Forgotten(memory, not_live, live)
            }
            _ => {
                let (delivered, not_live, unfollowed) = FromRedisValue::from_redis_value(value)?;
                Answer::Counts(delivered, not_live, unfollowed)
            }
        })
    }
}

impl Pushed {
    fn add(&mut self, group: &Group, answer: Result<Answer, StoreError>) {
        match answer {
            Ok(Answer::Counts(delivered, not_live, unfollowed)) => {
                self.delivered += delivered;
                self.not_live += not_live;
                self.unfollowed += unfollowed;
            }
            Ok(Answer::Forgotten(memory, not_live, live)) => {
                self.not_live += not_live;
                let live = live.iter().filter_map(|place| group.targets.get(*place));
                let feeds: Vec<FeedId> = live.map(|target| target.feed).collect();
                // feeds that are not live are rebuilt later, from relations that are read then
                if !feeds.is_empty() {
                    self.forgotten.push(Forgotten { memory, feeds });
                }
            }
            Err(error) => {
                let before = self.failed.take().map_or_else(Vec::new, |failed| failed.feeds);
                let feeds = group.targets.iter().map(|target| target.feed);
                let feeds = before.into_iter().chain(feeds).collect();
                self.failed = Some(FailedPush { feeds, error });
            }
        }
    }
}

/// Whether the push of this post checks the lengths of feeds, which costs a fifth of a push. The random bits of
/// the id decide, so that each feed is checked from time to time.
fn checks_lengths(post: PostId, chosen: &Chosen) -> bool {
    let unique = (post.0 >> 64) as u16;
    *chosen == Chosen::Own || unique.is_multiple_of(TRIM_POST_IN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_call_has_more_arguments_than_a_server_accepts() {
        for (pushes, feeds) in [(1, 20_000), (10, 2_000), (5_000, 1), (3_000, 2), (1, 1), (0, 0)] {
            let feed = FeedId::home(fanfold_core::UserId(1));
            let (post, chosen) = (PostId::MIN, Chosen::Own);
            let push = Push { post, feeds: Vec::new(), chosen, pointer: false };
            let push = &push;
            let target = |place| Target { bucket: Bucket(0), push, place, feed };
            let bucket: Vec<Target> =
                (0..pushes).flat_map(|push| vec![target(push); feeds]).collect();
            let calls = calls_of(&bucket);
            assert_eq!(calls.iter().map(|call| call.len()).sum::<usize>(), bucket.len());
            for call in calls {
                let posts = Group::all(call).len();
                let arguments = ARGUMENTS_PER_PUSH + posts * ARGUMENTS_PER_POST + call.len();
                assert!(arguments <= VALKEY_ARGUMENTS_MAX && call.len() <= PUSH_FEEDS_MAX);
            }
        }
    }
}
