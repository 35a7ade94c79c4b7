//! The posts of a user who is being dropped. Nobody adds to them any more.

use fanfold_core::limits::{DROP_PAGE, POST_TOMBSTONE_KEPT_S};
use fanfold_core::{PostId, UserId};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};

use super::super::ReceiptStore;
use super::super::{Item, batch, key, read, read_key, text, write};
use super::keys::key_pk;
use super::{PostItem, PostStore};
use crate::error::StoreError;

const QUERIES_AT_ONCE: usize = 16;

/// What was taken away.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Erased {
    /// Posts, and tombstones of such.
    pub posts: u64,
    pub receipt_rows: u64,
    pub keys: u64,
}

impl PostStore {
    /// Puts tombstones in the place of a page of an author's posts, beginning after one. Gives how
    /// many, and where the next page begins, if there is one.
    pub async fn bury(
        &self,
        author: UserId,
        after: Option<PostId>,
        now_ms: u64,
    ) -> Result<(u64, Option<PostId>), StoreError> {
        let doing = "burying posts";
        let (page, next) = self.all_of(doing, author, after).await?;
        let mut tombstones = Vec::new();
        for item in page.into_iter().filter(|item| item.deleted_at_ms.is_none()) {
            let expires_at = Some(now_ms / 1000 + POST_TOMBSTONE_KEPT_S);
            let gone = PostItem { text: None, deleted_at_ms: Some(now_ms), expires_at, ..item };
            tombstones.push(write(doing, &gone)?);
        }
        let count = tombstones.len() as u64;
        batch::put_all(&self.client, &self.table, doing, tombstones).await?;
        Ok((count, next))
    }

    /// Takes away a page of what an author's posts left: receipts and keys first, for a tombstone is
    /// all that leads to them.
    pub async fn erase(
        &self,
        author: UserId,
        receipts: &ReceiptStore,
    ) -> Result<Erased, StoreError> {
        let doing = "erasing what is left of posts";
        let (page, _) = self.all_of(doing, author, None).await?;
        let rows: Vec<_> = page.iter().map(|item| receipts.rows(item.sk)).collect();
        let rows: Vec<Vec<Item>> =
            stream::iter(rows).buffer_unordered(QUERIES_AT_ONCE).try_collect().await?;
        let rows: Vec<Item> = rows.into_iter().flatten().collect();
        // a key that expired may have made another post
        let mut names: Vec<&String> = page.iter().filter_map(|i| i.made_by.as_ref()).collect();
        names.sort_unstable();
        names.dedup();
        let keys: Vec<Item> =
            names.into_iter().map(|name| key(key_pk(author, name), "-")).collect();
        let erased = Erased {
            posts: page.len() as u64,
            receipt_rows: rows.len() as u64,
            keys: keys.len() as u64,
        };
        let leads: Vec<Item> = rows.into_iter().chain(keys).collect();
        batch::delete_all(&self.client, &self.table, doing, leads).await?;
        let posts = page.iter().map(|item| key(author, item.sk)).collect();
        batch::delete_all(&self.client, &self.table, doing, posts).await?;
        Ok(erased)
    }

    /// A page of all items of an author: posts and tombstones.
    async fn all_of(
        &self,
        doing: &'static str,
        author: UserId,
        after: Option<PostId>,
    ) -> Result<(Vec<PostItem>, Option<PostId>), StoreError> {
        let page = self
            .client
            .query()
            .table_name(&self.table)
            .key_condition_expression("pk = :author")
            .projection_expression("pk, sk, v, deleted_at_ms, made_by")
            .expression_attribute_values(":author", text(author))
            .consistent_read(true)
            .limit(DROP_PAGE)
            .set_exclusive_start_key(after.map(|after| key(author, after)))
            .send()
            .await
            .map_err(StoreError::dynamo(doing))?;
        let items = page.items.unwrap_or_default().into_iter();
        let items: Result<Vec<PostItem>, StoreError> =
            items.map(|item| read(doing, item)).collect();
        let next = page.last_evaluated_key.map(|last| read_key::<super::IdItem>(doing, last));
        Ok((items?, next.transpose()?.map(|last| last.sk)))
    }
}
