//! The posts of a user who is being dropped. The user cannot add posts any more.

use fanfold_core::limits::{DROP_PAGE, DROP_QUERIES_AT_ONCE, POST_TOMBSTONE_KEPT};
use fanfold_core::{PostId, Time, UserId};
use fanfold_engines::table::{Item, key, read, read_key, write};
use fanfold_runtime::error::StoreError;
use fanfold_runtime::sqs::Announced;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};

use super::keys::key_pk;
use super::{PostItem, PostStore, posts_pk};
use crate::fanout::receipts::ReceiptStore;
use crate::posts::messages::PostDeleted;
use crate::posts::thread::Thread;

/// What a removal reads of a post or a tombstone.
// mutation: buried-tags
const ATTRIBUTES: &str = "pk, sk, v, deleted_at_ms, made_by, version, above, reply_changes, tagged";

/// The numbers of removed items.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Erased {
    /// Posts and tombstones.
    pub posts: Vec<PostId>,
    /// Rows of delivery receipts.
    pub receipt_rows: u64,
    /// Uses of an `Idempotency-Key`.
    pub keys: u64,
}

/// A page of posts and tombstones of a user who is being dropped.
pub struct ToBury {
    items: Vec<PostItem>,
    /// The post after which the next page begins. `None`: this is the last page.
    pub next: Option<PostId>,
}

impl ToBury {
    /// All posts and tombstones of the page.
    pub fn all(&self) -> impl Iterator<Item = PostId> {
        self.items.iter().map(|item| item.sk)
    }

    /// The posts that have no tombstone yet.
    pub fn live(&self) -> impl Iterator<Item = PostId> {
        let is_live = |item: &&PostItem| item.deleted_at.is_none();
        self.items.iter().filter(is_live).map(|item| item.sk)
    }
}

/// Posts and tombstones that are removed.
pub struct ToErase(Vec<PostItem>);

impl ToErase {
    /// Those that are still in a thread.
    pub fn in_threads(&self) -> impl Iterator<Item = (PostId, &Thread)> {
        let in_thread = |item: &&PostItem| !item.above.is_empty();
        self.0.iter().filter(in_thread).map(|item| (item.sk, &item.above))
    }

    /// Those that may be in feeds that everybody reads: those that ever had tags, or all if there is a public feed.
    pub fn in_shared_feeds(&self, is_public: bool) -> impl Iterator<Item = PostId> {
        let is_in = move |item: &&PostItem| is_public || !item.tagged.is_empty();
        self.0.iter().filter(is_in).map(|item| item.sk)
    }
}

impl PostStore {
    /// Reads a page of an author's posts and tombstones. The page begins after `after`.
    pub async fn to_bury(
        &self,
        author: UserId,
        after: Option<PostId>,
    ) -> Result<ToBury, StoreError> {
        let (doing, pk) = ("reading posts to bury", posts_pk(author));
        let rows = self.table.rows(doing, &pk).only(ATTRIBUTES);
        let page = rows.page(after.map(|after| key(&pk, after)), Some(DROP_PAGE)).await?;
        let items = page.rows.into_iter().map(|item| read(doing, item));
        let next = page.next.map(|last| read_key::<super::IdItem>(doing, last)).transpose()?;
        Ok(ToBury { items: items.collect::<Result<_, _>>()?, next: next.map(|last| last.sk) })
    }

    /// Replaces the posts of a page by tombstones. Returns the number of new tombstones.
    pub async fn bury(
        &self,
        _sent: Announced<PostDeleted>,
        author: UserId,
        page: ToBury,
        now: Time,
    ) -> Result<u64, StoreError> {
        let doing = "burying posts";
        let mut tombstones = Vec::new();
        for item in page.items.into_iter().filter(|item| item.deleted_at.is_none()) {
            let gone = PostItem {
                text: None,
                deleted_at: Some(now),
                expires_at: Some(now.expires_after(POST_TOMBSTONE_KEPT)),
                likes: 0,
                like_changes: 0,
                replies: 0,
                // replies may have been counted since the post was read
                reply_changes: item.reply_changes.max(1),
                ..item
            };
            tombstones.push(write(doing, &posts_pk(author), &gone)?);
        }
        let count = tombstones.len() as u64;
        self.table.put_all(doing, tombstones).await?;
        Ok(count)
    }

    /// Reads a page of an author's posts and tombstones that are removed.
    pub async fn to_erase(&self, author: UserId) -> Result<ToErase, StoreError> {
        let (doing, pk) = ("reading posts to erase", posts_pk(author));
        let rows = self.table.rows(doing, &pk).only(ATTRIBUTES);
        let page = rows.first(None, DROP_PAGE as usize).await?;
        let page = page.into_iter().map(|item| read(doing, item));
        Ok(ToErase(page.collect::<Result<_, _>>()?))
    }

    /// Removes posts and tombstones of an author, with their receipts and keys. Receipts and keys are removed first, because they
    /// are found through the posts.
    pub async fn erase(
        &self,
        author: UserId,
        ToErase(page): ToErase,
        receipts: &ReceiptStore,
    ) -> Result<Erased, StoreError> {
        let doing = "erasing posts";
        let rows: Vec<_> = page.iter().map(|item| receipts.rows(item.sk)).collect();
        let rows: Vec<Vec<Item>> =
            stream::iter(rows).buffer_unordered(DROP_QUERIES_AT_ONCE).try_collect().await?;
        let rows: Vec<Item> = rows.into_iter().flatten().collect();
        for edited in page.iter().filter(|item| item.version.is_some()) {
            // mutation: erased-versions
            self.forget_versions(edited.sk).await?;
        }
        // a key that expired may have made a second post
        let mut names: Vec<&String> = page.iter().filter_map(|i| i.made_by.as_ref()).collect();
        names.sort_unstable();
        names.dedup();
        let keys: Vec<Item> =
            names.into_iter().map(|name| key(&key_pk(author, name), "-")).collect();
        let erased = Erased {
            posts: page.iter().map(|item| item.sk).collect(),
            receipt_rows: rows.len() as u64,
            keys: keys.len() as u64,
        };
        let leads: Vec<Item> = rows.into_iter().chain(keys).collect();
        self.table.delete_all(doing, leads).await?;
        let posts = page.iter().map(|item| key(&posts_pk(author), item.sk)).collect();
        self.table.delete_all(doing, posts).await?;
        Ok(erased)
    }

    /// Removes the uses of these keys of a user.
    pub(crate) async fn forget_keys(
        &self,
        doing: &'static str,
        user: UserId,
        names: &[&str],
    ) -> Result<(), StoreError> {
        let keys = names.iter().map(|name| key(&key_pk(user, name), "-")).collect();
        self.table.delete_all(doing, keys).await
    }
}
