//! The tags that a user follows.

use fanfold_core::UserId;
use fanfold_core::id::Identity;
use fanfold_core::kinds::ItemKind;
use fanfold_engines::table::transact::{CommitResult, Transaction};
use fanfold_engines::table::{Item, Stored, key, number, read, write};
use fanfold_runtime::StoreError;
use serde::{Deserialize, Serialize};

use super::items::TagStore;
use super::names::NamedTag;
use crate::people::items::UserStore;

/// The tags that a user follows, in one item.
#[derive(Serialize, Deserialize)]
struct FollowedItem {
    sk: String,
    v: u32,
    /// The number of changes.
    revision: u64,
    /// As the user wrote them.
    names: Vec<String>,
}

impl Stored for FollowedItem {
    const V: u32 = 1;
}

/// What a user follows, as it was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FollowedTags {
    pub revision: u64,
    /// In the order of the tags.
    pub tags: Vec<NamedTag>,
}

/// The names of the writes of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FollowWrite {
    Tags,
    Profile,
}

impl TagStore {
    /// The tags that a user follows.
    pub async fn followed(&self, user: UserId) -> Result<FollowedTags, StoreError> {
        let doing = "reading followed tags";
        let Some(item) = self.table.get(doing, followed_key(user)).await? else {
            return Ok(FollowedTags::default());
        };
        let FollowedItem { revision, names, .. } = read(doing, item)?;
        let mut tags: Vec<NamedTag> = names.iter().filter_map(|name| NamedTag::new(name)).collect();
        tags.sort_unstable();
        Ok(FollowedTags { revision, tags })
    }

    /// Writes what a user follows, if it has this revision.
    pub async fn put_followed(
        &self,
        users: &UserStore,
        user: &Identity,
        revision: u64,
        tags: Vec<NamedTag>,
    ) -> Result<CommitResult<FollowWrite>, StoreError> {
        let doing = "changing followed tags";
        let (sk, names) = (SK.to_owned(), tags.into_iter().map(|named| named.name).collect());
        let item = FollowedItem { sk, v: FollowedItem::V, revision: revision + 1, names };
        let put = self.table.put(write(doing, &ItemKind::FollowedTags.pk(user.user()), &item)?);
        let put = match revision {
            0 => put.condition("attribute_not_exists(pk)"),
            _ => put.condition("revision = :revision").value(":revision", number(revision)),
        };
        let mut transaction = Transaction::new(doing);
        transaction.add(FollowWrite::Tags, put);
        // a user who is being erased follows nothing more
        // mutation: followed-tags-of-profile
        transaction.add(FollowWrite::Profile, users.belongs_to(user));
        transaction.commit().await
    }

    /// Removes the tags that a user follows.
    pub async fn forget_followed(&self, user: UserId) -> Result<(), StoreError> {
        self.table.delete(followed_key(user)).deleted("removing followed tags").await
    }
}

const SK: &str = "tags";

fn followed_key(user: UserId) -> Item {
    key(&ItemKind::FollowedTags.pk(user), SK)
}
