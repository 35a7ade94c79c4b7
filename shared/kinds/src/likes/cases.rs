//! The list of who likes a post.

use fanfold_core::{List, PostId, Time, UserId};
use fanfold_engines::list::{Page, fill};
use fanfold_engines::reading::ReadContext;

use crate::present::{self, SeenUser, Viewer};
use crate::{App, Error};

/// The users who like this post.
#[derive(Debug, Clone, Copy)]
pub struct LikersOf(pub PostId);

impl List for LikersOf {
    type Place = LikerPlace;

    fn code(&self) -> u8 {
        b'k'
    }

    fn owner(&self) -> u64 {
        // both halves of the id, so that posts of one author differ
        (self.0.0 >> 64) as u64 ^ self.0.0 as u64
    }
}

/// A place in the list of who likes a post: after the like of this time and user.
pub type LikerPlace = (Time, UserId);

/// Reads a page of the users who like a post, newest like first. Fails with [`Error::NoSuchPost`] if the viewer does not
/// see the post.
pub async fn likers(
    app: &App,
    viewer: &Viewer,
    post: PostId,
    after: Option<LikerPlace>,
    limit: usize,
    reading: &ReadContext,
) -> Result<Page<SeenUser, LikerPlace>, Error> {
    if !present::sees(app, viewer, post, reading).await? {
        return Err(Error::NoSuchPost(post));
    }
    let read = |after, wanted| async move {
        Ok(Page::of_places(app.likes.likers(post, after, wanted).await?, wanted))
    };
    Ok(fill(after, limit, read, |users| present::seen(app, viewer, users, reading)).await?)
}
