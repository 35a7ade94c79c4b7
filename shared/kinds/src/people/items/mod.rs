//! Profiles, handles and counters.

mod about;
mod drop;
mod handles;
mod heads;
mod newest;
mod put;

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use fanfold_core::fanout::FirstPartitions;
use fanfold_core::id::Identity;
use fanfold_core::kinds::{ItemKind, Pk};
use fanfold_core::limits::{BOARDS_MAX, SCHEDULED_MAX, TIMERS_MAX_DEFAULT, TIMERS_MAX_MAX};
use fanfold_core::{Handle, UserId};
use fanfold_engines::table::{Item, Stored, Table, Write, number, pk_only, read, text};
use fanfold_runtime::config::{Config, ConfigError};
use fanfold_runtime::error::StoreError;
use serde::{Deserialize, Serialize};

use crate::follows::partitions::first_partitions;
pub use drop::{DropBegun, Dropping};
pub use heads::{HeadBounds, HeadChange, Heads};
pub use newest::AuthorHeads;

/// The profile of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// The user's id.
    pub id: UserId,
    /// The handle, without `@`.
    pub handle: Handle,
    /// The name that is shown.
    pub name: String,
    /// The number of posts.
    pub posts: u64,
    /// The number of followers at the last count.
    pub followers: u64,
    /// The number of followed authors.
    pub following: u64,
    /// The number of changes of `following`. While it stays, the user follows the same authors.
    pub relation_changes: u64,
    /// The number of follows and unfollows that `followers` includes. A total with more changes is newer.
    pub followers_changes: u64,
    /// The number of partitions of the followers.
    pub follower_partitions: u16,
    /// The number of changes of the handle and the name. The first profile counts as one.
    pub revision: u64,
    /// The number of scheduled posts that wait.
    pub scheduled: u64,
    /// The number of timers.
    pub timers: u64,
    /// The number of boards.
    pub boards: u64,
    /// The newest posts.
    pub heads: Heads,
    identity: String,
}

/// The result of a count of an author's followers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Total {
    /// The number of followers.
    pub followers: u64,
    /// The number of follows and unfollows that it includes.
    pub changes: u64,
    /// The number of partitions for this many followers.
    pub partitions: u16,
}

impl Profile {
    /// The hash of the issuer and the subject of the user's tokens.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// Whether this profile belongs to this identity. Two identities can have the same [`UserId`].
    pub fn is_of(&self, identity: &Identity) -> bool {
        self.identity == identity_text(identity)
    }
}

/// The result of storing a profile.
#[derive(Debug, PartialEq, Eq)]
pub enum ProfilePut {
    /// The profile is new.
    Created(Profile),
    /// The profile existed and was changed.
    Changed(Profile),
    /// The handle belongs to another user.
    HandleTaken,
    /// The user's earlier profile is still being dropped.
    BeingDropped,
    /// Another identity with the same id has a profile.
    IdentityClash,
    /// The profile changed since it was read.
    Raced,
}

#[derive(Serialize, Deserialize)]
struct ProfileItem {
    v: u32,
    user: UserId,
    identity: String,
    handle: Handle,
    name: String,
    posts: u64,
    followers: u64,
    following: u64,
    relation_changes: u64,
    followers_changes: u64,
    follower_partitions: u16,
    revision: u64,
    scheduled: u64,
    timers: u64,
    boards: u64,
    /// Written here, and read with the set of heads.
    head_floor: u64,
}

#[derive(Serialize, Deserialize)]
struct HandleItem {
    v: u32,
    user: UserId,
}

impl Stored for ProfileItem {
    const V: u32 = 1;
}

impl Stored for HandleItem {
    const V: u32 = 1;
}

impl Profile {
    /// The profile in an item.
    fn read(doing: &'static str, item: Item) -> Result<Self, StoreError> {
        let heads = Heads::of(doing, &item)?;
        let item: ProfileItem = read(doing, item)?;
        Ok(Self {
            id: item.user,
            handle: item.handle,
            name: item.name,
            posts: item.posts,
            followers: item.followers,
            following: item.following,
            relation_changes: item.relation_changes,
            followers_changes: item.followers_changes,
            follower_partitions: item.follower_partitions,
            revision: item.revision,
            scheduled: item.scheduled,
            timers: item.timers,
            boards: item.boards,
            heads,
            identity: item.identity,
        })
    }
}

/// The condition that the item is a profile. The note of a user who is being dropped has no handle.
const HAS_PROFILE: &str = "attribute_exists(handle) AND v <= :v";

fn has_profile(item: &Item) -> bool {
    item.contains_key("handle")
}

/// The profiles and handles in the users table.
#[derive(Clone)]
pub struct UserStore {
    table: Table,
    /// Partitions of a new author's followers.
    first_partitions: FirstPartitions,
    /// The most timers of one user.
    timers_max: u64,
}

impl UserStore {
    /// Reads the name of the table, `FOLLOWER_PARTITIONS` and `TIMERS_MAX`. An error names the setting.
    pub fn new(table: Table, config: &Config) -> Result<Self, ConfigError> {
        Ok(Self {
            table,
            first_partitions: first_partitions(config)?,
            timers_max: config.number("TIMERS_MAX", TIMERS_MAX_DEFAULT, 1..=TIMERS_MAX_MAX)?,
        })
    }

    /// The table, for the counters of other kinds.
    pub(crate) fn table(&self) -> &Table {
        &self.table
    }

    /// The most timers of one user.
    pub fn timers_max(&self) -> u64 {
        self.timers_max
    }

    /// The write that counts another timer, on the conditions of [`Counter::add`] and that there are not too many.
    pub(crate) fn add_timer(&self, owner: &Identity) -> Write {
        add_within(&self.table, &[(Counter::Timers, 1, Some(self.timers_max))], Owner::Is(owner))
    }

    /// The profile of a user. `None` if the user has none, or is being dropped.
    pub async fn profile(&self, user: UserId) -> Result<Option<Profile>, StoreError> {
        let doing = "reading a profile";
        let item = self.get(doing, profile_pk(user)).await?;
        item.filter(has_profile).map(|item| Profile::read(doing, item)).transpose()
    }

    /// The profiles of several users. Users without a profile are left out.
    pub async fn profiles(&self, users: &[UserId]) -> Result<HashMap<UserId, Profile>, StoreError> {
        let doing = "reading profiles";
        let mut users = users.to_vec();
        users.sort_unstable();
        users.dedup();
        let keys = users.into_iter().map(|user| pk_only(&profile_pk(user))).collect();
        let mut profiles = HashMap::new();
        let items = self.table.get_all(doing, keys).await?;
        for item in items.into_iter().filter(has_profile) {
            let profile = Profile::read(doing, item)?;
            profiles.insert(profile.id, profile);
        }
        Ok(profiles)
    }

    /// Writes the number of an author's followers. Returns false if the profile has a total of more changes or more
    /// partitions by now, or does not exist; then nothing is written.
    pub async fn put_total(&self, profile: &Profile, total: Total) -> Result<bool, StoreError> {
        let update = self
            .table
            .update(pk_only(&profile_pk(profile.id)))
            .expression(
                "SET followers = :followers, followers_changes = :changes, \
                 follower_partitions = :partitions",
            )
            .condition(
                // mutation: total-order
                "attribute_exists(handle) AND followers_changes <= :changes AND \
                 follower_partitions <= :partitions",
            )
            .value(":followers", number(total.followers))
            .value(":changes", number(total.changes))
            .value(":partitions", number(total.partitions));
        let put = update.changed("writing the number of followers", ProfileItem::V).await?;
        Ok(put.is_some())
    }

    /// The condition that a profile belongs to this identity, for a transaction that does not write the profile.
    pub(crate) fn belongs_to(&self, identity: &Identity) -> Write {
        self.table
            .check(pk_only(&profile_pk(identity.user())))
            .condition("#identity = :identity AND v <= :v")
            .name("#identity", "identity")
            .value(":identity", text(identity_text(identity)))
            .value(":v", number(ProfileItem::V))
    }

    async fn get(&self, doing: &'static str, pk: Pk) -> Result<Option<Item>, StoreError> {
        self.table.get(doing, pk_only(&pk)).await
    }
}

/// A counter in a profile that only actions of its own user change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counter {
    /// The number of posts.
    Posts,
    /// The number of followed authors.
    Following,
    /// The number of scheduled posts that wait.
    Scheduled,
    /// The number of timers.
    Timers,
    /// The number of boards.
    Boards,
}

/// The profile that a counter is in.
#[derive(Debug, Clone, Copy)]
pub enum Owner<'a> {
    /// The profile must belong to this identity.
    Is(&'a Identity),
    /// The profile of this user, of any identity.
    User(UserId),
}

impl Counter {
    fn attribute(self) -> &'static str {
        match self {
            Self::Posts => "posts",
            Self::Following => "following",
            Self::Scheduled => "scheduled",
            Self::Timers => "timers",
            Self::Boards => "boards",
        }
    }

    /// The greatest value that adding to the counter may give. `None`: no limit.
    fn max(self) -> Option<u64> {
        match self {
            // the limit of timers is a setting: see [`UserStore::add_timer`]
            Self::Posts | Self::Following | Self::Timers => None,
            Self::Scheduled => Some(SCHEDULED_MAX),
            Self::Boards => Some(BOARDS_MAX),
        }
    }

    /// The write that adds `by` to the counter, on condition that the profile exists in a known version, and that the
    /// counter stays within its limit.
    pub fn add(self, table: &Table, by: i64, owner: Owner<'_>) -> Write {
        add_within(table, &[(self, by, self.max())], owner)
    }
}

/// The write that adds to counters of one profile, with their greatest values, on the conditions of [`Counter::add`].
fn add_within(table: &Table, changes: &[(Counter, i64, Option<u64>)], owner: Owner<'_>) -> Write {
    let (update, expression, condition) = counted(table, changes, owner);
    update.expression(expression).condition(condition)
}

/// The write, its expression and its condition.
fn counted(
    table: &Table,
    changes: &[(Counter, i64, Option<u64>)],
    owner: Owner<'_>,
) -> (Write, String, String) {
    let user = match owner {
        Owner::Is(identity) => identity.user(),
        Owner::User(user) => user,
    };
    let mut update = table.update(pk_only(&profile_pk(user))).value(":v", number(ProfileItem::V));
    let mut condition = match owner {
        Owner::User(_) => HAS_PROFILE.to_owned(),
        Owner::Is(identity) => {
            update = update
                .name("#identity", "identity")
                .value(":identity", text(identity_text(identity)));
            "#identity = :identity AND v <= :v".to_owned()
        }
    };
    let mut adds = Vec::new();
    for (counter, by, max) in changes {
        let name = counter.attribute();
        adds.push(format!("#{name} :{name}"));
        update = update.name(format!("#{name}"), name).value(format!(":{name}"), number(by));
        if matches!(counter, Counter::Following) {
            adds.push("relation_changes :one".to_owned());
            update = update.value(":one", number(1));
        }
        if let Some(max) = max.filter(|_| *by > 0) {
            condition.push_str(&format!(" AND #{name} < :{name}_max"));
            update = update.value(format!(":{name}_max"), number(max));
        }
    }
    (update, format!("ADD {}", adds.join(", ")), condition)
}

/// The text form of an identity in items.
pub(crate) fn identity_text(identity: &Identity) -> String {
    STANDARD_NO_PAD.encode(identity.0)
}

fn profile_pk(user: UserId) -> Pk {
    ItemKind::User.pk(user)
}

fn handle_pk(handle: &Handle) -> Pk {
    ItemKind::Handle.pk(handle)
}
