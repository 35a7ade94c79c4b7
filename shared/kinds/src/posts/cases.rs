//! Posts: publish, read and delete a post, and read its delivery status.

use fanfold_core::id::Identity;
use fanfold_core::kinds::LimitKind;
use fanfold_core::limits::TRIES_MAX;
use fanfold_core::{FeedId, PostId, Time, text};
use fanfold_engines::card::changed;
use fanfold_engines::outbox::announced;
use fanfold_engines::reading::ReadContext;
use fanfold_engines::valkey::{CardId, Valkey};
use fanfold_runtime::log::Chain;
use fanfold_runtime::{StoreError, clock};
use futures::future::join_all;

use super::entities::{Entities, Unbound};
use super::extras::Extras;
use super::items::{Created, Deleted, Post, PostKey, PostKeyUse, PostState};
use super::thread::Thread;
pub use crate::fanout::receipts::Receipt;
use crate::limit::within_limit;
use crate::marks::{MarkKind, MarkSet};
use crate::people::cards::UserCard;
use crate::people::must_belong_to;
use crate::posts::messages::{PostDeleted, PostPublished};
use crate::present::{self, ShownPost, Viewer};
use crate::{App, Error};

/// A post to publish.
#[derive(Debug, Clone, Copy)]
pub struct NewPost<'a> {
    /// The text, as it was sent.
    pub text: &'a str,
    /// The answered post, if the post is a reply.
    pub in_reply_to: Option<PostId>,
    /// What it has beside its text.
    pub extras: &'a Extras,
}

impl<'a> From<&'a str> for NewPost<'a> {
    fn from(text: &'a str) -> Self {
        Self { text, in_reply_to: None, extras: Extras::NONE }
    }
}

impl NewPost<'_> {
    /// A text that stands for the request, with every field. The fields before the text have no such character.
    pub(crate) fn request(&self, publish_at: Option<Time>) -> String {
        let Self { text, in_reply_to, extras } = *self;
        let extras = match extras.is_empty() {
            true => String::new(),
            false => extras.clone().into(),
        };
        let [at, answered] =
            [publish_at.map(|at| at.to_string()), in_reply_to.map(|id| id.to_string())];
        let [at, answered] = [at, answered].map(Option::unwrap_or_default);
        format!("{at}\0{answered}\0{extras}\0{text}")
    }
}

/// Publishes a post. Returns when the post is stored and its event is on the queue.
///
/// Requests with the same `key` return the same post for 24 hours. Fails with [`Error::Text`] if the text is not allowed,
/// with [`Error::NoSuchPost`] if the author does not see the answered post, with [`Error::KeyReused`] or [`Error::PostDeleted`] because of an earlier request with the key, and with
/// [`Error::ProfileMissing`], [`Error::IdentityClash`] or [`Error::TooManyRequests`] because of the author.
pub async fn publish(
    app: &App,
    author: &Identity,
    written: impl Into<NewPost<'_>>,
    key: Option<&str>,
    now: Time,
) -> Result<ShownPost, Error> {
    let written = written.into();
    let key = key.map(|name| PostKey::new(author.user(), name, &written.request(None)));
    let text = text::post_text(written.text)?;
    let reads = async {
        futures::try_join!(
            app.users.profile(author.user()),
            key_use(app, key.as_ref(), now),
            bound(app, Unbound::of(&text), now),
            thread(app, author, written.in_reply_to, now),
        )
    };
    let reads =
        within_limit(&app.valkey, app.limits.of(LimitKind::Post), author.user(), now, reads);
    let (profile, earlier, entities, thread) = reads.await?;
    let profile = profile.ok_or(Error::ProfileMissing)?;
    must_belong_to(&profile, author)?;
    let heads = profile.heads.clone();
    let profile = UserCard::from(profile);
    if let Some(earlier) = earlier {
        return made_earlier(app, author, profile, earlier).await;
    }
    let thread = thread?;
    for _ in 0..TRIES_MAX {
        let id = PostId::new(now, clock::random() as u16, author.user());
        let post = Post::new(id, text.clone(), entities.clone());
        let post = Post { thread: thread.clone(), extras: written.extras.clone(), ..post };
        let users = (&app.users, app.settings.head_bounds, &heads);
        let commit =
            |sent| app.posts.create(sent, users, author, (&post, &app.replies), key.as_ref(), now);
        match announced(&app.outbox, &PostPublished::new(id), commit).await? {
            Created::Created => {
                tracing::info!(post = %id, "published");
                show_published(&app.valkey, id).await;
                return Ok(ShownPost { post, author: profile, marks: MarkSet::default() });
            }
            Created::IdTaken => {}
            Created::NoProfile => return Err(Error::ProfileMissing),
            Created::KeyUsed => {
                if let Some(earlier) = key_use(app, key.as_ref(), now).await? {
                    return made_earlier(app, author, profile, earlier).await;
                }
            }
        }
    }
    Err(StoreError::GaveUp { doing: "finding a free post id", tries: TRIES_MAX }.into())
}

/// The entities of a text, with the present owners of its handles.
pub(crate) async fn bound(app: &App, text: Unbound, now: Time) -> Result<Entities, StoreError> {
    let owners = present::owners(app, text.handles(), &ReadContext::new(now)).await?;
    Ok(text.bind(&owners))
}

/// The thread of a post of this author that answers another one, or none. Fails with [`Error::NoSuchPost`] if the author does not
/// see the answered post.
pub(crate) async fn thread(
    app: &App,
    author: &Identity,
    in_reply_to: Option<PostId>,
    now: Time,
) -> Result<Result<Thread, Error>, StoreError> {
    let Some(post) = in_reply_to else { return Ok(Ok(Thread::default())) };
    let (viewer, reading) = (Viewer::of(author.user()), ReadContext::new(now));
    let answered = present::unmarked(app, &viewer, post, &reading).await?;
    Ok(answered.map(|shown| shown.post.thread.below(post)).ok_or(Error::NoSuchPost(post)))
}

/// The earlier use of the key of a request, if the request has a key.
pub(crate) async fn key_use(
    app: &App,
    key: Option<&PostKey>,
    now: Time,
) -> Result<Option<PostKeyUse>, StoreError> {
    match key {
        Some(key) => app.posts.key_use(key, now).await,
        None => Ok(None),
    }
}

/// The post that a key made earlier. Sends its event again, because the first answer may have been lost together with
/// the event.
async fn made_earlier(
    app: &App,
    caller: &Identity,
    author: UserCard,
    earlier: PostKeyUse,
) -> Result<ShownPost, Error> {
    if !earlier.same_request {
        return Err(Error::KeyReused);
    }
    let marks = MarkKind::of_post(app, caller.user(), earlier.post);
    match futures::try_join!(app.posts.state(earlier.post), marks)? {
        (PostState::Published(post), marks) => {
            app.outbox.send(&PostPublished::new(post.id)).await?;
            // the first request may have died before it did this
            show_published(&app.valkey, post.id).await;
            tracing::info!(post = %post.id, again = true, "published");
            Ok(ShownPost { post, author, marks })
        }
        (PostState::Deleted | PostState::Missing, _) => Err(Error::PostDeleted(earlier.post)),
    }
}

/// Makes the next request show a new post: in its author's own feeds, and in the number of the author's posts.
pub(crate) async fn show_published(valkey: &Valkey, id: PostId) {
    let ids = [CardId::user(id.author())];
    futures::join!(changed(valkey, &ids), push_to_author(valkey, id));
}

/// Pushes the post to its author's own feeds, so that the author's next request shows it. Dispatch does the same later,
/// so a failure only delays the post.
async fn push_to_author(valkey: &Valkey, id: PostId) {
    if let Err(error) = valkey.push_own(id).await {
        let error = Chain(&error);
        tracing::warn!(post = %id, %error, "not in the author's feeds yet: dispatch pushes it");
    }
}

/// Removes the post from its author's own feeds. Its event does the same later.
async fn remove_from_author(app: &App, id: PostId) {
    let ids = [id];
    let removals = FeedId::own(id.author()).map(|feed| app.valkey.remove(feed, &ids));
    for removed in join_all(removals).await {
        if let Err(error) = removed {
            let error = Chain(&error);
            tracing::warn!(post = %id, %error, "still in the author's feeds: dispatch removes it");
        }
    }
}

/// Reads one post with its author. Fails with [`Error::NoSuchPost`] if the post is deleted, its author has no profile,
/// or the author is hidden from the viewer.
pub async fn read(app: &App, viewer: &Viewer, id: PostId, now: Time) -> Result<ShownPost, Error> {
    let shown = present::post(app, viewer, id, &ReadContext::new(now)).await?;
    shown.ok_or(Error::NoSuchPost(id))
}

/// Reads the delivery status of a post. Only its author may: others get [`Error::NotYours`].
pub async fn delivery(app: &App, caller: &Identity, id: PostId) -> Result<Receipt, Error> {
    if id.author() != caller.user() {
        return Err(Error::NotYours { action: "see the delivery status of a post" });
    }
    let (state, profile) =
        futures::try_join!(app.posts.state(id), app.users.profile(caller.user()))?;
    match (state, profile) {
        (PostState::Published(_), Some(profile)) => must_belong_to(&profile, caller)?,
        _ => return Err(Error::NoSuchPost(id)),
    }
    Ok(app.receipts.receipt(id).await?)
}

/// Deletes a post. Only its author may: others get [`Error::NotYours`]. Deleting the post again succeeds.
pub async fn delete(app: &App, caller: &Identity, id: PostId, now: Time) -> Result<(), Error> {
    if id.author() != caller.user() {
        return Err(Error::NotYours { action: "delete a post" });
    }
    // the profile is read only to detect a newer version: its counter could then not be changed here
    let profile = app.users.profile(caller.user());
    within_limit(&app.valkey, app.limits.of(LimitKind::Post), caller.user(), now, profile).await?;
    let event = PostDeleted { post: id, deleted_at: now };
    let commit = |sent| app.posts.delete(sent, &app.users, caller, id, now);
    match announced(&app.outbox, &event, commit).await? {
        Deleted::Missing => return Err(Error::NoSuchPost(id)),
        Deleted::Deleted | Deleted::Already => {}
    }
    // mutation: deletion-marked
    let cards = [CardId::post(id), CardId::user(id.author())];
    futures::join!(changed(&app.valkey, &cards), remove_from_author(app, id));
    Ok(())
}
