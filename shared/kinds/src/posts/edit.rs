//! Editing a post, and reading its versions.

use fanfold_core::id::Identity;
use fanfold_core::kinds::LimitKind;
use fanfold_core::limits::{TRIES_MAX, VERSIONS_MAX};
use fanfold_core::{PostId, Time, text};
use fanfold_engines::card::changed;
use fanfold_engines::outbox::announced;
use fanfold_engines::reading::ReadContext;
use fanfold_engines::valkey::CardId;
use fanfold_runtime::StoreError;
use fanfold_runtime::retry::pause;

use super::cases::bound;
use super::entities::Unbound;
use super::extras::ExtrasChange;
use super::items::{Edited, Post, PostState, Version};
use super::messages::PostEdited;
use crate::limit::within_limit;
use crate::people::must_belong_to;
use crate::present::{self, ShownPost, Viewer};
use crate::{App, Error};

/// A change of a post. What is `None` stays.
#[derive(Debug, Clone, Default)]
pub struct PostEdit<'a> {
    pub text: Option<&'a str>,
    pub extras: ExtrasChange,
}

impl<'a> From<&'a str> for PostEdit<'a> {
    fn from(text: &'a str) -> Self {
        Self { text: Some(text), extras: ExtrasChange::default() }
    }
}

/// Changes the caller's post. Returns when the next request of every reader shows it. A change to what the post is already makes no
/// new version.
///
/// Fails with [`Error::OtherVersion`] if the post has none of the versions in `only`, with [`Error::VersionsLimit`] if it was edited
/// too often, with [`Error::NotYours`] or [`Error::NoSuchPost`], with [`Error::Content`] if there is too much beside the text, and as
/// [`publish`](super::publish) does because of the text and the author.
pub async fn edit(
    app: &App,
    author: &Identity,
    id: PostId,
    edit: impl Into<PostEdit<'_>>,
    only: Option<&[u64]>,
    now: Time,
) -> Result<ShownPost, Error> {
    if id.author() != author.user() {
        return Err(Error::NotYours { action: "edit a post" });
    }
    let PostEdit { text, extras } = edit.into();
    let text = text.map(text::post_text).transpose()?;
    let reads = async { futures::try_join!(app.users.profile(author.user()), app.posts.state(id)) };
    let limit = app.limits.of(LimitKind::Post);
    let reads = within_limit(&app.valkey, limit, author.user(), now, reads);
    let (profile, mut state) = reads.await?;
    must_belong_to(&profile.ok_or(Error::NoSuchPost(id))?, author)?;
    for tried in 0..TRIES_MAX {
        let PostState::Published(old) = state else { return Err(Error::NoSuchPost(id)) };
        if only.is_some_and(|only| !only.contains(&old.version)) {
            return Err(Error::OtherVersion { version: old.version });
        }
        let text = text.as_deref().unwrap_or(&old.text);
        let extras = old.extras.changed(&extras)?;
        if *text == old.text && extras == old.extras {
            // an earlier request may have died before it did this
            changed(&app.valkey, &[CardId::post(id)]).await;
            return shown(app, author, id, now).await;
        }
        let version = old.version + 1;
        if version > VERSIONS_MAX {
            return Err(Error::VersionsLimit { max: VERSIONS_MAX });
        }
        let entities = match text == old.text {
            true => old.entities.clone(),
            false => bound(app, Unbound::again(text, (&old.text, &old.entities)), now).await?,
        };
        let (text, edited_at) = (text.to_owned(), Some(now));
        let new = Post { text, entities, extras, version, edited_at, ..old.clone() };
        let event = PostEdited { post: id, version, edited_at: now };
        let commit = |sent| app.posts.edit(sent, &app.users, author, (&old, &new));
        match announced(&app.outbox, &event, commit).await? {
            Edited::Done => {
                // mutation: edit-marked
                changed(&app.valkey, &[CardId::post(id)]).await;
                tracing::info!(post = %id, version, "edited");
                return shown(app, author, id, now).await;
            }
            Edited::NoProfile => return Err(Error::NoSuchPost(id)),
            Edited::Raced => pause(tried).await,
        }
        state = app.posts.state(id).await?;
    }
    Err(StoreError::Unsettled { what: "the post" }.into())
}

async fn shown(app: &App, author: &Identity, id: PostId, now: Time) -> Result<ShownPost, Error> {
    let (viewer, reading) = (Viewer::of(author.user()), ReadContext::new(now));
    present::post(app, &viewer, id, &reading).await?.ok_or(Error::NoSuchPost(id))
}

/// Reads all versions of a post, newest first. Fails with [`Error::NoSuchPost`] if the viewer does not see the post.
pub async fn history(
    app: &App,
    viewer: &Viewer,
    id: PostId,
    reading: &ReadContext,
) -> Result<Vec<Version>, Error> {
    let reads = futures::try_join!(
        present::sees(app, viewer, id, reading),
        app.posts.state(id),
        app.posts.versions(id)
    );
    let (true, PostState::Published(post), mut earlier) = reads? else {
        return Err(Error::NoSuchPost(id));
    };
    // an edit may have been between the two reads
    earlier.retain(|version| version.number < post.version);
    earlier.insert(0, post.present());
    Ok(earlier)
}
