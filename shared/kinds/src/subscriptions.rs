//! Which handler takes which message. Kinds subscribe to each other's events here. A slow subscriber sends an order of its own.

use fanfold_core::{Time, received};
use fanfold_runtime::StoreError;
use fanfold_runtime::clock::Deadline;
use fanfold_runtime::sqs::Outcome;
use fanfold_runtime::trace::Trace;

use crate::boards::messages::{BoardChanged, RebuildBoard, ScoresChanged};
use crate::fanout::messages::DeliverChunk;
use crate::fanout::{self, dispatch};
use crate::feeds::messages::RebuildFeed;
use crate::follows::messages::{CountFollowers, RelationChanged};
use crate::likes::messages::CountLikes;
use crate::marks::messages::MarkChanged;
use crate::people::messages::ProfileChanged;
use crate::posts::messages::{PostDeleted, PostEdited, PostPublished};
use crate::rankings::messages::RebuildRanking;
use crate::replies::messages::CountReplies;
use crate::tags::messages::UpdateTagFeeds;
use crate::{App, boards, follows, likes, marks, people, posts, rankings, rebuild, replies, tags};

macro_rules! handled {
    ($(#[$doc:meta])* $name:ident($app:ident, $now:ident, $deadline:ident):
        $($message:ident($event:ident) => $handle:expr,)+) => {
        received!($(#[$doc])* $name: $($message),+);

        impl $name {
            /// Handles the message.
            pub async fn handle(
                &self,
                $app: &App,
                $now: Time,
                $deadline: Deadline,
            ) -> Result<(), StoreError> {
                match self {
                    $(Self::$message($event) => $handle.await.map(drop),)+
                }
            }
        }
    };
}

handled! {
    /// A message on `post-events` and `bulk-events`, for `dispatch`.
    PostEvent(app, now, deadline):
    PostPublished(event) => dispatch::dispatch(app, event, now, deadline),
    PostDeleted(event) => posts::events::deleted(app, event, now),
}

received! {
    /// A message on `chunks` and `bulk-chunks`, for `deliver`.
    ChunkOrder: DeliverChunk, UpdateTagFeeds
}

/// Handles messages of `chunks` together. Returns one outcome for each, in their order. `traces` are in the order of the messages; a
/// message without one gets the current trace.
pub async fn deliver(
    app: &App,
    orders: Vec<ChunkOrder>,
    traces: &[Trace],
    now: Time,
) -> Vec<Outcome<ChunkOrder>> {
    let (mut chunks, mut of_chunks, mut tagged, mut is_chunk) = (vec![], vec![], vec![], vec![]);
    let traces = traces.iter().cloned().chain(std::iter::repeat_with(Trace::current));
    for (order, trace) in orders.into_iter().zip(traces) {
        is_chunk.push(matches!(order, ChunkOrder::DeliverChunk(_)));
        match order {
            ChunkOrder::DeliverChunk(chunk) => {
                chunks.push(chunk);
                of_chunks.push(trace);
            }
            ChunkOrder::UpdateTagFeeds(order) => tagged.push(order.post),
        }
    }
    let (chunks, tagged) = futures::join!(
        fanout::deliver::deliver(app, &chunks, &of_chunks, now),
        tags::sync::each(app, &tagged, now)
    );
    let (mut chunks, mut tagged) = (chunks.into_iter(), tagged.into_iter());
    let outcome = |is_chunk| match is_chunk {
        true => chunks.next().map(|outcome| outcome.map(ChunkOrder::DeliverChunk)),
        false => tagged.next().map(Outcome::from),
    };
    is_chunk.into_iter().filter_map(outcome).collect()
}

handled! {
    /// A message on `change-events`, for `changes`.
    ChangeEvent(app, now, deadline):
    RelationChanged(event) => follows::events::relation_changed(app, event, now),
    ProfileChanged(event) => people::events::profile_changed(app, event, now),
    CountFollowers(order) => follows::events::count(app, order),
    MarkChanged(event) => marks::events::changed(app, event, now),
    CountLikes(order) => likes::events::count(app, order, now, deadline),
    CountReplies(order) => replies::events::count(app, order),
    PostEdited(event) => posts::events::edited(app, event, now),
    PostDeleted(event) => gone(app, event, now, deadline),
    ScoresChanged(event) => boards::events::scores_changed(app, event, now, deadline),
    BoardChanged(event) => boards::events::board_changed(app, event, now, deadline),
}

/// Removes the earlier versions of a deleted post, takes it out of its thread and of the feeds of its tags, and removes its likes.
async fn gone(
    app: &App,
    event: &PostDeleted,
    now: Time,
    deadline: Deadline,
) -> Result<(), StoreError> {
    let tombstone = posts::events::tombstone(app, event, now).await?;
    let Some(tombstone) = tombstone else { return Ok(()) };
    if tombstone.had_versions {
        // mutation: versions-removed
        app.posts.forget_versions(event.post).await?;
    }
    let was_public = app.settings.public.is_on() && tombstone.thread.is_empty();
    if was_public || tombstone.had_tags {
        // mutation: deletion-tags
        app.outbox.send(&UpdateTagFeeds { post: event.post }).await?;
    }
    replies::events::removed(app, event.post, &tombstone).await?;
    likes::events::post_deleted(app, event.post, now, deadline).await
}

handled! {
    /// A message on `rebuilds`, for `rebuild`.
    RebuildOrder(app, now, deadline):
    RebuildFeed(order) => rebuild::rebuild(app, order, now),
    RebuildBoard(order) => boards::events::continue_round(app, order, now, deadline),
    RebuildRanking(order) => rankings::continue_ranking(app, order, now, deadline),
}
