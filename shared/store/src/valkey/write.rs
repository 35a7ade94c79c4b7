use fanfold_core::limits::{
    CLOCKS_DIFFER_MS, PUSH_CALLS_AT_ONCE, PUSH_FEEDS_MAX, SWEEP_BATCH, TRIM_POST_IN,
    VALKEY_ARGUMENTS_MAX,
};
use fanfold_core::{PostId, order};
use futures::stream::{self, StreamExt as _};
use redis::{FromRedisValue, ParsingError, RedisResult, Value};

use super::{Feed, Valkey, failed, scripts};
use crate::error::StoreError;

/// What became of a push.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pushed {
    pub delivered: u64,
    pub not_live: u64,
    pub unfollowed: u64,
    /// What was not pushed to, because unfollows since may be forgotten.
    pub forgotten: Vec<Forgotten>,
}

/// Feeds of a bucket, to be chosen anew; the next push names the memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forgotten {
    pub memory: String,
    pub feeds: Vec<Feed>,
}

/// What the feeds of a push were chosen by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Chosen {
    /// An author's own feeds: no relation is asked for.
    Own,
    /// The followers, as they were at this time.
    AtMs(u64),
    /// The followers, read after the server had named this memory.
    Since(String),
}

/// One post and the feeds that it belongs in.
#[derive(Debug, Clone)]
pub struct Push {
    pub post: PostId,
    pub feeds: Vec<Feed>,
    pub chosen: Chosen,
    /// Whether the feeds are to know that this author's posts will not be pushed any more.
    pub pointer: bool,
}

/// Arguments of a push call for each post, beside its feeds, and of the call itself.
const ARGUMENTS_PER_POST: usize = 7;
const ARGUMENTS_PER_PUSH: usize = 7;

impl Valkey {
    /// Pushes a post to the author's own two feeds.
    pub async fn push_own(&self, post: PostId) -> Result<Pushed, StoreError> {
        let feeds = Feed::own(post.author()).to_vec();
        self.push(&Push { post, feeds, chosen: Chosen::Own, pointer: false }).await
    }

    /// Pushes a post to those of the feeds that are live.
    pub async fn push(&self, push: &Push) -> Result<Pushed, StoreError> {
        self.push_all(std::slice::from_ref(push)).await.pop().unwrap_or(Ok(Pushed::default()))
    }

    /// Pushes posts, with one script call per bucket for all of them. What comes of each is said in
    /// their order; whoever fails may be pushed again as a whole.
    pub async fn push_all(&self, pushes: &[Push]) -> Vec<Result<Pushed, StoreError>> {
        let mut all: Vec<Target> = pushes
            .iter()
            .enumerate()
            .flat_map(|(push, order)| order.feeds.iter().map(move |feed| (push, *feed)))
            .map(|(push, feed)| Target { bucket: self.keys.bucket(feed.user), push, feed })
            .collect();
        all.sort_by_key(|target| (target.bucket, target.push));
        let calls: Vec<_> = all
            .chunk_by(|a, b| a.bucket == b.bucket)
            .flat_map(calls_of)
            .map(|call| self.push_call(pushes, call))
            .collect();
        let mut calls = stream::iter(calls).buffer_unordered(PUSH_CALLS_AT_ONCE);
        let mut sums: Vec<Result<Pushed, StoreError>> =
            pushes.iter().map(|_| Ok(Pushed::default())).collect();
        while let Some((parts, answers)) = calls.next().await {
            let failed_all = answers.as_ref().err().cloned();
            let mut answers = answers.into_iter().flatten();
            for (push, feeds) in parts {
                let Some(sum) = sums.get_mut(push) else { continue };
                match (failed_all.clone(), answers.next(), &mut *sum) {
                    (None, Some(answer), Ok(sum)) => sum.add(answer, feeds),
                    (None, _, _) => {}
                    (Some(source), _, _) => *sum = Err(failed("pushing posts")(source)),
                }
            }
        }
        sums
    }

    /// Which pushes with how many of their feeds a call was for, and what the server answered to each.
    async fn push_call<'a>(
        &self,
        pushes: &[Push],
        call: &'a [Target],
    ) -> (Vec<(usize, &'a [Target])>, RedisResult<Vec<Answer>>) {
        let parts: Vec<(usize, &[Target])> = call
            .chunk_by(|a, b| a.push == b.push)
            .filter_map(|part| Some((part.first()?.push, part)))
            .collect();
        let bucket = call.first().map_or(0, |target| target.bucket);
        let mut script = scripts::PUSH.call();
        script.key(self.keys.live(bucket)).key(self.keys.memory(bucket));
        script.arg(self.full()).arg(self.keep());
        for (push, feeds) in &parts {
            let Some(Push { post, chosen, pointer, .. }) = pushes.get(*push) else { continue };
            script.key(self.keys.rel(bucket, post.author()));
            script.arg(order::score(post.time_ms())).arg(&order::member(*post)[..]);
            script.arg(feeds.len()).arg(u8::from(looks_at_lengths(*post, chosen)));
            script.arg(if *pointer { order::pointer(post.author()).to_vec() } else { Vec::new() });
            match chosen {
                Chosen::Own => script.arg("*"),
                Chosen::AtMs(at) => script.arg(at.saturating_sub(CLOCKS_DIFFER_MS)),
                Chosen::Since(memory) => script.arg(memory),
            };
        }
        for target in call {
            script.key(self.keys.feed(target.feed));
        }
        let answers = script.ask(&self.link).await;
        (parts, answers)
    }

    /// Takes posts that are gone out of a feed.
    pub async fn remove(&self, feed: Feed, posts: &[PostId]) -> Result<(), StoreError> {
        for batch in posts.chunks(SWEEP_BATCH) {
            let mut command = redis::cmd("ZREM");
            command.arg(self.keys.feed(feed));
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

    /// Gives up what a live feed holds: whoever reads it next rebuilds it.
    pub async fn distrust(&self, feed: Feed) -> Result<(), StoreError> {
        redis::cmd("UNLINK")
            .arg(self.keys.feed(feed))
            .query_async(&mut self.link.clone())
            .await
            .map_err(failed("giving up a feed"))
    }
}

/// A feed that a post is pushed to, among others.
#[derive(Debug, Clone, Copy)]
struct Target {
    bucket: u16,
    /// The place of its push.
    push: usize,
    feed: Feed,
}

/// Cuts the targets of a bucket, which are in the order of their pushes, into calls that are short enough.
fn calls_of(bucket: &[Target]) -> Vec<&[Target]> {
    let (mut calls, mut rest) = (Vec::new(), bucket);
    while !rest.is_empty() {
        let (mut arguments, mut before) = (ARGUMENTS_PER_PUSH, None);
        let fits = |target: &&Target| {
            arguments += 1 + if before == Some(target.push) { 0 } else { ARGUMENTS_PER_POST };
            before = Some(target.push);
            arguments <= VALKEY_ARGUMENTS_MAX
        };
        let count = rest.iter().take(PUSH_FEEDS_MAX).take_while(fits).count().max(1);
        let (call, others) = rest.split_at(count);
        calls.push(call);
        rest = others;
    }
    calls
}

/// What the server says of a post in a bucket.
enum Answer {
    Counts(u64, u64, u64),
    Forgotten(String),
}

impl FromRedisValue for Answer {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        Ok(match value {
            Value::Array(_) => {
                let (delivered, not_live, unfollowed) = FromRedisValue::from_redis_value(value)?;
                Answer::Counts(delivered, not_live, unfollowed)
            }
            memory => Answer::Forgotten(String::from_redis_value(memory)?),
        })
    }
}

impl Pushed {
    fn add(&mut self, answer: Answer, to: &[Target]) {
        match answer {
            Answer::Counts(delivered, not_live, unfollowed) => {
                self.delivered += delivered;
                self.not_live += not_live;
                self.unfollowed += unfollowed;
            }
            Answer::Forgotten(memory) => {
                let feeds = to.iter().map(|target| target.feed).collect();
                self.forgotten.push(Forgotten { memory, feeds });
            }
        }
    }
}

/// Asking for a feed's length costs a fifth of a push, so most posts do without. The random bits of
/// the id choose, so that each feed is looked at now and then whoever its authors are.
fn looks_at_lengths(post: PostId, chosen: &Chosen) -> bool {
    let unique = (post.0 >> 64) as u16;
    *chosen == Chosen::Own || unique.is_multiple_of(TRIM_POST_IN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_call_has_more_arguments_than_a_server_takes() {
        for (pushes, feeds) in [(1, 20_000), (10, 2_000), (5_000, 1), (3_000, 2), (1, 1), (0, 0)] {
            let user = fanfold_core::UserId(1);
            let target = |push| Target { bucket: 0, push, feed: Feed::home(user) };
            let bucket: Vec<Target> =
                (0..pushes).flat_map(|push| vec![target(push); feeds]).collect();
            let calls = calls_of(&bucket);
            assert_eq!(calls.iter().map(|call| call.len()).sum::<usize>(), bucket.len());
            for call in calls {
                let posts = call.chunk_by(|a, b| a.push == b.push).count();
                let arguments = ARGUMENTS_PER_PUSH + posts * ARGUMENTS_PER_POST + call.len();
                assert!(arguments <= VALKEY_ARGUMENTS_MAX && call.len() <= PUSH_FEEDS_MAX);
            }
        }
    }
}
