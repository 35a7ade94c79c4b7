//! Reads the followers of an author, several partitions at a time, and pushes to them or cuts them into chunks.

use std::time::Duration;

use fanfold_core::fanout::{Cutter, DeliveryCounts, FanoutPart, Share, before_range};
use fanfold_core::limits::{CHUNK_FOLLOWERS_MAX, PARTITIONS_AT_ONCE, SEND_BATCH_MAX};
use fanfold_core::registry::{BULK_CHUNKS, BULK_EVENTS, CHUNKS, POST_EVENTS, QueueSpec};
use fanfold_core::{Partition, PostId, Time, UserId};
use fanfold_runtime::StoreError;
use fanfold_runtime::clock::Deadline;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};

use super::Dispatched;
use super::push::{Audience, push_to_followers};
use super::receipts::Plan;
use crate::App;
use crate::fanout::messages::DeliverChunk;
use crate::people::items::Profile;
use crate::posts::messages::PostPublished;

/// The remaining time below which a dispatch sends the rest to its queue.
const DISPATCH_TIME_LEFT_MIN: Duration = Duration::from_secs(5);

/// The result of cutting one partition.
struct CutPartition {
    /// Messages that were sent.
    chunks: usize,
    /// The range at which the time ran out. None: the whole partition was cut.
    rest: Option<u8>,
}

/// Pushes a post to all followers in this invocation. For small audiences.
pub(crate) async fn push_whole(
    app: &App,
    post: PostId,
    author: &Profile,
    pointer: bool,
    now: Time,
) -> Result<DeliveryCounts, StoreError> {
    let all = Partition::first(author.follower_partitions)
        .map(|partition| push_partition(app, post, partition, pointer, now));
    let all: Vec<_> = all.collect();
    stream::iter(all)
        .buffer_unordered(PARTITIONS_AT_ONCE)
        .try_fold(DeliveryCounts::default(), async |sum, reached| Ok(sum.plus(reached)))
        .await
}

async fn push_partition(
    app: &App,
    post: PostId,
    partition: Partition,
    pointer: bool,
    now: Time,
) -> Result<DeliveryCounts, StoreError> {
    let (mut reached, mut after) = (DeliveryCounts::default(), None);
    loop {
        let page =
            app.graph.followers_page(post.author(), partition, after, app.settings.page_followers);
        let page = page.await?;
        let audience = Audience { post, followers: &page.items, read_at: now, pointer };
        for spread in push_to_followers(app, &[audience], now).await {
            reached = reached.plus(spread.whole()?);
        }
        after = page.next;
        if after.is_none() {
            return Ok(reached);
        }
    }
}

/// Cuts all followers into chunks. A large audience is divided into parts instead, and each part goes to a dispatch
/// of its own, so that the parts are cut at the same time.
pub(crate) async fn cut_whole(
    app: &App,
    post: PostId,
    plan: Plan,
    now: Time,
    deadline: Deadline,
) -> Result<Dispatched, StoreError> {
    let pointer = plan.mark.is_some();
    let event = |part| PostPublished {
        bulk: plan.followers > app.settings.fanout.bulk,
        pointer,
        ..PostPublished::part(post, part)
    };
    let whole = FanoutPart { first: 0, end: plan.partitions, range: 0 };
    if !event(whole).bulk {
        return cut_part(app, &event(whole), whole, now, deadline).await;
    }
    let parts: Vec<PostPublished> = (0..plan.partitions)
        .step_by(usize::from(app.settings.partitions_per_part.max(1)))
        .map(|first| FanoutPart {
            first,
            end: plan.partitions.min(first + app.settings.partitions_per_part),
            range: 0,
        })
        .map(event)
        .collect();
    app.outbox.send_all_on(BULK_EVENTS, &parts).await?;
    Ok(Dispatched::Divided { parts: parts.len() })
}

/// Cuts the followers of some partitions into chunks. If the time runs out, the rest goes back to the queue as
/// events.
pub(crate) async fn cut_part(
    app: &App,
    event: &PostPublished,
    part: FanoutPart,
    now: Time,
    deadline: Deadline,
) -> Result<Dispatched, StoreError> {
    let partitions: Vec<_> = (part.first..part.end)
        .map(|partition| {
            let is_first = partition == part.first;
            let range = if is_first { part.range } else { 0 };
            let one = FanoutPart { first: partition, end: partition + 1, range };
            async move { Ok((one, cut_partition(app, event, one, is_first, now, deadline).await?)) }
        })
        .collect();
    let mut cut: Vec<(FanoutPart, CutPartition)> =
        stream::iter(partitions).buffer_unordered(PARTITIONS_AT_ONCE).try_collect().await?;
    cut.sort_by_key(|(part, _)| part.first);
    let chunks = cut.iter().map(|(_, cut)| cut.chunks).sum();
    let left = cut.iter().filter_map(|(part, cut)| Some(FanoutPart { range: cut.rest?, ..*part }));
    let rest = FanoutPart::joined(left);
    if rest.is_empty() {
        return Ok(Dispatched::Cut { chunks });
    }
    let rest_of = |part: &FanoutPart| PostPublished { part: Some(*part), ..event.clone() };
    let events: Vec<PostPublished> = rest.iter().map(rest_of).collect();
    // mutation: dispatch-rest
    app.outbox.send_all_on(events_queue(event), &events).await?;
    Ok(Dispatched::Continued { chunks, rest })
}

/// Cuts the followers of one partition into chunks, until the time runs out.
async fn cut_partition(
    app: &App,
    event: &PostPublished,
    part: FanoutPart,
    is_first: bool,
    now: Time,
    deadline: Deadline,
) -> Result<CutPartition, StoreError> {
    let (author, buckets) = (event.post.author(), app.graph.buckets());
    let mut cutter =
        Cutter::new(Partition(part.first), part.range, buckets, app.settings.fanout.chunk);
    let mut after = before_range(part.range, buckets);
    let (mut waiting, mut sent) = (Vec::new(), 0);
    loop {
        // with little time left, a dispatch still completes one range of its first partition
        let further = !is_first || cutter.at() > part.range;
        if further && deadline.is_within(DISPATCH_TIME_LEFT_MIN) {
            let (rest, chunk) = cutter.stop();
            waiting.extend(chunk);
            sent += send(app, event, &mut waiting, now, true).await?;
            return Ok(CutPartition { chunks: sent, rest: Some(rest) });
        }
        let page = app.graph.followers_after(
            author,
            Partition(part.first),
            after,
            app.settings.page_followers,
        );
        let page = page.await?;
        waiting.extend(cutter.take(&page.items));
        let Some(next) = page.next else { break };
        after = Some((next.bucket(buckets), next.0));
        sent += send(app, event, &mut waiting, now, false).await?;
    }
    waiting.extend(cutter.finish());
    sent += send(app, event, &mut waiting, now, true).await?;
    Ok(CutPartition { chunks: sent, rest: None })
}

/// The queue that the parts and the rest of a fan-out go to. Large audiences have their own, so that other posts do not wait.
fn events_queue(event: &PostPublished) -> &'static QueueSpec {
    if event.bulk { BULK_EVENTS } else { POST_EVENTS }
}

/// Sends the waiting chunks in groups of ten, which is one call to SQS. The remainder waits for more chunks, unless
/// `all` is set. Returns the number of messages that were sent.
async fn send(
    app: &App,
    event: &PostPublished,
    waiting: &mut Vec<(Share, Vec<UserId>)>,
    now: Time,
    all: bool,
) -> Result<usize, StoreError> {
    let ready = if all { waiting.len() } else { waiting.len() / SEND_BATCH_MAX * SEND_BATCH_MAX };
    let queue = if event.bulk { BULK_CHUNKS } else { CHUNKS };
    let chunks: Vec<DeliverChunk> = waiting
        .drain(..ready)
        .flat_map(|(share, followers)| chunks(event, share, followers, now))
        .collect();
    app.outbox.send_all_on(queue, &chunks).await?;
    Ok(chunks.len())
}

/// The messages of a share: one, unless it has more followers than a message can hold. Only the last message names the
/// share, so the receipt counts the share once.
fn chunks(
    event: &PostPublished,
    share: Share,
    mut followers: Vec<UserId>,
    now: Time,
) -> Vec<DeliverChunk> {
    let chunk = |followers: Vec<UserId>, share| DeliverChunk {
        share,
        pointer: event.pointer,
        ..DeliverChunk::new(event.post, now, followers)
    };
    let mut chunks = Vec::new();
    while followers.len() > CHUNK_FOLLOWERS_MAX {
        let rest = followers.split_off(CHUNK_FOLLOWERS_MAX);
        chunks.push(chunk(std::mem::replace(&mut followers, rest), None));
    }
    chunks.push(chunk(followers, Some(share)));
    chunks
}
