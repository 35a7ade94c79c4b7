//! Dispatch takes a published post and decides how it reaches the author's followers.

use fanfold_core::limits::COMMIT_GRACE;
use fanfold_core::time::millis;
use fanfold_core::{PostId, Time};
use fanfold_engines::valkey::CardId;
use fanfold_runtime::clock::Deadline;
use fanfold_runtime::retry::look_again;
use fanfold_runtime::{StoreError, metrics};

pub use super::Dispatched;
use super::cut;
use super::push::log_reached;
use super::receipts::Plan;
use crate::App;
use crate::feeds::kept;
use crate::feeds::pulled::PulledState;
use crate::people::items::Profile;
use crate::posts::items::{Post, PostState};
use crate::posts::messages::PostPublished;
use crate::replies;
use crate::tags::messages::UpdateTagFeeds;
use crate::tags::tagging::hashes;

/// Percent of `PULL_FOLLOWERS` below which a pulled author is pushed again. The gap keeps authors near the
/// limit from changing back and forth.
const PULL_RELEASE_PERCENT: u64 = 80;

/// Pushes a post to the author's own feeds, and pushes it to the followers or sends messages that do. An event with a
/// part covers only the followers in that part.
///
/// Fails with [`StoreError::NotCommittedYet`] if the post is not committed yet; the event is then tried again.
pub async fn dispatch(
    app: &App,
    event: &PostPublished,
    now: Time,
    deadline: Deadline,
) -> Result<Dispatched, StoreError> {
    let post = event.post;
    let Some(published) = published(app, event, now).await? else {
        return Ok(Dispatched::NothingToDo);
    };
    // before it is pushed to the author's own feed
    // mutation: late-own
    kept::note_late(app, post.author(), post.time(), now).await?;
    if event.part.is_none() {
        // the number of the author's posts; the writer may have died before it did this
        app.valkey.cards_changed(&[CardId::user(post.author())]).await?;
        if let Some(answered) = published.thread.answered() {
            // mutation: reply-counted
            replies::events::request_count(app, answered).await?;
        }
        let is_public = app.settings.public.is_on() && published.thread.is_empty();
        if is_public || hashes(&published.entities).next().is_some() {
            // mutation: dispatched-tags
            app.outbox.send(&UpdateTagFeeds { post }).await?;
        }
    }
    let (dispatched, followers) = match event.part {
        Some(part) => (cut::cut_part(app, event, part, now, deadline).await?, None),
        // mutation: whole-dispatch
        None => whole(app, post, now, deadline).await?,
    };
    let lag = now.since(post.time());
    let (way, chunks, parts) = dispatched.log_fields();
    let is_part = event.part.is_some();
    tracing::info!(%post, way, followers, chunks, parts, is_part, lag_ms = millis(lag), "dispatched");
    Ok(dispatched)
}

/// The post, if it is committed and not deleted. The event goes out before the commit, so a missing post is read
/// several times, and again when the event returns. After [`COMMIT_GRACE`], the commit has failed.
async fn published(
    app: &App,
    event: &PostPublished,
    now: Time,
) -> Result<Option<Post>, StoreError> {
    let mut looked = 0;
    loop {
        match app.posts.state(event.post).await? {
            PostState::Published(post) => return Ok(Some(post)),
            PostState::Deleted => return Ok(None),
            PostState::Missing if now > event.time() + COMMIT_GRACE => return Ok(None),
            // mutation: post-committed
            PostState::Missing => look_again("the post", &mut looked).await?,
        }
    }
}

/// Dispatches a post to all followers. Also returns the number of followers, or `None` if the author has no profile.
async fn whole(
    app: &App,
    post: PostId,
    now: Time,
    deadline: Deadline,
) -> Result<(Dispatched, Option<u64>), StoreError> {
    // before the followers are read: later follows and rebuilds find the post in the author feed
    // mutation: author-feed-first
    app.valkey.push_own(post).await?;
    let Some(author) = author_of(app, post).await? else {
        return Ok((Dispatched::NothingToDo, None));
    };
    let way = way(app, post, &author).await?;
    let lag = now.since(post.time());
    let mark = match way {
        Way::Pull => {
            app.receipts.pulled(post, author.followers, now).await?;
            return Ok((Dispatched::Pulled, Some(author.followers)));
        }
        Way::Push { mark } => mark,
    };
    if author.followers <= app.settings.fanout.small {
        let reached = cut::push_whole(app, post, &author, mark.is_some(), now).await?;
        if let Some(mark) = mark {
            app.pulled.promote(author.id, mark).await?;
        }
        if app.receipts.done_at_once(post, author.followers, reached, now).await? {
            metrics::deliveries(reached, lag);
            metrics::complete(lag);
            log_reached(post, reached, lag);
            return Ok((Dispatched::Pushed(reached), Some(author.followers)));
        }
    }
    let plan = Plan { partitions: author.follower_partitions, followers: author.followers, mark };
    let dispatched = match app.receipts.plan(post, plan, now).await? {
        Some(plan) => cut::cut_whole(app, post, plan, now, deadline).await?,
        None => Dispatched::Again,
    };
    Ok((dispatched, Some(author.followers)))
}

/// The author of a published post. `None` if there is none, or the post was deleted. Waits until the profile knows the post: a
/// follower whose feed becomes live after that finds it.
async fn author_of(app: &App, post: PostId) -> Result<Option<Profile>, StoreError> {
    let mut looked = 0;
    loop {
        let author = app.users.profile(post.author()).await?;
        // mutation: head-committed
        if author.as_ref().is_none_or(|author| author.heads.know(post)) {
            return Ok(author);
        }
        if app.posts.state(post).await? == PostState::Deleted {
            return Ok(None);
        }
        look_again("the author's heads", &mut looked).await?;
    }
}

/// The way in which a post reaches the followers.
enum Way {
    /// It is pushed. With a mark, pointers to the author go out with it; the mark is the first post that carried them.
    Push { mark: Option<PostId> },
    /// It is merged in from the author feed when a follower reads.
    Pull,
}

/// Decides how a post reaches the followers. An author who crosses the threshold is marked, and pulled once every
/// follower has a pointer. The posts of an author who has lost many followers are pushed again.
async fn way(app: &App, post: PostId, author: &Profile) -> Result<Way, StoreError> {
    let limit = app.settings.fanout.pull;
    if limit == 0 {
        return Ok(Way::Push { mark: None });
    }
    let all = app.pulled.all().await?;
    let small = author.followers * 100 < limit * PULL_RELEASE_PERCENT;
    let mark = match all.get(&author.id) {
        Some(_) if small => {
            app.pulled.release(author.id).await?;
            None
        }
        Some(PulledState::Pulled) => return Ok(Way::Pull),
        // mutation: pointer-before-pull
        Some(PulledState::Marking(since)) => Some(*since),
        None if author.followers >= limit => app.pulled.mark(author.id, post, &all).await?,
        None => None,
    };
    Ok(Way::Push { mark })
}
