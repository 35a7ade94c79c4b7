//! Deliver pushes posts to the home feeds of the followers in chunks, and counts the deliveries in receipts.

use fanfold_core::Time;
use fanfold_core::fanout::DeliveryCounts;
use fanfold_core::limits::CONCURRENCY;
use fanfold_core::time::millis;
use fanfold_runtime::sqs::Outcome;
use fanfold_runtime::trace::Trace;
use fanfold_runtime::{StoreError, metrics};
use futures::stream::{self, StreamExt as _};

use super::push::{Audience, Left, Spread, log_reached, push_to_followers};
use crate::App;
use crate::fanout::messages::DeliverChunk;

/// Pushes the posts of chunks to the home feeds of their followers, with one script call per bucket for all chunks.
/// Returns one outcome per chunk, in their order.
///
/// If some buckets fail, the outcome of a chunk is [`Outcome::Left`]: a smaller chunk with the remaining followers, and
/// the counts of the others. Deliver does not check that a post still exists, because readers pass over entries of
/// deleted posts.
///
/// The log lines of each chunk have its trace. `traces` are in the order of `chunks`; a chunk without one gets the current trace.
pub async fn deliver(
    app: &App,
    chunks: &[DeliverChunk],
    traces: &[Trace],
    now: Time,
) -> Vec<Outcome<DeliverChunk>> {
    let audiences: Vec<Audience> = chunks
        .iter()
        .map(|chunk| Audience {
            post: chunk.post,
            followers: &chunk.followers,
            read_at: chunk.cut_at,
            pointer: chunk.pointer,
        })
        .collect();
    let spread = push_to_followers(app, &audiences, now).await;
    let traces = traces.iter().cloned().chain(std::iter::repeat_with(Trace::current));
    let noted: Vec<_> = chunks
        .iter()
        .zip(spread)
        .zip(traces)
        .map(|((chunk, spread), trace)| trace.scope(outcome(app, chunk, spread, now)))
        .collect();
    stream::iter(noted).buffered(CONCURRENCY).collect().await
}

/// Logs and counts the push of a chunk, and returns its outcome.
async fn outcome(
    app: &App,
    chunk: &DeliverChunk,
    spread: Spread,
    now: Time,
) -> Outcome<DeliverChunk> {
    let lag = now.since(chunk.post.time());
    let Spread { reached, left } = spread;
    let before = chunk.reached.unwrap_or_default();
    if left.as_ref().is_none_or(|left| left.followers.len() < chunk.followers.len()) {
        log_reached(chunk.post, reached, lag);
        metrics::deliveries(reached, lag);
    }
    let reached = before.plus(reached);
    match left {
        None => note(app, chunk, reached, now).await.into(),
        // mutation: chunk-failed
        Some(left) if left.followers.len() == chunk.followers.len() => Outcome::Failed(left.error),
        // mutation: chunk-rest
        Some(Left { followers, error }) => {
            let reached = Some(reached);
            let DeliverChunk { post, cut_at, share, pointer, .. } = *chunk;
            let rest = DeliverChunk::new(post, cut_at, followers);
            Outcome::Left { rest: DeliverChunk { share, pointer, reached, ..rest }, error }
        }
    }
}

/// Adds the counts of a chunk to the receipt. The call that completes the receipt knows that all followers have the
/// post, and the pointer if there is one; the author's mark then becomes `pulled`.
async fn note(
    app: &App,
    chunk: &DeliverChunk,
    reached: DeliveryCounts,
    now: Time,
) -> Result<(), StoreError> {
    let post = chunk.post;
    let lag = now.since(post.time());
    let Some(share) = chunk.share else { return Ok(()) };
    let Some(plan) = app.receipts.done(post, share, reached, now).await? else { return Ok(()) };
    tracing::info!(%post, plan.followers, lag_ms = millis(lag), "all followers have the post");
    metrics::complete(lag);
    match plan.mark {
        Some(mark) => app.pulled.promote(post.author(), mark).await,
        None => Ok(()),
    }
}
