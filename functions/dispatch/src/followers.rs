//! Reading the followers, several partitions at a time, and cutting them into chunks.

use fanfold_core::fanout::{Cutter, Part, Share, before_range};
use fanfold_core::limits::{
    CHUNK_FOLLOWERS_MAX, DISPATCH_TIME_LEFT_MIN_MS, SEND_BATCH_MAX, SHARDS_AT_ONCE, SHARDS_PER_PART,
};
use fanfold_core::message::{DeliverChunk, PostPublished};
use fanfold_core::{PostId, UserId};
use fanfold_store::StoreError;
use fanfold_store::clock::Deadline;
use fanfold_store::dynamo::receipts::Plan;
use fanfold_store::dynamo::users::Profile;
use fanfold_store::feeds::{Audience, Reached, push_to_followers};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};

use crate::handler::{App, Dispatched, Lane};

/// What came of a partition: its chunks, and the range from which it is still to be read.
struct Read {
    chunks: usize,
    rest: Option<u8>,
}

impl App {
    /// Pushes a post to all followers: there are few.
    pub(crate) async fn push_all(
        &self,
        post: PostId,
        author: &Profile,
        pointer: bool,
        now_ms: u64,
    ) -> Result<Reached, StoreError> {
        let all =
            (0..author.follower_shards).map(|shard| self.push_shard(post, shard, pointer, now_ms));
        let all: Vec<_> = all.collect();
        stream::iter(all)
            .buffer_unordered(SHARDS_AT_ONCE)
            .try_fold(Reached::default(), async |sum, reached| Ok(sum.plus(reached)))
            .await
    }

    async fn push_shard(
        &self,
        post: PostId,
        shard: u16,
        pointer: bool,
        now_ms: u64,
    ) -> Result<Reached, StoreError> {
        let (mut reached, mut after) = (Reached::default(), None);
        loop {
            let page = self.graph.followers_page(post.author(), shard, after, self.page_followers);
            let page = page.await?;
            let audience =
                Audience { post, followers: page.followers, read_at_ms: now_ms, pointer };
            for pushed in push_to_followers(&self.valkey, &self.graph, &[audience], now_ms).await {
                reached = reached.plus(pushed?);
            }
            after = page.next;
            if after.is_none() {
                return Ok(reached);
            }
        }
    }

    /// Cuts all followers into chunks, or divides them among dispatches that do it at the same time.
    pub(crate) async fn cut_whole(
        &self,
        post: PostId,
        plan: Plan,
        now_ms: u64,
        deadline: Deadline,
    ) -> Result<Dispatched, StoreError> {
        let pointer = plan.mark.is_some();
        let event = |part| PostPublished {
            bulk: plan.followers > self.fanout.bulk,
            pointer,
            ..PostPublished::part(post, part)
        };
        let whole = Part { first: 0, end: plan.shards, range: 0 };
        if !event(whole).bulk {
            return self.cut_part(&event(whole), whole, now_ms, deadline).await;
        }
        let parts: Vec<PostPublished> = (0..plan.shards)
            .step_by(usize::from(SHARDS_PER_PART))
            .map(|first| Part { first, end: plan.shards.min(first + SHARDS_PER_PART), range: 0 })
            .map(event)
            .collect();
        self.bulk.events.send_all(&parts).await?;
        Ok(Dispatched::Divided { parts: parts.len() })
    }

    /// Cuts the followers in some partitions into chunks. What there is no time for goes back.
    pub(crate) async fn cut_part(
        &self,
        event: &PostPublished,
        part: Part,
        now_ms: u64,
        deadline: Deadline,
    ) -> Result<Dispatched, StoreError> {
        let shards: Vec<_> =
            (part.first..part.end)
                .map(|shard| {
                    let is_first = shard == part.first;
                    let range = if is_first { part.range } else { 0 };
                    let one = Part { first: shard, end: shard + 1, range };
                    async move {
                        Ok((one, self.cut_shard(event, one, is_first, now_ms, deadline).await?))
                    }
                })
                .collect();
        let mut read: Vec<(Part, Read)> =
            stream::iter(shards).buffer_unordered(SHARDS_AT_ONCE).try_collect().await?;
        read.sort_by_key(|(part, _)| part.first);
        let chunks = read.iter().map(|(_, read)| read.chunks).sum();
        let left = read.iter().filter_map(|(part, read)| Some(Part { range: read.rest?, ..*part }));
        let rest = Part::joined(left);
        if rest.is_empty() {
            return Ok(Dispatched::Cut { chunks });
        }
        let events: Vec<PostPublished> =
            rest.iter().map(|part| PostPublished { part: Some(*part), ..event.clone() }).collect();
        self.lane(event).events.send_all(&events).await?;
        Ok(Dispatched::Continued { chunks, rest })
    }

    async fn cut_shard(
        &self,
        event: &PostPublished,
        part: Part,
        is_first: bool,
        now_ms: u64,
        deadline: Deadline,
    ) -> Result<Read, StoreError> {
        let (author, buckets) = (event.post.author(), self.graph.buckets());
        let mut cutter = Cutter::new(part.first, part.range, buckets, self.fanout.chunk);
        let mut after = before_range(part.range, buckets);
        let (mut waiting, mut sent) = (Vec::new(), 0);
        loop {
            // each dispatch gets at least one range further, however little time there is
            let further = !is_first || cutter.at() > part.range;
            if further && deadline.is_within_ms(DISPATCH_TIME_LEFT_MIN_MS) {
                let (rest, chunk) = cutter.stop();
                waiting.extend(chunk);
                sent += self.send(event, &mut waiting, now_ms, true).await?;
                return Ok(Read { chunks: sent, rest: Some(rest) });
            }
            let page = self.graph.followers_after(author, part.first, after, self.page_followers);
            let page = page.await?;
            waiting.extend(cutter.take(&page.followers));
            let Some(next) = page.next else { break };
            after = Some((next.bucket(buckets), next.0));
            sent += self.send(event, &mut waiting, now_ms, false).await?;
        }
        waiting.extend(cutter.finish());
        sent += self.send(event, &mut waiting, now_ms, true).await?;
        Ok(Read { chunks: sent, rest: None })
    }

    fn lane(&self, event: &PostPublished) -> &Lane {
        if event.bulk { &self.bulk } else { &self.lane }
    }

    /// Sends chunks ten at a time; those that make no ten wait, unless all are to go.
    async fn send(
        &self,
        event: &PostPublished,
        waiting: &mut Vec<(Share, Vec<UserId>)>,
        now_ms: u64,
        all: bool,
    ) -> Result<usize, StoreError> {
        let ready =
            if all { waiting.len() } else { waiting.len() / SEND_BATCH_MAX * SEND_BATCH_MAX };
        let chunks: Vec<DeliverChunk> = waiting
            .drain(..ready)
            .flat_map(|(share, followers)| chunks(event, share, followers, now_ms))
            .collect();
        self.lane(event).chunks.send_all(&chunks).await?;
        Ok(chunks.len())
    }
}

/// The messages of a share: one, unless more follow in it than a message can name.
fn chunks(
    event: &PostPublished,
    share: Share,
    followers: Vec<UserId>,
    now_ms: u64,
) -> Vec<DeliverChunk> {
    let chunk = |followers: &[UserId], share| DeliverChunk {
        share,
        pointer: event.pointer,
        ..DeliverChunk::new(event.post, now_ms, followers.to_vec())
    };
    let split = followers.len().saturating_sub(1) / CHUNK_FOLLOWERS_MAX * CHUNK_FOLLOWERS_MAX;
    let (others, last) = followers.split_at(split);
    let others = others.chunks(CHUNK_FOLLOWERS_MAX).map(|followers| chunk(followers, None));
    others.chain([chunk(last, Some(share))]).collect()
}
