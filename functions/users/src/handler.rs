//! Decides what becomes of profiles and relations.

use std::error::Error;

use fanfold_core::id::Identity;
use fanfold_core::limits::FOLLOWING_MAX;
use fanfold_core::message::RelationChanged;
use fanfold_core::{Cursor, CursorError, ListKind, Relation, UserId, text};
use fanfold_store::Config;
use fanfold_store::aws::SdkConfig;
use fanfold_store::dynamo::graph::{GraphStore, Related};
use fanfold_store::dynamo::users::{Profile, ProfilePut, UserStore};
use fanfold_store::http::extract::ListQuery;
use fanfold_store::http::view::UserList;
use fanfold_store::http::{Kind, Problem, UserRef};
use fanfold_store::sqs::Queue;

#[derive(Clone)]
pub struct App {
    pub users: UserStore,
    pub graph: GraphStore,
    pub events: Queue<RelationChanged>,
}

impl App {
    pub fn new(sdk: &SdkConfig, config: &Config) -> Result<Self, Box<dyn Error + Send + Sync>> {
        Ok(Self {
            users: UserStore::new(sdk, config)?,
            graph: GraphStore::new(sdk, config)?,
            events: Queue::new(sdk, config, "GRAPH_EVENTS_QUEUE_URL")?,
        })
    }
}

/// Makes (true) or changes the caller's profile.
pub async fn put_profile(
    app: &App,
    caller: &Identity,
    handle: &str,
    name: &str,
) -> Result<(bool, Profile), Problem> {
    let (handle, name) = (text::handle(handle)?, text::name(name)?);
    match app.users.put_profile(caller, handle, name).await? {
        ProfilePut::Created(profile) => Ok((true, profile)),
        ProfilePut::Changed(profile) => Ok((false, profile)),
        ProfilePut::HandleTaken => {
            Err(Problem::new(Kind::HandleTaken, format!("@{handle} is somebody else")))
        }
        ProfilePut::BeingDropped => {
            Err(Problem::new(Kind::Unavailable, "what was here before is still being dropped"))
        }
        ProfilePut::IdentityClash => {
            Err(Problem::new(Kind::IdentityClash, "this id's profile is somebody else's"))
        }
    }
}

pub async fn find(app: &App, user: &UserRef) -> Result<Profile, Problem> {
    app.users.find(user).await?.ok_or_else(|| Problem::no_such_user(user))
}

/// Brings the relation of the caller to a user into a state. Again is fine.
pub async fn relate(
    app: &App,
    caller: &Identity,
    user: &UserRef,
    relation: Relation,
    now_ms: u64,
) -> Result<(), Problem> {
    let (me, author) = (caller.user(), find(app, user).await?);
    if author.id == me {
        return Err(Problem::new(Kind::FollowSelf, "your own posts are in your feed anyway"));
    }
    let mine = app.users.profile(me).await?.ok_or_else(Problem::profile_missing)?;
    if relation == Relation::Following && mine.following >= FOLLOWING_MAX {
        let known = app.graph.relation(me, author.id).await?;
        if known.is_none_or(|change| change.relation != Relation::Following) {
            let detail = format!("{FOLLOWING_MAX} users can be followed");
            return Err(Problem::new(Kind::FollowingLimit, detail));
        }
    }
    match app.graph.relate(&app.users, caller, author, relation, now_ms, &app.events).await? {
        Related::Changed | Related::Unchanged => Ok(()),
        Related::NoProfile => Err(Problem::profile_missing()),
    }
}

/// A page of those a user follows.
pub async fn following(app: &App, user: &UserRef, query: &ListQuery) -> Result<UserList, Problem> {
    let (owner, limit) = (find(app, user).await?.id, query.limit()?);
    let (_, mut after) = start(query, ListKind::Following, owner)?;
    let mut found = Vec::new();
    loop {
        let wanted = (limit + 1 - found.len()) as i32;
        let (page, next) = app.graph.following_page(owner, after, wanted).await?;
        found.extend(page.into_iter().map(|user| (0, user)));
        after = next;
        if after.is_none() || found.len() > limit {
            return list(app, ListKind::Following, owner, found, limit).await;
        }
    }
}

/// A page of a user's followers, partition by partition.
pub async fn followers(app: &App, user: &UserRef, query: &ListQuery) -> Result<UserList, Problem> {
    let (profile, limit) = (find(app, user).await?, query.limit()?);
    let (mut shard, mut after) = start(query, ListKind::Followers, profile.id)?;
    let mut found = Vec::new();
    while shard < profile.follower_shards && found.len() <= limit {
        let wanted = (limit + 1 - found.len()) as i32;
        let page = app.graph.followers_page(profile.id, shard, after, wanted).await?;
        found.extend(page.followers.into_iter().map(|user| (shard, user)));
        after = page.next;
        if after.is_none() {
            shard += 1;
        }
    }
    list(app, ListKind::Followers, profile.id, found, limit).await
}

fn start(
    query: &ListQuery,
    kind: ListKind,
    owner: UserId,
) -> Result<(u16, Option<UserId>), Problem> {
    match query.cursor.as_deref().map(|text| Cursor::decode(text, kind, owner)).transpose()? {
        None => Ok((0, None)),
        Some(Cursor::User { shard, user }) => Ok((shard, Some(user))),
        Some(Cursor::Feed { .. }) => Err(CursorError::Foreign.into()),
    }
}

/// The first `limit` of those found, with their profiles, and a cursor if there are more.
async fn list(
    app: &App,
    kind: ListKind,
    owner: UserId,
    mut found: Vec<(u16, UserId)>,
    limit: usize,
) -> Result<UserList, Problem> {
    let more = found.len() > limit;
    found.truncate(limit);
    let next_cursor = found
        .last()
        .filter(|_| more)
        .map(|(shard, user)| Cursor::User { shard: *shard, user: *user }.encode(kind, owner));
    let users: Vec<UserId> = found.into_iter().map(|(_, user)| user).collect();
    let mut profiles = app.users.profiles(&users).await?;
    let items = users.iter().filter_map(|user| profiles.remove(user)).map(Into::into).collect();
    Ok(UserList { items, next_cursor })
}
