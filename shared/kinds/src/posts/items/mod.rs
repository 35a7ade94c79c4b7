//! Posts, their tombstones, and the posts that an `Idempotency-Key` made.

mod drop;
mod keys;
mod likes;
mod replies;
mod tags;
mod versions;
mod write;

use std::collections::{BTreeSet, HashMap};

use fanfold_core::kinds::{ItemKind, Pk};
use fanfold_core::{PostId, Second, Slice, TagHash, Time, UserId};
use fanfold_engines::table::{Stored, Table, key, number_set, read, read_key};
use fanfold_runtime::error::StoreError;
use serde::{Deserialize, Serialize};

use super::entities::Entities;
use super::extras::Extras;
use super::thread::Thread;
pub use drop::{Erased, ToBury};
pub use keys::{PostKey, PostKeyUse};
pub use replies::Tombstone;
pub use versions::{Edited, Version};
pub use write::{Created, Deleted};

/// Fewest items that a query for an author's posts reads. Deleted posts may be among them.
const QUERY_ITEMS_MIN: usize = 25;
/// Pages of one query for an author's posts. After them, the caller continues where the query stopped.
const QUERY_PAGES_MAX: usize = 20;

/// A published post.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Post {
    /// The id, which contains the time and the author.
    pub id: PostId,
    /// The text.
    pub text: String,
    /// The mentions, tags and links in the text.
    pub entities: Entities,
    /// What it has beside the text.
    pub extras: Extras,
    /// The number of what the author wrote last. The first version is 1.
    pub version: u64,
    /// When the present version was written. `None`: with the post.
    pub edited_at: Option<Time>,
    /// The posts above it, if it is a reply.
    pub thread: Thread,
    /// The number of likes at the last count.
    pub likes: u64,
    /// The number of replies to it at the last count.
    pub replies: u64,
}

impl Post {
    /// A new post that is no reply and has a text alone.
    pub fn new(id: PostId, text: impl Into<String>, entities: Entities) -> Self {
        let (text, extras, thread) = (text.into(), Extras::default(), Thread::default());
        let (version, edited_at, likes, replies) = (1, None, 0, 0);
        Self { id, text, entities, extras, version, edited_at, thread, likes, replies }
    }
}

/// The result of writing a number that was counted into a post.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountPut {
    /// The number was written.
    Written,
    /// The post has the result of this count, or of a newer one, already.
    Known,
    /// The post is gone.
    Gone,
}

/// The state of a post.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PostState {
    /// No post has this id: it is not committed yet, or was never committed.
    Missing,
    /// The post was deleted, and its tombstone is left.
    Deleted,
    /// The post exists.
    Published(Post),
}

#[derive(Serialize, Deserialize)]
struct PostItem {
    sk: PostId,
    v: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Entities::is_empty")]
    entities: Entities,
    #[serde(default, skip_serializing_if = "Extras::is_empty")]
    extras: Extras,
    /// The tags that it ever had. A tombstone keeps them.
    #[serde(default, with = "number_set", skip_serializing_if = "BTreeSet::is_empty")]
    tagged: BTreeSet<TagHash>,
    /// The number of the version. `None`: the first one. A tombstone keeps it: it says that there were earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<u64>,
    #[serde(default, rename = "edited_at_ms", skip_serializing_if = "Option::is_none")]
    edited_at: Option<Time>,
    /// The posts above a reply. A tombstone has them until the reply is taken from their lists.
    #[serde(default, skip_serializing_if = "Thread::is_empty")]
    above: Thread,
    #[serde(default, rename = "deleted_at_ms", skip_serializing_if = "Option::is_none")]
    deleted_at: Option<Time>,
    /// The hash of the `Idempotency-Key` that made the post. With it, the key is found when the user is dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    made_by: Option<String>,
    /// The number of likes at the last count.
    #[serde(default, skip_serializing_if = "is_zero")]
    likes: u64,
    /// The number of changes that `likes` includes. A count with more changes is newer.
    #[serde(default, skip_serializing_if = "is_zero")]
    like_changes: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    replies: u64,
    /// The number of changes that `replies` includes.
    #[serde(default, skip_serializing_if = "is_zero")]
    reply_changes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<Second>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Stored for PostItem {
    const V: u32 = 1;
}

impl From<PostItem> for PostState {
    fn from(item: PostItem) -> Self {
        match item.text {
            Some(text) if item.deleted_at.is_none() => Self::Published(Post {
                id: item.sk,
                text,
                entities: item.entities,
                extras: item.extras,
                version: item.version.unwrap_or(1),
                edited_at: item.edited_at,
                thread: item.above,
                likes: item.likes,
                replies: item.replies,
            }),
            _ => Self::Deleted,
        }
    }
}

/// The posts table.
#[derive(Clone)]
pub struct PostStore {
    table: Table,
}

impl PostStore {
    /// The store over its table.
    pub fn new(table: Table) -> Self {
        Self { table }
    }

    /// Reads the present state of one post.
    pub async fn state(&self, id: PostId) -> Result<PostState, StoreError> {
        Ok(self.state_and_tags(id).await?.0)
    }

    /// Reads the present state of one post, and the tags that the post ever had.
    pub async fn state_and_tags(
        &self,
        id: PostId,
    ) -> Result<(PostState, BTreeSet<TagHash>), StoreError> {
        let doing = "reading a post";
        let Some(item) = self.table.get(doing, key(&posts_pk(id.author()), id)).await? else {
            return Ok((PostState::Missing, BTreeSet::new()));
        };
        let mut item: PostItem = read(doing, item)?;
        let ever = std::mem::take(&mut item.tagged);
        Ok((item.into(), ever))
    }

    /// Reads the present states of posts. Missing posts are left out.
    pub async fn states(&self, ids: &[PostId]) -> Result<HashMap<PostId, PostState>, StoreError> {
        let doing = "reading posts";
        let keys = ids.iter().map(|id| key(&posts_pk(id.author()), id)).collect();
        let mut states = HashMap::new();
        for item in self.table.get_all(doing, keys).await? {
            let item = read::<PostItem>(doing, item)?;
            states.insert(item.sk, item.into());
        }
        Ok(states)
    }

    /// Reads posts. Deleted and missing posts are left out.
    pub async fn published(&self, ids: &[PostId]) -> Result<HashMap<PostId, Post>, StoreError> {
        let published = |(id, state)| match state {
            PostState::Published(post) => Some((id, post)),
            PostState::Missing | PostState::Deleted => None,
        };
        Ok(self.states(ids).await?.into_iter().filter_map(published).collect())
    }

    /// An author's newest `count` posts that are older than `before`, without deleted posts. The slice ends early
    /// if `QUERY_PAGES_MAX` pages contain too few posts; its bound is where to continue.
    pub async fn by_author(
        &self,
        author: UserId,
        before: PostId,
        count: usize,
    ) -> Result<Slice, StoreError> {
        let doing = "reading an author's posts";
        let pk = posts_pk(author);
        let rows = self.table.rows(doing, &pk).newest_first().only("sk").below(before);
        let rows = rows.kept_by("attribute_not_exists(deleted_at_ms)");
        let limit = Some((count + 1).max(QUERY_ITEMS_MIN) as i32);
        let (mut posts, mut down_to, mut start) = (Vec::new(), before, None);
        for _ in 0..QUERY_PAGES_MAX {
            let page = rows.page(start, limit).await?;
            for item in page.rows {
                posts.push(read_key::<IdItem>(doing, item)?.sk);
            }
            start = page.next;
            // one more than requested shows that there are more
            if start.is_none() || posts.len() > count {
                return Ok(Slice::head(posts, count, PostId::MIN));
            }
            if let Some(last) = start.clone() {
                down_to = read_key::<IdItem>(doing, last)?.sk;
            }
        }
        // many tombstones in a row: the posts found so far, and where to continue
        Ok(Slice::head(posts, count, down_to.previous()))
    }
}

fn posts_pk(author: UserId) -> Pk {
    ItemKind::Post.pk(author)
}

#[derive(Deserialize)]
struct IdItem {
    sk: PostId,
}
