//! Publishes a scheduled post when it is due.

use fanfold_core::limits::TRIES_MAX;
use fanfold_core::time::millis;
use fanfold_core::{PostId, ScheduledId, Time};
use fanfold_engines::due::{EntryLease, HANDLED_ELSEWHERE, HandOn, Handled, ItemDue};
use fanfold_engines::outbox::announced;
use fanfold_runtime::retry::{look_again, pause};
use fanfold_runtime::{StoreError, clock, metrics};

use super::items::{Cancelled, PublishResult, Scheduled, ScheduledState};
use crate::App;
use crate::posts::bound;
use crate::posts::entities::Unbound;
use crate::posts::items::PostState;
use crate::posts::messages::PostPublished;
use crate::posts::thread::Thread;

/// Publishes a scheduled post that is due. The message may come before the commit of its item, twice, or late. Also returns
/// the post, if its author's next request must show it.
pub async fn publish_due(
    app: &App,
    id: ScheduledId,
    message: &ItemDue,
    now: Time,
) -> Result<(Handled, Option<PostId>), StoreError> {
    let (mut looked, mut is_sent) = (0, false);
    for tried in 0..TRIES_MAX {
        let (item, lease) = match take(app, id, message, &mut looked, now).await? {
            ToPublish::Item(item, lease) => (item, lease),
            ToPublish::Nothing { published } => {
                if published.is_some() && is_sent {
                    metrics::due_doubled();
                }
                return Ok((Handled::NothingToDo, published));
            }
        };
        let published = publish(app, &item, now).await;
        if !matches!(published, Ok(PublishResult::Done | PublishResult::Failed)) {
            lease.give_back().await;
        }
        is_sent = true;
        match published? {
            PublishResult::Done => {
                let lateness = now.since(item.publish_at);
                metrics::due(lateness);
                let late_ms = millis(lateness);
                tracing::info!(scheduled = %id, post = %item.post, late_ms, "published a scheduled post");
                return Ok((Handled::Done, Some(item.post)));
            }
            PublishResult::Failed => {
                tracing::info!(scheduled = %id, "a scheduled post answers a post that is gone");
                return Ok((Handled::Done, None));
            }
            PublishResult::NoProfile => {
                tracing::info!(scheduled = %id, "the author of a scheduled post is gone");
                return Ok((Handled::NothingToDo, None));
            }
            PublishResult::IdTaken => {
                let post = PostId::new(item.publish_at, clock::random() as u16, id.author());
                let other = Scheduled { post, revision: item.revision + 1, ..*item.clone() };
                if let Some(kept) = HandOn::kept(&item.entry(), &other.entry()) {
                    app.scheduled.reschedule(&kept, &item, &other).await?;
                }
            }
            PublishResult::Raced => pause(tried).await,
        }
    }
    Err(StoreError::Unsettled { what: "the scheduled post" })
}

/// Publishes a scheduled post in its thread, or ends it if the post that it answers is gone.
async fn publish(app: &App, item: &Scheduled, now: Time) -> Result<PublishResult, StoreError> {
    let thread = match item.in_reply_to {
        None => Some(Thread::default()),
        // mutation: answered-at-publication
        Some(answered) => match app.posts.state(answered).await? {
            PostState::Published(post) => Some(post.thread.below(answered)),
            PostState::Deleted | PostState::Missing => None,
        },
    };
    let Some(thread) = thread else {
        let ended = app.scheduled.cancel(&app.users, item, ScheduledState::Failed, now).await?;
        return Ok(match ended {
            Cancelled::Done => PublishResult::Failed,
            Cancelled::Raced => PublishResult::Raced,
            Cancelled::NoProfile => PublishResult::NoProfile,
        });
    };
    // mutation: mention-at-publication
    let entities = bound(app, Unbound::of(&item.text), now).await?;
    let event = PostPublished::scheduled(item.post, now);
    let stores = (&app.users, &app.posts, app.settings.head_bounds);
    let (post, reply) = ((item, entities), (&thread, &app.replies));
    let commit = |sent| app.scheduled.publish(sent, stores, post, reply, now);
    announced(&app.outbox, &event, commit).await
}

/// The scheduled post of a message.
enum ToPublish<'a> {
    /// It waits, and nobody else publishes it during the lease.
    Item(Box<Scheduled>, EntryLease<'a>),
    /// It does not wait for this time. `published`: because it is this post now.
    Nothing { published: Option<PostId> },
}

/// Takes the scheduled post of a message, as soon as it is there and no other function handles it.
async fn take<'a>(
    app: &'a App,
    id: ScheduledId,
    message: &'a ItemDue,
    looked: &mut u32,
    now: Time,
) -> Result<ToPublish<'a>, StoreError> {
    let at = message.entry.at;
    loop {
        match app.scheduled.scheduled(id).await? {
            Some(item) if item.state != ScheduledState::Waiting => {
                // an earlier function may have published it, and died before it showed it
                let is_published = item.state == ScheduledState::Published && item.publish_at == at;
                return Ok(ToPublish::Nothing { published: is_published.then_some(item.post) });
            }
            Some(item) if item.publish_at == at => {
                let revision = item.revision.to_string();
                match EntryLease::take(app.due(), &message.entry, revision, now).await {
                    Some(lease) => return Ok(ToPublish::Item(Box::new(item), lease)),
                    None => look_again(HANDLED_ELSEWHERE, looked).await?,
                }
            }
            // the message can be ahead of the commit that makes or moves the item
            _ if message.may_be_ahead(now) => look_again("the scheduled post", looked).await?,
            _ => return Ok(ToPublish::Nothing { published: None }),
        }
    }
}
