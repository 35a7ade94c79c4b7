//! The tags that a post ever had.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use fanfold_core::{PostId, TagHash};
use fanfold_engines::table::{Item, Value, key, read, words, words_of};
use fanfold_runtime::error::StoreError;

use super::{PostItem, PostState, PostStore, posts_pk};
use crate::posts::entities::Entities;
use crate::tags::tagging::{Tagging, hashes, names};

/// The attribute with the hashes of all tags that a post ever had. A tombstone keeps it.
pub(super) const TAGGED: &str = "tagged";

/// The tags of a text, as an attribute. `None`: there are none.
pub(super) fn tags_of(entities: &Entities) -> Option<Value> {
    let hashes: BTreeSet<TagHash> = hashes(entities).collect();
    (!hashes.is_empty()).then(|| words(hashes.into_iter().map(|tag| tag.0)))
}

/// The tags that a post ever had.
fn ever(item: &Item) -> BTreeSet<TagHash> {
    words_of(item, TAGGED).unwrap_or_default().into_iter().map(TagHash).collect()
}

impl PostStore {
    /// Reads the present state of one post, and the tags that the post ever had.
    pub async fn state_and_tags(
        &self,
        id: PostId,
    ) -> Result<(PostState, BTreeSet<TagHash>), StoreError> {
        let doing = "reading a post";
        let item = self.table.get(doing, key(&posts_pk(id.author()), id)).await?;
        let ever = item.as_ref().map(ever).unwrap_or_default();
        let post = item.map(|item| read::<PostItem>(doing, item)).transpose()?;
        Ok((post.map_or(PostState::Missing, PostState::from), ever))
    }

    /// The tags of posts, present and ever. Posts without an item are left out.
    pub async fn taggings(
        &self,
        posts: &BTreeSet<PostId>,
    ) -> Result<HashMap<PostId, Tagging>, StoreError> {
        let doing = "reading the tags of posts";
        let keys = posts.iter().map(|post| key(&posts_pk(post.author()), post)).collect();
        let items = self.table.get_all(doing, keys).await?.into_iter();
        items.map(|item| tagging(doing, item)).collect()
    }
}

fn tagging(doing: &'static str, item: Item) -> Result<(PostId, Tagging), StoreError> {
    let mut ever = ever(&item);
    let item: PostItem = read(doing, item)?;
    let text = item.text.filter(|_| item.deleted_at.is_none());
    let (is_published, is_reply) = (text.is_some(), !item.above.is_empty());
    let present = text.map_or_else(BTreeMap::new, |text| names(&text, &item.entities));
    ever.extend(present.keys());
    Ok((item.sk, Tagging { present, is_published, is_reply, ever }))
}
