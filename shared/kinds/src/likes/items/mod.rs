//! The likes of posts. A like has three rows, and a transaction writes them together: the like itself, by user and post;
//! a row in the list of what the user likes, by time; and a row in the list of who likes the post, by time.
//!
//! Very many users may like one post in the same second. No item is therefore written by each like of a post: the list of
//! who likes it has [`LIKE_PARTS`] partition keys, and each of these parts has `LIKE_COUNT_ROWS` rows that count. The
//! post's item has the sum, which is computed later.

mod change;
mod lists;
mod remove;

use fanfold_core::kinds::{ItemKind, Pk};
use fanfold_core::limits::LIKE_PARTS;
use fanfold_core::{PostId, Time, UserId};
use fanfold_engines::table::{Item, Stored, Table, key, read, timed};
use fanfold_engines::tally::Tallied;
use fanfold_runtime::aws::SdkConfig;
use fanfold_runtime::config::{Config, ConfigError};
use fanfold_runtime::error::StoreError;
use serde::{Deserialize, Serialize};

pub use change::LikePut;

/// Rows that count the likes of one part. Transactions that write the same row at the same time are cancelled.
const LIKE_COUNT_ROWS: u64 = 16;

/// A like of a post.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Like {
    /// The user.
    pub user: UserId,
    /// The post.
    pub post: PostId,
    /// The time of the like.
    pub at: Time,
}

/// A like with its token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenLike {
    /// The like.
    pub like: Like,
    /// Random. A like that was taken back and given again has another one.
    pub token: String,
}

#[derive(Serialize, Deserialize)]
struct LikeItem {
    sk: PostId,
    v: u32,
    #[serde(rename = "liked_at_ms")]
    liked_at: Time,
    token: String,
}

impl Stored for LikeItem {
    const V: u32 = 1;
}

/// The likes table.
#[derive(Clone)]
pub struct LikeStore {
    table: Table,
}

impl LikeStore {
    /// Reads the name of the table. Fails if the setting is missing.
    pub fn new(sdk: &SdkConfig, config: &Config) -> Result<Self, ConfigError> {
        Ok(Self { table: Table::new(sdk, config, "LIKES_TABLE")? })
    }

    /// The number of likes of a post.
    pub async fn counted(&self, post: PostId) -> Result<Tallied, StoreError> {
        self.table.tally("counting likes", counts(post), LIKE_PARTS.into()).await
    }

    /// Removes the rows that count the likes of a post.
    pub async fn forget_counts(&self, post: PostId) -> Result<(), StoreError> {
        let doing = "removing the rows that count the likes of a post";
        self.table.forget_tally(doing, counts(post), LIKE_PARTS.into()).await
    }

    /// The user's like of a post. `None` if the user does not like the post.
    pub async fn like(&self, user: UserId, post: PostId) -> Result<Option<GivenLike>, StoreError> {
        let doing = "reading a like";
        let key = key(&like_pk(user), post);
        let item = self.table.get(doing, key).await?;
        let item = item.map(|item| read::<LikeItem>(doing, item)).transpose()?;
        let given = |item: LikeItem| GivenLike {
            like: Like { user, post, at: item.liked_at },
            token: item.token,
        };
        Ok(item.map(given))
    }
}

impl Like {
    /// The part of the post's likes that this like is in.
    fn part(self) -> u8 {
        (self.user.0 >> 56) as u8 % LIKE_PARTS
    }

    /// The key of the like.
    fn key(self) -> Item {
        key(&like_pk(self.user), self.post)
    }

    /// The key of the row in the list of what the user likes.
    fn liked_key(self) -> Item {
        key(&liked_pk(self.user), timed(self.at, self.post))
    }

    /// The key of the row in the list of who likes the post.
    fn liker_key(self) -> Item {
        key(&likers_pk(self.post, self.part()), timed(self.at, self.user))
    }

    /// The key of the row that counts this like. These bits of the user's id are not those of the part.
    fn count_key(self) -> Item {
        // mutation: like-count-rows
        key(&like_counts_pk(self.post, self.part()), (self.user.0 >> 48) % LIKE_COUNT_ROWS)
    }
}

fn like_pk(user: UserId) -> Pk {
    ItemKind::Like.pk(user)
}

fn liked_pk(user: UserId) -> Pk {
    ItemKind::Liked.pk(user)
}

fn likers_pk(post: PostId, part: u8) -> Pk {
    ItemKind::Liker.pk(format_args!("{post}#{part}"))
}

fn like_counts_pk(post: PostId, part: u8) -> Pk {
    ItemKind::LikeCount.pk(format_args!("{post}#{part}"))
}

/// The partition keys of the rows that count the likes of a post.
fn counts(post: PostId) -> impl Iterator<Item = Pk> {
    (0..LIKE_PARTS).map(move |part| like_counts_pk(post, part))
}
