//! The tags of posts.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use fanfold_core::{PostId, TagHash};
use fanfold_engines::table::{key, read};
use fanfold_runtime::error::StoreError;

use super::{PostItem, PostStore, posts_pk};
use crate::tags::tagging::{Tagging, names};

impl PostStore {
    /// The tags of posts, with that of the public feed if there is one. Posts without an item are left out.
    pub async fn taggings(
        &self,
        posts: &BTreeSet<PostId>,
        is_public: bool,
    ) -> Result<HashMap<PostId, Tagging>, StoreError> {
        let doing = "reading the tags of posts";
        let keys = posts.iter().map(|post| key(&posts_pk(post.author()), post)).collect();
        let items = self.table.get_all(doing, keys).await?.into_iter();
        items.map(|item| Ok(tagging(read(doing, item)?, is_public))).collect()
    }
}

fn tagging(item: PostItem, is_public: bool) -> (PostId, Tagging) {
    let text = item.text.filter(|_| item.deleted_at.is_none());
    let mut present = text.as_ref().map_or_else(BTreeMap::new, |text| names(text, &item.entities));
    let mut ever = item.tagged;
    // a tombstone may no longer say that it was a reply
    // mutation: replies-not-public
    if is_public && item.above.is_empty() {
        ever.insert(TagHash::PUBLIC);
        present.extend(text.map(|_| (TagHash::PUBLIC, String::new())));
    }
    ever.extend(present.keys());
    (item.sk, Tagging { present, ever })
}
