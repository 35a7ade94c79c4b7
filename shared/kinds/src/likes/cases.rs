//! Likes: like a post, take the like back, list who likes a post and what a user likes.

use fanfold_core::id::Identity;
use fanfold_core::kinds::LimitKind;
use fanfold_core::limits::{LIST_QUERY_MIN, PAGE_ROUNDS_MAX, TRIES_MAX};
use fanfold_core::{PostId, Time, UserId};
use fanfold_engines::card::changed;
use fanfold_engines::outbox::announced;
use fanfold_engines::reading::ReadContext;
use fanfold_engines::valkey::CardId;
use fanfold_runtime::retry::pause;
use fanfold_runtime::{StoreError, clock};

use super::items::{GivenLike, Like, LikePut};
use crate::likes::messages::LikeChanged;
use crate::limit::within_limit;
use crate::people::must_belong_to;
use crate::present::{self, ShownPost, UserPage, UserPageBuilder, Viewer};
use crate::{App, Error};

/// Makes the caller like a post, or takes the like back. A repeated call succeeds.
///
/// Fails with [`Error::NoSuchPost`] if the caller does not see the post, and with [`Error::ProfileMissing`],
/// [`Error::IdentityClash`] or [`Error::TooManyWrites`] because of the caller. A like can be taken back also if its post is
/// gone or hidden. The post is looked up by its card, because very many users may like one post at the same time.
pub async fn put(
    app: &App,
    caller: &Identity,
    post: PostId,
    liked: bool,
    now: Time,
) -> Result<(), Error> {
    let viewer = Viewer::of(caller.user());
    let reading = ReadContext::new(now);
    let reads = async {
        futures::try_join!(
            present::sees(app, &viewer, post, &reading),
            app.users.profile(caller.user()),
            app.likes.like(caller.user(), post),
        )
    };
    let reads =
        within_limit(&app.valkey, app.limits.of(LimitKind::Like), caller.user(), now, reads);
    let (sees, profile, old) = reads.await?;
    let profile = profile.ok_or(Error::ProfileMissing)?;
    must_belong_to(&profile, caller)?;
    if !sees && (liked || old.is_none()) {
        return Err(Error::NoSuchPost(post));
    }
    change(app, caller, post, old, liked, now).await
}

/// Changes the caller's like, from a like that was read, and marks the caller's card.
async fn change(
    app: &App,
    caller: &Identity,
    post: PostId,
    mut old: Option<GivenLike>,
    liked: bool,
    now: Time,
) -> Result<(), Error> {
    let user = caller.user();
    for tried in 0..TRIES_MAX {
        if tried > 0 {
            old = app.likes.like(user, post).await?;
        }
        let put = match &old {
            Some(GivenLike { like, .. }) if !liked => {
                let event = LikeChanged { user, post, token: None, changed_at: now };
                let commit = |sent| app.likes.take_back(sent, &app.users, caller, *like);
                announced(&app.outbox, &event, commit).await?
            }
            None if liked => {
                let token = format!("{:016x}", clock::random());
                let event = LikeChanged { user, post, token: Some(token.clone()), changed_at: now };
                let given = GivenLike { like: Like { user, post, at: now }, token };
                let commit = |sent| app.likes.add(sent, &app.users, caller, given);
                announced(&app.outbox, &event, commit).await?
            }
            Some(_) | None => LikePut::Done,
        };
        match put {
            LikePut::Done => {
                // also if nothing changed now: an earlier request may have died before it did this
                // mutation: like-marked
                changed(&app.valkey, &[CardId::likes(user)]).await;
                return Ok(());
            }
            LikePut::NoProfile => return Err(Error::ProfileMissing),
            LikePut::Raced => pause(tried).await,
        }
    }
    Err(StoreError::GaveUp { doing: "changing a like", tries: TRIES_MAX }.into())
}

/// A place in the list of what a user likes: after the like of this time and post.
pub type LikedPlace = (Time, PostId);

/// A place in the list of who likes a post: after the like of this time and user.
pub type LikerPlace = (Time, UserId);

/// A page of liked posts, newest like first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LikedPage {
    pub posts: Vec<ShownPost>,
    /// The next page begins after this place. None: no likes are left.
    pub next_after: Option<LikedPlace>,
}

/// Reads a page of the posts that the viewer likes, newest like first. Posts that are gone or hidden are passed over and
/// replaced.
pub async fn liked(
    app: &App,
    viewer: &Viewer,
    mut after: Option<LikedPlace>,
    limit: usize,
    reading: &ReadContext,
) -> Result<LikedPage, Error> {
    let mut found: Vec<(LikedPlace, ShownPost)> = Vec::new();
    for _ in 0..PAGE_ROUNDS_MAX {
        // one more than asked for shows whether there is a next page; some posts may be gone
        let wanted = (limit + 1 - found.len()).max(LIST_QUERY_MIN);
        let rows = app.likes.liked(viewer.user, after, wanted).await?;
        let is_end = rows.len() < wanted;
        let ids: Vec<PostId> = rows.iter().map(|(_, post)| *post).collect();
        after = rows.last().copied();
        let mut shown = present::posts(app, viewer, &ids, reading).await?;
        let rows = rows.into_iter();
        found.extend(rows.filter_map(|place| Some((place, shown.remove(&place.1)?))));
        if is_end || found.len() > limit {
            let more = found.len() > limit;
            found.truncate(limit);
            let next_after = found.last().map(|(place, _)| *place).filter(|_| more);
            let posts = found.into_iter().map(|(_, post)| post).collect();
            return Ok(LikedPage { posts, next_after });
        }
    }
    let posts = found.into_iter().map(|(_, post)| post).collect();
    Ok(LikedPage { posts, next_after: after })
}

/// Reads a page of the users who like a post, newest like first. Fails with [`Error::NoSuchPost`] if the viewer does not
/// see the post.
pub async fn likers(
    app: &App,
    viewer: &Viewer,
    post: PostId,
    mut after: Option<LikerPlace>,
    limit: usize,
    reading: &ReadContext,
) -> Result<UserPage<LikerPlace>, Error> {
    if !present::sees(app, viewer, post, reading).await? {
        return Err(Error::NoSuchPost(post));
    }
    let mut list = UserPageBuilder::new(app, viewer, limit, reading);
    for _ in 0..PAGE_ROUNDS_MAX {
        let wanted = list.wanted() as usize;
        let rows = app.likes.likers(post, after, wanted).await?;
        let places: Vec<(LikerPlace, UserId)> = rows.iter().map(|row| (*row, row.1)).collect();
        list.add(&places).await?;
        after = rows.last().copied();
        if rows.len() < wanted || list.is_full() {
            return Ok(list.end(None));
        }
    }
    Ok(list.end(after))
}
