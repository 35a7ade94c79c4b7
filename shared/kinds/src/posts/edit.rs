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

use super::entities::Entities;
use super::items::{Edited, Post, PostState, Version};
use super::messages::PostEdited;
use crate::limit::within_limit;
use crate::people::must_belong_to;
use crate::present::{self, ShownPost, Viewer};
use crate::{App, Error};

/// Replaces the text of the caller's post. Returns when the next request of every reader shows it. A text that the post has is no
/// new version.
///
/// Fails with [`Error::OtherVersion`] if the post has none of the versions in `only`, with [`Error::VersionsLimit`] if it was edited
/// too often, with [`Error::NotYours`] or [`Error::NoSuchPost`], and as [`publish`](super::publish) does because of the text and
/// the author.
pub async fn edit(
    app: &App,
    author: &Identity,
    id: PostId,
    written: &str,
    only: Option<&[u64]>,
    now: Time,
) -> Result<ShownPost, Error> {
    if id.author() != author.user() {
        return Err(Error::NotYours { action: "edit a post" });
    }
    let text = text::post_text(written)?;
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
        if *text == old.text {
            // an earlier request may have died before it did this
            changed(&app.valkey, &[CardId::post(id)]).await;
            return shown(app, author, id, now).await;
        }
        let version = old.version + 1;
        if version > VERSIONS_MAX {
            return Err(Error::VersionsLimit { max: VERSIONS_MAX });
        }
        let entities = Entities::again(&app.users, &text, (&old.text, &old.entities)).await?;
        let (written, edited_at) = (text.clone().into_owned(), Some(now));
        let new = Post { text: written, entities, version, edited_at, ..old.clone() };
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
