//! The list of what a user marked.

use std::sync::{Mutex, MutexGuard, PoisonError};

use fanfold_core::{List, PostId, Time, UserId};
use fanfold_engines::list::{Page, fill};
use fanfold_engines::reading::ReadContext;
use fanfold_runtime::StoreError;
use fanfold_runtime::log::Chain;
use futures::future::try_join_all;

use super::items::remove_announced;
use super::kind::MarkKind;
use crate::posts::items::PostState;
use crate::present::{self, ShownPost, Viewer};
use crate::{App, Error};

/// Marks of posts that are gone, which one request removes.
const GONE_REMOVED_MAX: usize = 16;

/// The posts that this user marked.
#[derive(Debug, Clone, Copy)]
pub struct MarkedBy(pub MarkKind, pub UserId);

impl List for MarkedBy {
    type Place = MarkedPlace;

    fn code(&self) -> u8 {
        self.0.spec().code
    }

    fn owner(&self) -> u64 {
        self.1.0
    }
}

/// A place in the list of what a user marked: after the mark of this time and post.
pub type MarkedPlace = (Time, PostId);

/// Reads a page of the posts that the viewer marked, newest mark first. Posts that are gone or hidden are passed over and
/// replaced. Private marks of posts that are gone are removed; a public mark is removed with its post.
pub async fn marked(
    app: &App,
    viewer: &Viewer,
    kind: MarkKind,
    after: Option<MarkedPlace>,
    limit: usize,
    reading: &ReadContext,
) -> Result<Page<ShownPost, MarkedPlace>, Error> {
    let passed = Mutex::new(Vec::new());
    let read = |after, wanted| async move {
        Ok(Page::of_places(kind.of(app).of_user(viewer.user, after, wanted).await?, wanted))
    };
    let present = |posts: Vec<PostId>| {
        let passed = &passed;
        async move {
            let shown = present::posts(app, viewer, posts.clone(), reading).await?;
            let unseen = posts.into_iter().filter(|post| !shown.contains_key(post));
            locked(passed).extend(unseen.filter(|post| viewer.sees(post.author())));
            Ok(shown)
        }
    };
    let page = fill(after, limit, read, present).await?;
    // mutation: gone-removed
    if !kind.spec().is_public {
        let passed = std::mem::take(&mut *locked(&passed));
        if let Err(error) = forget_gone(app, kind, viewer.user, passed, reading.time()).await {
            tracing::warn!(error = %Chain(&error), "marks of posts that are gone stay");
        }
    }
    Ok(page)
}

/// Removes marks of those of these posts that are gone: at most [`GONE_REMOVED_MAX`], the others when the list is read again.
async fn forget_gone(
    app: &App,
    kind: MarkKind,
    user: UserId,
    mut passed: Vec<PostId>,
    now: Time,
) -> Result<(), StoreError> {
    passed.truncate(GONE_REMOVED_MAX);
    if passed.is_empty() {
        return Ok(());
    }
    // the others are of users without a profile
    let states = app.posts.states(&passed).await?;
    let is_there = |post: &PostId| matches!(states.get(post), Some(PostState::Published(_)));
    let removals = passed.into_iter().filter(|post| !is_there(post)).map(async |post| {
        match kind.of(app).mark(user, post).await? {
            Some(found) => remove_announced(app, kind, found.mark, now).await.map(drop),
            None => Ok(()),
        }
    });
    try_join_all(removals).await.map(drop)
}

fn locked(posts: &Mutex<Vec<PostId>>) -> MutexGuard<'_, Vec<PostId>> {
    posts.lock().unwrap_or_else(PoisonError::into_inner)
}
