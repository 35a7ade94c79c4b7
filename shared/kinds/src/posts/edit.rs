//! Editing a post, and reading its versions.

use std::collections::BTreeSet;

use fanfold_core::id::Identity;
use fanfold_core::kinds::LimitKind;
use fanfold_core::limits::{TAGS_EVER_MAX, TRIES_MAX, VERSIONS_MAX};
use fanfold_core::{PostId, TagHash, Time, text};
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
use crate::marks::{MarkKind, MarkSet};
use crate::people::cards::UserCard;
use crate::people::must_belong_to;
use crate::present::{self, ShownPost, Viewer};
use crate::tags::tagging::hashes;
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
/// too often, with [`Error::TagsLimit`], with [`Error::NotYours`], [`Error::NoSuchPost`] or [`Error::IdentityClash`], with [`Error::Content`] if there is too
/// much beside the text, and with [`Error::Text`] because of the text.
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
    let (profile, (mut state, mut ever), marks) = own(app, author, id, now).await?;
    let shown = |post| ShownPost { post, author: profile.clone(), marks };
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
            return Ok(shown(old));
        }
        let version = old.version + 1;
        if version > VERSIONS_MAX {
            return Err(Error::VersionsLimit { max: VERSIONS_MAX });
        }
        let entities = match text == old.text {
            true => old.entities.clone(),
            false => bound(app, Unbound::again(text, (&old.text, &old.entities)), now).await?,
        };
        ever.extend(hashes(&entities));
        // mutation: tags-limit
        if ever.len() > TAGS_EVER_MAX {
            return Err(Error::TagsLimit { max: TAGS_EVER_MAX });
        }
        // another edit may have begun later, and committed first
        let edited_at = now.max(old.written_at());
        let event = PostEdited { post: id, version, edited_at };
        let (text, edited_at) = (text.to_owned(), Some(edited_at));
        let new = Post { text, entities, extras, version, edited_at, ..old.clone() };
        let commit = |sent| app.posts.edit(sent, &app.users, author, (&old, &new));
        match announced(&app.outbox, &event, commit).await? {
            Edited::Done => {
                // mutation: edit-marked
                changed(&app.valkey, &[CardId::post(id)]).await;
                tracing::info!(post = %id, version, "edited");
                return Ok(shown(new));
            }
            Edited::NoProfile => return Err(Error::NoSuchPost(id)),
            Edited::Raced => pause(tried).await,
        }
        (state, ever) = app.posts.state_and_tags(id).await?;
    }
    Err(StoreError::Unsettled { what: "the post" }.into())
}

/// The author, the caller's post with the tags that it ever had, and what the caller marked it with.
async fn own(
    app: &App,
    author: &Identity,
    id: PostId,
    now: Time,
) -> Result<(UserCard, (PostState, BTreeSet<TagHash>), MarkSet), Error> {
    let marks = MarkKind::of_post(app, author.user(), id);
    let reads = async {
        futures::try_join!(app.users.profile(author.user()), app.posts.state_and_tags(id), marks)
    };
    let limit = app.limits.of(LimitKind::Post);
    let reads = within_limit(&app.valkey, limit, author.user(), now, reads);
    let (profile, state, marks) = reads.await?;
    let profile = profile.ok_or(Error::NoSuchPost(id))?;
    must_belong_to(&profile, author)?;
    Ok((UserCard::from(profile), state, marks))
}

/// Reads all versions of a post, newest first. Fails with [`Error::NoSuchPost`] if the viewer does not see the post.
pub async fn history(
    app: &App,
    viewer: &Viewer,
    id: PostId,
    reading: &ReadContext,
) -> Result<Vec<Version>, Error> {
    let reads = futures::try_join!(present::sees(app, viewer, id, reading), app.posts.state(id));
    let (true, PostState::Published(post)) = reads? else { return Err(Error::NoSuchPost(id)) };
    // mutation: versions-after-post
    let mut earlier = app.posts.versions(id).await?;
    // an edit may have been between the two reads
    earlier.retain(|version| version.number < post.version);
    earlier.insert(0, post.present());
    Ok(earlier)
}
