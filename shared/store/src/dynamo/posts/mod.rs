//! Posts, their tombstones, and what an `Idempotency-Key` made.

mod drop;
mod keys;
mod write;

use std::collections::HashMap;

use aws_config::SdkConfig;
use aws_sdk_dynamodb::Client;
use fanfold_core::limits::{QUERY_ITEMS_MIN, QUERY_PAGES_MAX};
use fanfold_core::{PostId, Slice, UserId};
use serde::{Deserialize, Serialize};

use super::{Item, Stored, batch, key, read, read_key, text};
use crate::config::{Config, ConfigError};
use crate::error::StoreError;
pub use keys::{KeyUse, RequestKey};
pub use write::{Created, Deleted};

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

#[derive(Serialize, Deserialize)]
struct PostItem {
    pk: UserId,
    sk: PostId,
    v: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deleted_at_ms: Option<u64>,
    /// The name of the key that made it, hashed: so the key is found when its user is dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    made_by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<u64>,
}

impl Stored for PostItem {
    const V: u32 = 1;
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
                .map_err(StoreError::dynamo(doing))?;
            for item in page.items.unwrap_or_default() {
                posts.push(read_key::<IdItem>(doing, item)?.sk);
            }
            start = page.last_evaluated_key;
            // one more than asked tells that there are more
            if start.is_none() || posts.len() > count {
                return Ok(Slice::head(posts, count, PostId::MIN));
            }
            if let Some(last) = start.clone() {
                down_to = read_key::<IdItem>(doing, last)?.sk;
            }
        }
        // a long row of tombstones: what was seen of it, and where to go on
        Ok(Slice::head(posts, count, down_to.previous()))
    }

    async fn get(&self, doing: &'static str, key: Item) -> Result<Option<Item>, StoreError> {
        batch::get_one(&self.client, &self.table, doing, key).await
    }
}

#[derive(Deserialize)]
struct IdItem {
    sk: PostId,
}
