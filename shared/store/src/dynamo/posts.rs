//! Posts, their tombstones, and what an `Idempotency-Key` made.

use std::collections::HashMap;

use aws_config::SdkConfig;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{Put, Update};
use fanfold_core::id::Identity;
use fanfold_core::limits::{
    IDEMPOTENCY_KEPT_S, POST_TOMBSTONE_KEPT_S, QUERY_ITEMS_MIN, QUERY_PAGES_MAX,
};
use fanfold_core::{PostId, Slice, UserId};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::transact::{Outcome, put_item, transact, update_item};
use super::users::counter;
use super::{Item, batch, key, number, read, text, write};
use crate::config::{Config, ConfigError};
use crate::error::StoreError;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Post {
    pub id: PostId,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PostState {
    /// There is none by this id: not yet, or never.
    Missing,
    Deleted,
    Published(Post),
}

/// What an `Idempotency-Key` stands for: whose it is, its name, and the request.
/// Both are hashed: whatever was sent, the item has one form and length.
#[derive(Debug, Clone)]
pub struct RequestKey {
    user: UserId,
    name: String,
    request: String,
}

/// What a key made earlier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyUse {
    pub post: PostId,
    pub same_request: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Created {
    Created,
    /// Another post has this id.
    IdTaken,
    /// Another request with the same key was first.
    KeyUsed,
    /// The author has no profile, or it belongs to somebody else with the same id.
    NoProfile,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Deleted {
    Deleted,
    Already,
    Missing,
}

#[derive(Serialize, Deserialize)]
struct PostItem {
    pk: UserId,
    sk: PostId,
    v: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deleted_at_ms: Option<u64>,
}

#[derive(Serialize, Deserialize)]
struct KeyItem {
    pk: String,
    sk: String,
    v: u32,
    request: String,
    post: PostId,
    expires_at: u64,
}

impl From<PostItem> for PostState {
    fn from(item: PostItem) -> Self {
        match item {
            PostItem { deleted_at_ms: Some(_), .. } => PostState::Deleted,
            PostItem { sk: id, text: Some(text), .. } => PostState::Published(Post { id, text }),
            _ => PostState::Deleted,
        }
    }
}

impl RequestKey {
    pub fn new(user: UserId, name: &str, request: &str) -> Self {
        Self { user, name: hex(name), request: hex(request) }
    }

    fn pk(&self) -> String {
        format!("key#{}#{}", self.user, self.name)
    }
}

#[derive(Clone)]
pub struct PostStore {
    client: Client,
    table: String,
}

impl PostStore {
    pub fn new(sdk: &SdkConfig, config: &Config) -> Result<Self, ConfigError> {
        Ok(Self { client: Client::new(sdk), table: config.text("POSTS_TABLE")? })
    }

    /// Reads one post as it is now.
    pub async fn state(&self, id: PostId) -> Result<PostState, StoreError> {
        let doing = "reading a post";
        let item = self.get(doing, key(id.author(), id)).await?;
        let post = item.map(|item| read::<PostItem>(doing, item)).transpose()?;
        Ok(post.map_or(PostState::Missing, PostState::from))
    }

    /// Reads those of the posts that are published.
    pub async fn published(&self, ids: &[PostId]) -> Result<HashMap<PostId, Post>, StoreError> {
        let doing = "reading posts";
        let keys = ids.iter().map(|id| key(id.author(), id)).collect();
        let mut posts = HashMap::new();
        for item in batch::get_all(&self.client, &self.table, doing, keys).await? {
            if let PostState::Published(post) = read::<PostItem>(doing, item)?.into() {
                posts.insert(post.id, post);
            }
        }
        Ok(posts)
    }

    /// What this key made in the last 24 hours.
    pub async fn key_use(
        &self,
        request: &RequestKey,
        now_ms: u64,
    ) -> Result<Option<KeyUse>, StoreError> {
        let doing = "reading an idempotency key";
        let Some(item) = self.get(doing, key(request.pk(), "-")).await? else { return Ok(None) };
        let item: KeyItem = read(doing, item)?;
        // DynamoDB removes what has expired when it gets to it
        let known = KeyUse { post: item.post, same_request: item.request == request.request };
        Ok((item.expires_at > now_ms / 1000).then_some(known))
    }

    /// Stores a post, counts it and notes the request's key, all or nothing.
    pub async fn create(
        &self,
        users_table: &str,
        author: &Identity,
        post: &Post,
        request: Option<&RequestKey>,
        now_ms: u64,
    ) -> Result<Created, StoreError> {
        let doing = "storing a post";
        let (pk, sk, text_) = (post.id.author(), post.id, Some(post.text.clone()));
        let item = PostItem { pk, sk, v: 1, text: text_, deleted_at_ms: None };
        let put = Put::builder()
            .table_name(&self.table)
            .set_item(Some(write(doing, &item)?))
            .condition_expression("attribute_not_exists(pk)");
        let counted = counter(users_table, post.id.author(), "posts", 1, Some(author));
        let mut items = vec![put_item(doing, put)?, update_item(doing, counted)?];
        if let Some(request) = request {
            let item = KeyItem {
                pk: request.pk(),
                sk: "-".to_owned(),
                v: 1,
                request: request.request.clone(),
                post: post.id,
                expires_at: now_ms / 1000 + IDEMPOTENCY_KEPT_S,
            };
            let put = Put::builder()
                .table_name(&self.table)
                .set_item(Some(write(doing, &item)?))
                .condition_expression("attribute_not_exists(pk) OR expires_at <= :now")
                .expression_attribute_values(":now", number(now_ms / 1000));
            items.push(put_item(doing, put)?);
        }
        let outcome = transact(&self.client, doing, items).await?;
        Ok(match outcome {
            Outcome::Done => Created::Created,
            // a used key first: the post that it made may well be the one that has this id
            outcome if outcome.refused(2) => Created::KeyUsed,
            outcome if outcome.refused(1) => Created::NoProfile,
            Outcome::Refused(_) => Created::IdTaken,
        })
    }

    /// Puts a tombstone in the place of a post, once.
    pub async fn delete(
        &self,
        users_table: &str,
        author: &Identity,
        id: PostId,
        now_ms: u64,
    ) -> Result<Deleted, StoreError> {
        let doing = "deleting a post";
        let bury = Update::builder()
            .table_name(&self.table)
            .set_key(Some(key(id.author(), id)))
            .update_expression("SET deleted_at_ms = :now, expires_at = :gone REMOVE #text")
            .condition_expression("attribute_exists(pk) AND attribute_not_exists(deleted_at_ms)")
            .expression_attribute_names("#text", "text")
            .expression_attribute_values(":now", number(now_ms))
            .expression_attribute_values(":gone", number(now_ms / 1000 + POST_TOMBSTONE_KEPT_S));
        let counted = counter(users_table, id.author(), "posts", -1, Some(author));
        let items = vec![update_item(doing, bury)?, update_item(doing, counted)?];
        match transact(&self.client, doing, items).await? {
            Outcome::Done => Ok(Deleted::Deleted),
            Outcome::Refused(_) => Ok(match self.state(id).await? {
                PostState::Deleted => Deleted::Already,
                _ => Deleted::Missing,
            }),
        }
    }

    /// An author's newest posts older than `before`; deleted ones are left out.
    pub async fn by_author(
        &self,
        author: UserId,
        before: PostId,
        count: usize,
    ) -> Result<Slice, StoreError> {
        let doing = "reading an author's posts";
        let mut posts = Vec::new();
        let mut start = None;
        let mut down_to = before;
        for _ in 0..QUERY_PAGES_MAX {
            let page = self
                .client
                .query()
                .table_name(&self.table)
                .key_condition_expression("pk = :author AND sk < :before")
                .filter_expression("attribute_not_exists(deleted_at_ms)")
                .projection_expression("sk")
                .expression_attribute_values(":author", text(author))
                .expression_attribute_values(":before", text(before))
                .scan_index_forward(false)
                .consistent_read(true)
                .limit((count + 1).max(QUERY_ITEMS_MIN) as i32)
                .set_exclusive_start_key(start)
                .send()
                .await
                .map_err(|error| StoreError::dynamo(doing)(error.into()))?;
            for item in page.items.unwrap_or_default() {
                posts.push(read::<IdItem>(doing, item)?.sk);
            }
            start = page.last_evaluated_key;
            // one more than asked tells that there are more
            if start.is_none() || posts.len() > count {
                return Ok(Slice::head(posts, count, PostId::MIN));
            }
            if let Some(last) = start.clone() {
                down_to = read::<IdItem>(doing, last)?.sk;
            }
        }
        // a long row of tombstones: what was seen of it, and where to go on
        Ok(Slice::head(posts, count, down_to.previous()))
    }

    async fn get(&self, doing: &'static str, key: Item) -> Result<Option<Item>, StoreError> {
        let call = self.client.get_item().table_name(&self.table).set_key(Some(key));
        let answer = call.consistent_read(true).send().await;
        Ok(answer.map_err(|error| StoreError::dynamo(doing)(error.into()))?.item)
    }
}

#[derive(Deserialize)]
struct IdItem {
    sk: PostId,
}

fn hex(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}
