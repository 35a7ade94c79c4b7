//! Which handler takes which message. Kinds subscribe to each other's events here. A slow subscriber sends an order of its own.

use fanfold_core::{Time, received};
use fanfold_runtime::StoreError;
use fanfold_runtime::clock::Deadline;

use crate::boards::messages::{BoardChanged, RebuildBoard, ScoresChanged};
use crate::fanout::dispatch;
use crate::feeds::messages::RebuildFeed;
use crate::follows::messages::{CountFollowers, RelationChanged};
use crate::likes::messages::CountLikes;
use crate::marks::messages::MarkChanged;
use crate::people::messages::ProfileChanged;
use crate::posts::messages::{PostDeleted, PostEdited, PostPublished};
use crate::rankings::messages::RebuildRanking;
use crate::replies::messages::CountReplies;
use crate::{App, boards, follows, likes, marks, people, posts, rankings, rebuild, replies};

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

/// Removes the earlier versions of a deleted post, takes it out of its thread, and removes its likes.
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
