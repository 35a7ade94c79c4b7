//! The authors whose posts are not pushed: few, and known to everyone who makes a feed or adds to one.
//!
//! One item of the users table has an attribute for each. Before an author's first post is left out of
//! fan-out, a pointer to the author is brought to all followers, with a post that still is pushed:
//! until that is through, the author is *marking*.

use std::collections::HashMap;

use aws_config::SdkConfig;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use fanfold_core::limits::PULLED_AUTHORS_MAX;
use fanfold_core::{PostId, UserId};

use super::{Item, batch, changed, check, text};
use crate::config::{Config, ConfigError};
use crate::error::StoreError;

const PK: &str = "pulled-authors";
const PULLED: &str = "pulled";
const V: u32 = 1;

/// How an author stands who is, or soon will be, pulled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Pointers are being brought to all followers, since this post.
    Marking(PostId),
    /// Every follower has a pointer.
    Pulled,
}

#[derive(Clone)]
pub struct PulledStore {
    client: Client,
    table: String,
}

impl PulledStore {
    pub fn new(sdk: &SdkConfig, config: &Config) -> Result<Self, ConfigError> {
        Ok(Self { client: Client::new(sdk), table: config.text("USERS_TABLE")? })
    }

    pub async fn all(&self) -> Result<HashMap<UserId, Standing>, StoreError> {
        let doing = "reading which authors are pulled";
        let item = batch::get_one(&self.client, &self.table, doing, item_key()).await?;
        let item = item.unwrap_or_default();
        check(doing, &item, V)?;
        let of = |(name, value): (String, aws_sdk_dynamodb::types::AttributeValue)| {
            let (author, standing) = (name.parse().ok()?, value.as_s().ok()?);
            let standing = match standing.parse() {
                Ok(post) => Standing::Marking(post),
                Err(_) => Standing::Pulled,
            };
            Some((author, standing))
        };
        Ok(item.into_iter().filter_map(of).collect())
    }

    /// From this post on pointers go out, unless as many authors are pulled as may be. `all` is what
    /// was read before.
    pub async fn mark(
        &self,
        author: UserId,
        post: PostId,
        all: &HashMap<UserId, Standing>,
    ) -> Result<Option<PostId>, StoreError> {
        if all.len() >= PULLED_AUTHORS_MAX {
            return Ok(None);
        }
        let update = self
            .update(author)
            .update_expression("SET #author = :post, v = :v")
            .condition_expression("attribute_not_exists(#author)")
            .expression_attribute_values(":post", text(post));
        let marked = changed("marking an author as pulled", V, update).await?;
        Ok(marked.map(|_| post))
    }

    /// Every follower has the pointer that went out since this post.
    pub async fn promote(&self, author: UserId, since: PostId) -> Result<(), StoreError> {
        let update = self
            .update(author)
            .update_expression("SET #author = :pulled")
            .condition_expression("#author = :since")
            .expression_attribute_values(":pulled", text(PULLED))
            .expression_attribute_values(":since", text(since));
        changed("leaving an author out of fan-out", V, update).await.map(drop)
    }

    /// The author's posts are pushed again. Pointers that are left do no harm.
    pub async fn release(&self, author: UserId) -> Result<(), StoreError> {
        let update = self.update(author).update_expression("REMOVE #author");
        changed("taking an author back into fan-out", V, update).await.map(drop)
    }

    fn update(&self, author: UserId) -> UpdateItemFluentBuilder {
        self.client
            .update_item()
            .table_name(&self.table)
            .set_key(Some(item_key()))
            .expression_attribute_names("#author", author.to_string())
    }
}

fn item_key() -> Item {
    HashMap::from([("pk".to_owned(), text(PK))])
}
