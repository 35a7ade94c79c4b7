//! Profiles, handles and counters.

mod drop;
mod put;

use std::collections::HashMap;

use aws_config::SdkConfig;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::Update;
use aws_sdk_dynamodb::types::builders::UpdateBuilder;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use fanfold_core::UserId;
use fanfold_core::id::Identity;
use serde::{Deserialize, Serialize};

use super::{Item, Stored, batch, number, read, text};
use crate::config::{Config, ConfigError};
use crate::error::StoreError;
use crate::http::UserRef;
pub use drop::{DropBegun, Dropping};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    pub id: UserId,
    pub handle: String,
    pub name: String,
    pub posts: u64,
    pub followers: u64,
    pub following: u64,
    /// The partitions that the followers are spread over.
    pub follower_shards: u16,
    identity: String,
}

impl Profile {
    /// Whether this profile was made by this identity: two may share a [`UserId`].
    pub fn is_of(&self, identity: &Identity) -> bool {
        self.identity == identity_text(identity)
    }
}

#[derive(Debug, PartialEq, Eq)]
pub enum ProfilePut {
    Created(Profile),
    Changed(Profile),
    HandleTaken,
    /// The one that was there is being dropped, and something of it is left.
    BeingDropped,
    /// Somebody else with the same id has a profile.
    IdentityClash,
}

#[derive(Serialize, Deserialize)]
struct ProfileItem {
    pk: String,
    v: u32,
    user: UserId,
    identity: String,
    handle: String,
    name: String,
    posts: u64,
    followers: u64,
    following: u64,
    follower_shards: u16,
}

#[derive(Serialize, Deserialize)]
struct HandleItem {
    pk: String,
    v: u32,
    user: UserId,
}

impl Stored for ProfileItem {
    const V: u32 = 1;
}

impl Stored for HandleItem {
    const V: u32 = 1;
}

impl From<ProfileItem> for Profile {
    fn from(item: ProfileItem) -> Self {
        Self {
            id: item.user,
            handle: item.handle,
            name: item.name,
            posts: item.posts,
            followers: item.followers,
            following: item.following,
            follower_shards: item.follower_shards,
            identity: item.identity,
        }
    }
}

/// What is left of a profile while its user is being dropped has no handle.
pub const HAS_PROFILE: &str = "attribute_exists(handle) AND v <= :v";

fn has_profile(item: &Item) -> bool {
    item.contains_key("handle")
}

#[derive(Clone)]
pub struct UserStore {
    client: Client,
    table: String,
}

impl UserStore {
    pub fn new(sdk: &SdkConfig, config: &Config) -> Result<Self, ConfigError> {
        Ok(Self { client: Client::new(sdk), table: config.text("USERS_TABLE")? })
    }

    pub fn table(&self) -> &str {
        &self.table
    }

    pub async fn profile(&self, user: UserId) -> Result<Option<Profile>, StoreError> {
        let doing = "reading a profile";
        let item = self.get(doing, profile_pk(user)).await?;
        let item = item.filter(has_profile);
        Ok(item.map(|item| read::<ProfileItem>(doing, item)).transpose()?.map(Profile::from))
    }

    pub async fn by_handle(&self, handle: &str) -> Result<Option<Profile>, StoreError> {
        let doing = "looking up a handle";
        let Some(item) = self.get(doing, handle_pk(handle)).await? else { return Ok(None) };
        let owner: HandleItem = read(doing, item)?;
        let profile = self.profile(owner.user).await?;
        // a handle that was given up between the two reads names nobody
        Ok(profile.filter(|profile| profile.handle == handle))
    }

    pub async fn find(&self, user: &UserRef) -> Result<Option<Profile>, StoreError> {
        match user {
            UserRef::Id(id) => self.profile(*id).await,
            UserRef::Handle(handle) => self.by_handle(handle).await,
        }
    }

    pub async fn profiles(&self, users: &[UserId]) -> Result<HashMap<UserId, Profile>, StoreError> {
        let doing = "reading profiles";
        let mut users = users.to_vec();
        users.sort_unstable();
        users.dedup();
        let keys = users.into_iter().map(|user| pk(profile_pk(user))).collect();
        let mut profiles = HashMap::new();
        let items = batch::get_all(&self.client, &self.table, doing, keys).await?;
        for item in items.into_iter().filter(has_profile) {
            let item: ProfileItem = read(doing, item)?;
            profiles.insert(item.user, item.into());
        }
        Ok(profiles)
    }

    async fn get(&self, doing: &'static str, key: String) -> Result<Option<Item>, StoreError> {
        batch::get_one(&self.client, &self.table, doing, pk(key)).await
    }
}

/// Adds to one of a profile's counters, on condition that the profile exists, in a form that is known,
/// and, where an identity is given, is that identity's.
pub fn counter(
    table: &str,
    user: UserId,
    name: &str,
    by: i64,
    identity: Option<&Identity>,
) -> UpdateBuilder {
    let update = Update::builder()
        .table_name(table)
        .set_key(Some(pk(profile_pk(user))))
        .update_expression("ADD #counter :by")
        .expression_attribute_names("#counter", name)
        .expression_attribute_values(":by", number(by))
        .expression_attribute_values(":v", number(ProfileItem::V));
    match identity {
        None => update.condition_expression(HAS_PROFILE),
        Some(identity) => update
            .condition_expression("#identity = :identity AND v <= :v")
            .expression_attribute_names("#identity", "identity")
            .expression_attribute_values(":identity", text(identity_text(identity))),
    }
}

fn identity_text(identity: &Identity) -> String {
    STANDARD_NO_PAD.encode(identity.0)
}

fn profile_pk(user: UserId) -> String {
    format!("user#{user}")
}

fn handle_pk(handle: &str) -> String {
    format!("handle#{handle}")
}

fn pk(value: String) -> Item {
    HashMap::from([("pk".to_owned(), text(value))])
}
