//! Relations: follow, unfollow, and lists of followers and followed users.

use fanfold_core::id::Identity;
use fanfold_core::kinds::LimitKind;
use fanfold_core::limits::{FOLLOWING_MAX, TRIES_MAX};
use fanfold_core::{List, Partition, Relation, RelationChange, Time, UserId, UserRef};
use fanfold_engines::card::changed;
use fanfold_engines::list::{Page, fill};
use fanfold_engines::outbox::announced;
use fanfold_engines::reading::ReadContext;
use fanfold_engines::valkey::CardId;
use fanfold_runtime::StoreError;
use fanfold_runtime::retry::pause;

use super::items::{Committed, Ended, Ends, RelationRow};
use crate::follows::messages::RelationChanged;
use crate::limit::within_limit;
use crate::people::items::Profile;
use crate::present::{self, SeenUser, Viewer};
use crate::{App, Error};

/// Makes the caller follow or unfollow a user. A repeated call succeeds.
///
/// Fails with [`Error::FollowSelf`] if both are the same user, with [`Error::FollowingLimit`] if the caller already
/// follows [`FOLLOWING_MAX`] users, and with [`Error::ProfileMissing`] or [`Error::NoSuchUser`] if a profile is
/// missing.
pub async fn relate(
    app: &App,
    caller: &Identity,
    user: &UserRef,
    relation: Relation,
    now: Time,
) -> Result<(), Error> {
    let me = caller.user();
    let reads = within_limit(
        &app.valkey,
        app.limits.of(LimitKind::Relation),
        me,
        now,
        read_ends(app, me, user, now),
    );
    let Some(RowsRead { author, mine, row }) = reads.await? else {
        return Err(Error::NoSuchUser(user.clone()));
    };
    if author.id == me {
        return Err(Error::FollowSelf);
    }
    let mine = mine.ok_or(Error::ProfileMissing)?;
    let follows = |row: &RelationRow| row.change().relation == Relation::Following;
    if relation == Relation::Following
        && mine.following >= FOLLOWING_MAX
        && !row.as_ref().is_some_and(follows)
    {
        return Err(Error::FollowingLimit { max: FOLLOWING_MAX });
    }
    let cards = [CardId::user(me), CardId::relation(me, author.id)];
    let related = change_from(app, caller, author, row, relation, now).await?;
    // mutation: relation-marked
    changed(&app.valkey, &cards).await;
    match related {
        Related::Changed | Related::Unchanged => Ok(()),
        Related::NoProfile => Err(Error::ProfileMissing),
        Related::AuthorGone => Err(Error::NoSuchUser(user.clone())),
    }
}

/// What a change of a relation reads first.
struct RowsRead {
    author: Profile,
    /// The caller's profile.
    mine: Option<Profile>,
    /// The present relation.
    row: Option<RelationRow>,
}

/// Reads the author, the caller and their relation, at the same time. `None` if the author has no profile.
async fn read_ends(
    app: &App,
    me: UserId,
    user: &UserRef,
    now: Time,
) -> Result<Option<RowsRead>, StoreError> {
    let id = match user {
        UserRef::Id(id) => Some(*id),
        UserRef::Handle(handle) => present::owner(app, handle, &ReadContext::new(now)).await?,
    };
    let (users, graph) = (&app.users, &app.graph);
    if let Some(id) = id {
        let reads = futures::try_join!(users.profile(id), users.profile(me), graph.row(me, id));
        let (author, mine, row) = reads?;
        let is_meant = |author: &Profile| match user {
            UserRef::Id(_) => true,
            // the card of a handle may be old
            UserRef::Handle(handle) => author.handle == *handle,
        };
        match author.filter(is_meant) {
            Some(author) => return Ok(Some(RowsRead { author, mine, row })),
            None if matches!(user, UserRef::Id(_)) => return Ok(None),
            None => {}
        }
    }
    let Some(author) = users.find(user).await? else { return Ok(None) };
    let (mine, row) = futures::try_join!(users.profile(me), graph.row(me, author.id))?;
    Ok(Some(RowsRead { author, mine, row }))
}

/// The result of a change of a relation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Related {
    Changed,
    /// The relation already was in the wanted state.
    Unchanged,
    /// The follower has no profile, or it belongs to another identity.
    NoProfile,
    /// The author's profile was removed meanwhile.
    AuthorGone,
}

/// Changes a relation, and sends its event first. The event carries the time of the change.
///
/// `author` was read earlier and may have been removed since. That is safe: the removal of a user waits for writers
/// that read the profile, and then ends their relations too.
pub async fn change(
    app: &App,
    follower: &Identity,
    author: Profile,
    relation: Relation,
    now: Time,
) -> Result<Related, StoreError> {
    let row = app.graph.row(follower.user(), author.id).await?;
    change_from(app, follower, author, row, relation, now).await
}

/// Does what [`change`] does, from a relation that the caller has read.
async fn change_from(
    app: &App,
    follower: &Identity,
    mut author: Profile,
    mut old: Option<RelationRow>,
    relation: Relation,
    now: Time,
) -> Result<Related, StoreError> {
    for tried in 0..TRIES_MAX {
        if tried > 0 {
            old = app.graph.row(follower.user(), author.id).await?;
        }
        let last = old.as_ref().map(|old| old.change());
        if last.map_or(Relation::NotFollowing, |last| last.relation) == relation {
            return Ok(Related::Unchanged);
        }
        let change = RelationChange { relation, at: RelationChange::next_at(last, now) };
        let event =
            RelationChanged { follower: follower.user(), author: author.id, changed_at: change.at };
        let commit =
            |sent| app.graph.commit(sent, &app.users, follower, &author, old.as_ref(), change);
        match announced(&app.outbox, &event, commit).await? {
            Committed::Done => return Ok(Related::Changed),
            Committed::NoProfile => return Ok(Related::NoProfile),
            Committed::Raced => pause(tried).await,
        }
        match app.users.profile(author.id).await? {
            Some(profile) => author = profile,
            None => return Ok(Related::AuthorGone),
        }
    }
    Err(StoreError::GaveUp { doing: "changing a relation", tries: TRIES_MAX })
}

/// Ends a relation of a user who is being removed. Returns whether this call ended it.
pub async fn end(app: &App, ends: Ends, now: Time) -> Result<bool, StoreError> {
    let (Ends::Follower { follower, author } | Ends::Author { follower, author }) = ends;
    let mut counts_follower = true;
    for tried in 0..TRIES_MAX {
        let old = app.graph.row(follower, author).await?;
        let Some(old) = old.filter(|old| old.change().relation == Relation::Following) else {
            return Ok(false);
        };
        let at = RelationChange::next_at(Some(old.change()), now);
        let change = RelationChange { relation: Relation::NotFollowing, at };
        let event = RelationChanged { follower, author, changed_at: at };
        let commit =
            |sent| app.graph.commit_end(sent, &app.users, ends, &old, change, counts_follower);
        match announced(&app.outbox, &event, commit).await? {
            Ended::Done => return Ok(true),
            Ended::FollowerGone => counts_follower = false,
            Ended::Raced => pause(tried).await,
        }
    }
    Err(StoreError::GaveUp { doing: "ending a relation", tries: TRIES_MAX })
}

/// The users who follow this user.
#[derive(Debug, Clone, Copy)]
pub struct FollowersOf(pub UserId);

impl List for FollowersOf {
    type Place = UserPlace;

    fn code(&self) -> u8 {
        b'f'
    }

    fn owner(&self) -> u64 {
        self.0.0
    }
}

/// The users whom this user follows.
#[derive(Debug, Clone, Copy)]
pub struct FollowingOf(pub UserId);

impl List for FollowingOf {
    type Place = UserPlace;

    fn code(&self) -> u8 {
        b'g'
    }

    fn owner(&self) -> u64 {
        self.0.0
    }
}

/// A place in a list of users: after this user, in this partition of followers.
pub type UserPlace = (Partition, UserId);

/// A page of the users that a user follows.
pub async fn following(
    app: &App,
    viewer: &Viewer,
    owner: UserId,
    after: Option<UserPlace>,
    limit: usize,
    reading: &ReadContext,
) -> Result<Page<SeenUser, UserPlace>, Error> {
    let read = |after: Option<UserPlace>, wanted| async move {
        let after = after.map(|(_, user)| user);
        let page = app.graph.following_page(owner, after, wanted as i32).await?;
        Ok(page.with_places(|user| (Partition(0), user)))
    };
    Ok(fill(after, limit, read, |users| present::seen(app, viewer, users, reading)).await?)
}

/// The beginning of a partition of followers: in bucket order, this user would be the first.
const FIRST: UserId = UserId(0);

/// A page of a user's followers, partition by partition.
pub async fn followers(
    app: &App,
    viewer: &Viewer,
    owner: UserId,
    after: Option<UserPlace>,
    limit: usize,
    reading: &ReadContext,
) -> Result<Page<SeenUser, UserPlace>, Error> {
    // the partitions decide what is listed, so they do not come from a card
    let partitions = app.users.profile(owner).await?.map_or(0, |owner| owner.follower_partitions);
    let read = |after: Option<UserPlace>, wanted| async move {
        let (partition, after) = after.unwrap_or((Partition(0), FIRST));
        if partition.0 >= partitions {
            return Ok(Page { items: Vec::new(), next: None });
        }
        let page = app.graph.followers_page(owner, partition, Some(after), wanted as i32).await?;
        let page = page.with_places(|user| (partition, user));
        let next_partition = Partition(partition.0 + 1);
        let more = (next_partition.0 < partitions).then_some((next_partition, FIRST));
        Ok(Page { next: page.next.or(more), ..page })
    };
    Ok(fill(after, limit, read, |users| present::seen(app, viewer, users, reading)).await?)
}
