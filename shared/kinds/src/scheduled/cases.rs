//! Schedule, list, read, change and cancel a post.

use fanfold_core::content::ContentError;
use fanfold_core::id::Identity;
use fanfold_core::kinds::LimitKind;
use fanfold_core::limits::{SCHEDULE_AHEAD_MAX, SCHEDULE_AHEAD_MIN, SCHEDULED_MAX, TRIES_MAX};
use fanfold_core::{List, PostId, ScheduledId, Time, UserId, text};
use fanfold_engines::due::{HandOn, OVERTAKEN_AFTER};
use fanfold_engines::list::Page;
use fanfold_runtime::StoreError;
use fanfold_runtime::clock::{self, Stopwatch};
use fanfold_runtime::retry::pause;

use super::items::{
    Cancelled, Rescheduled, ScheduleResult, Scheduled, ScheduledPlace, ScheduledState,
};
use crate::limit::within_limit;
use crate::people::must_belong_to;
use crate::posts::extras::ExtrasChange;
use crate::posts::items::PostKey;
use crate::posts::{NewPost, key_use, thread};
use crate::{App, Error};

/// A post to schedule.
#[derive(Debug, Clone, Copy)]
pub struct NewScheduled<'a> {
    /// The post, as it was sent.
    pub post: NewPost<'a>,
    /// The time of publication.
    pub publish_at: Time,
    /// The `Idempotency-Key`.
    pub key: Option<&'a str>,
}

/// A change of a scheduled post. What is `None` stays.
#[derive(Debug, Clone, Default)]
pub struct ScheduledEdit<'a> {
    pub text: Option<&'a str>,
    pub extras: ExtrasChange,
    pub publish_at: Option<Time>,
}

/// The scheduled posts of this user.
#[derive(Debug, Clone, Copy)]
pub struct ScheduledOf(pub UserId);

impl List for ScheduledOf {
    type Place = ScheduledPlace;

    fn code(&self) -> u8 {
        b's'
    }

    fn owner(&self) -> u64 {
        self.0.0
    }
}

/// Schedules a post. Returns when it is stored.
///
/// Requests with the same key return the same scheduled post for 24 hours. Fails as [`publish`](crate::posts::publish)
/// does, and with [`Error::TimeRange`] if the time is too near or too far, and with [`Error::ScheduledLimit`] if too many
/// posts of the author wait.
pub async fn schedule(
    app: &App,
    author: &Identity,
    new: NewScheduled<'_>,
    now: Time,
) -> Result<Scheduled, Error> {
    let watch = Stopwatch::start();
    let request = new.post.request(Some(new.publish_at));
    let key = new.key.map(|name| PostKey::new(author.user(), name, &request));
    let text = text::post_text(new.post.text)?;
    let post = (&*text, new.post.in_reply_to, new.post.extras);
    let reads = async {
        futures::try_join!(
            app.users.profile(author.user()),
            key_use(app, key.as_ref(), now),
            thread(app, author, new.post.in_reply_to, now),
        )
    };
    let reads =
        within_limit(&app.valkey, app.limits.of(LimitKind::Post), author.user(), now, reads);
    let (profile, earlier, thread) = reads.await?;
    must_belong_to(&profile.ok_or(Error::ProfileMissing)?, author)?;
    if let Some(earlier) = earlier {
        return made_earlier(app, earlier).await;
    }
    must_be_ahead(new.publish_at, now)?;
    // the post must be there now, and again at the time of publication
    thread?;
    for tried in 0..TRIES_MAX {
        let item = Scheduled::new(author.user(), post, new.publish_at, now);
        let entry = item.entry();
        let sent = app.due().hand_on(&entry, now + watch.elapsed()).await?;
        let stores = (&app.users, &app.posts);
        let schedule = app.scheduled.schedule(&sent, stores, author, &item, key.as_ref(), now);
        let made = match schedule.await {
            Err(StoreError::GaveUp { .. }) => {
                pause(tried).await;
                continue;
            }
            made => made?,
        };
        match made {
            ScheduleResult::Done => {
                tracing::info!(scheduled = %item.id, publish_at = %item.publish_at, "scheduled");
                app.due().indexed(&entry, sent.is_sent(), now).await;
                return Ok(item);
            }
            ScheduleResult::IdTaken => {}
            ScheduleResult::Refused => return Err(refused(app, author).await?),
            ScheduleResult::KeyUsed => {
                if let Some(earlier) = key_use(app, key.as_ref(), now).await? {
                    return made_earlier(app, earlier).await;
                }
            }
        }
    }
    Err(StoreError::GaveUp { doing: "finding a free id", tries: TRIES_MAX }.into())
}

/// Why the profile of an author refused another scheduled post.
async fn refused(app: &App, author: &Identity) -> Result<Error, Error> {
    let Some(profile) = app.users.profile(author.user()).await? else {
        return Ok(Error::ProfileMissing);
    };
    must_belong_to(&profile, author)?;
    Ok(Error::ScheduledLimit { max: SCHEDULED_MAX })
}

/// The scheduled post that a key made earlier.
async fn made_earlier(
    app: &App,
    earlier: crate::posts::items::PostKeyUse,
) -> Result<Scheduled, Error> {
    if !earlier.same_request {
        return Err(Error::KeyReused);
    }
    let id = ScheduledId(earlier.post);
    match app.scheduled.scheduled(id).await? {
        Some(item) if item.state != ScheduledState::Cancelled => Ok(item),
        _ => Err(Error::ScheduledCancelled(id)),
    }
}

/// Refuses a time that is too near or too far.
fn must_be_ahead(publish_at: Time, now: Time) -> Result<(), Error> {
    if publish_at < now + SCHEDULE_AHEAD_MIN || publish_at > now + SCHEDULE_AHEAD_MAX {
        let allowed = "at least a minute and at most 366 days ahead";
        return Err(Error::TimeRange { field: "publish_at", allowed });
    }
    Ok(())
}

/// A page of the caller's scheduled posts, soonest first.
pub async fn list(
    app: &App,
    caller: UserId,
    after: Option<ScheduledPlace>,
    limit: usize,
) -> Result<Page<Scheduled, ScheduledPlace>, Error> {
    Ok(app.scheduled.soonest(caller, after, limit).await?)
}

/// Reads a scheduled post of the caller, also for some days after it was published. Others, and cancelled ones, do not
/// exist.
pub async fn read(app: &App, caller: &Identity, id: ScheduledId) -> Result<Scheduled, Error> {
    if id.author() != caller.user() {
        return Err(Error::NoSuchScheduled(id));
    }
    match app.scheduled.scheduled(id).await? {
        Some(item) if item.state != ScheduledState::Cancelled => Ok(item),
        _ => Err(Error::NoSuchScheduled(id)),
    }
}

/// Changes the content or the time of a scheduled post that waits. Fails with [`Error::AlreadyPublished`] if publishing it was
/// first.
pub async fn change(
    app: &App,
    caller: &Identity,
    id: ScheduledId,
    change: ScheduledEdit<'_>,
    now: Time,
) -> Result<Scheduled, Error> {
    let watch = Stopwatch::start();
    let text = change.text.map(text::post_text).transpose()?;
    let reads = async {
        let profile = async { Ok(app.users.profile(caller.user()).await?) };
        futures::try_join!(read(app, caller, id), profile)
    };
    let (mut old, profile) =
        within_limit(&app.valkey, app.limits.of(LimitKind::Post), caller.user(), now, reads)
            .await?;
    must_belong_to(&profile.ok_or(Error::NoSuchScheduled(id))?, caller)?;
    // the time that it has may be near
    if let Some(publish_at) = change.publish_at.filter(|at| *at != old.publish_at) {
        must_be_ahead(publish_at, now)?;
    }
    for tried in 0..TRIES_MAX {
        must_wait(&old)?;
        // a repeated request, or one of several at the same time
        let Some(new) = changed(&old, text.as_deref(), &change)? else {
            // its writer may have died before it did this
            app.due().indexed(&old.entry(), false, now).await;
            return Ok(old);
        };
        let entry = new.entry();
        let sent = match HandOn::kept(&old.entry(), &entry) {
            Some(kept) => kept,
            None => app.due().hand_on(&entry, now + watch.elapsed()).await?,
        };
        match app.scheduled.reschedule(&sent, &old, &new).await {
            Ok(Rescheduled::Done) => {
                tracing::info!(scheduled = %id, publish_at = %new.publish_at, "changed a scheduled post");
                app.due().indexed(&entry, sent.is_sent(), now).await;
                return Ok(new);
            }
            Ok(Rescheduled::Raced) | Err(StoreError::GaveUp { .. }) => pause(tried).await,
            Err(error) => return Err(error.into()),
        }
        let before = old;
        old = read(app, caller, id).await?;
        // others changed the same fields after this request had read them: as if this one had been first
        let is_replaced = (change.text.is_none() || old.text != before.text)
            && (change.extras.is_empty() || old.extras != before.extras)
            && (change.publish_at.is_none() || old.publish_at != before.publish_at);
        if is_replaced && tried >= OVERTAKEN_AFTER {
            return Ok(new);
        }
    }
    Err(StoreError::Unsettled { what: "the scheduled post" }.into())
}

/// The scheduled post with this text, and otherwise changed. `None`: it is so already.
fn changed(
    old: &Scheduled,
    text: Option<&str>,
    change: &ScheduledEdit<'_>,
) -> Result<Option<Scheduled>, ContentError> {
    let text = text.unwrap_or(&old.text);
    let publish_at = change.publish_at.unwrap_or(old.publish_at);
    let extras = old.extras.changed(&change.extras)?;
    let post = match publish_at == old.publish_at {
        true if text == old.text && extras == old.extras => return Ok(None),
        true => old.post,
        false => PostId::new(publish_at, clock::random() as u16, old.id.author()),
    };
    let (text, revision) = (text.to_owned(), old.revision + 1);
    Ok(Some(Scheduled { text, extras, publish_at, post, revision, ..old.clone() }))
}

/// Cancels a scheduled post that waits, or removes one that failed. Cancelling it again succeeds. Fails with
/// [`Error::AlreadyPublished`] if publishing it was first.
pub async fn cancel(app: &App, caller: &Identity, id: ScheduledId, now: Time) -> Result<(), Error> {
    if id.author() != caller.user() {
        return Err(Error::NoSuchScheduled(id));
    }
    let reads =
        async { futures::try_join!(app.scheduled.scheduled(id), app.users.profile(caller.user())) };
    let reads =
        within_limit(&app.valkey, app.limits.of(LimitKind::Post), caller.user(), now, reads);
    let (mut item, profile) = reads.await?;
    must_belong_to(&profile.ok_or(Error::NoSuchScheduled(id))?, caller)?;
    for tried in 0..TRIES_MAX {
        let old = item.ok_or(Error::NoSuchScheduled(id))?;
        match old.state {
            ScheduledState::Cancelled => return Ok(()),
            ScheduledState::Failed => return Ok(app.scheduled.forget_failed(id).await?),
            ScheduledState::Waiting | ScheduledState::Published => {}
        }
        must_wait(&old)?;
        match app.scheduled.cancel(&app.users, &old, ScheduledState::Cancelled, now).await {
            Ok(Cancelled::Done) => {
                tracing::info!(scheduled = %id, "cancelled a scheduled post");
                return Ok(());
            }
            Ok(Cancelled::NoProfile) => return Err(Error::NoSuchScheduled(id)),
            Ok(Cancelled::Raced) | Err(StoreError::GaveUp { .. }) => pause(tried).await,
            Err(error) => return Err(error.into()),
        }
        item = app.scheduled.scheduled(id).await?;
    }
    Err(StoreError::Unsettled { what: "the scheduled post" }.into())
}

/// Refuses a scheduled post that was published or cancelled.
fn must_wait(item: &Scheduled) -> Result<(), Error> {
    match item.state {
        ScheduledState::Waiting => Ok(()),
        ScheduledState::Published => Err(Error::AlreadyPublished { post: item.post }),
        ScheduledState::Cancelled => Err(Error::NoSuchScheduled(item.id)),
        ScheduledState::Failed => Err(Error::ScheduledFailed(item.id)),
    }
}
