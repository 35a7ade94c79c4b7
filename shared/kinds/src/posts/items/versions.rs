//! The earlier versions of posts that were edited.

use std::collections::BTreeSet;
use std::num::ParseIntError;

use fanfold_core::id::Identity;
use fanfold_core::kinds::{ItemKind, Pk};
use fanfold_core::{PostId, Time};
use fanfold_engines::table::transact::{CommitResult, Transaction};
use fanfold_engines::table::{Stored, key, number, numbers, read, text, write};
use fanfold_runtime::error::StoreError;
use fanfold_runtime::sqs::Announced;
use serde::{Deserialize, Serialize};

use super::{Post, PostItem, PostStore, posts_pk};
use crate::people::items::UserStore;
use crate::posts::entities::Entities;
use crate::posts::extras::Extras;
use crate::posts::messages::PostEdited;
use crate::tags::tagging::hashes;

/// A version of what the author wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// The first version is 1.
    pub number: u64,
    pub text: String,
    pub entities: Entities,
    pub extras: Extras,
    /// When it was written.
    pub written_at: Time,
}

/// The result of editing a post.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edited {
    /// The new version is stored.
    Done,
    /// The post has another version than the one that was read, or is gone.
    Raced,
    /// The author has no profile, or it belongs to another identity.
    NoProfile,
}

/// The names of the writes of an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EditWrite {
    /// The post.
    Post,
    /// The earlier version.
    Version,
    /// The condition that the author has a profile.
    Author,
}

#[derive(Serialize, Deserialize)]
struct VersionItem {
    /// The number, with so many digits that versions sort by it.
    sk: String,
    v: u32,
    text: String,
    #[serde(default, skip_serializing_if = "Entities::is_empty")]
    entities: Entities,
    #[serde(default, skip_serializing_if = "Extras::is_empty")]
    extras: Extras,
    #[serde(rename = "written_at_ms")]
    written_at: Time,
}

impl Stored for VersionItem {
    const V: u32 = 1;
}

impl Post {
    /// When the present version was written.
    pub fn written_at(&self) -> Time {
        self.edited_at.unwrap_or(self.id.time())
    }

    /// The present version.
    pub fn present(&self) -> Version {
        let written_at = self.written_at();
        let Self { text, entities, extras, version: number, .. } = self.clone();
        Version { number, text, entities, extras, written_at }
    }
}

impl PostStore {
    /// Replaces a post as it was read by its next version, and keeps the earlier one, all or nothing.
    pub async fn edit(
        &self,
        _sent: Announced<PostEdited>,
        users: &UserStore,
        author: &Identity,
        (old, new): (&Post, &Post),
    ) -> Result<Edited, StoreError> {
        let doing = "editing a post";
        let (pk, known) = (posts_pk(old.id.author()), number(old.version));
        let tags: BTreeSet<u64> = hashes(&new.entities).map(|tag| tag.0).collect();
        let set = "SET #text = :text, entities = :entities, extras = :extras, version = :new, edited_at_ms = :at";
        let expression = match tags.is_empty() {
            true => set.to_owned(),
            false => format!("{set} ADD tagged :tags"),
        };
        let update = self
            .table
            .update(key(&pk, old.id))
            .expression(expression)
            // mutation: edit-as-read
            .condition(match old.version {
                1 => "v <= :v AND attribute_exists(#text) AND attribute_not_exists(version)",
                _ => "v <= :v AND attribute_exists(#text) AND version = :old",
            })
            .name("#text", "text")
            .value(":v", number(PostItem::V))
            .value(":text", text(&new.text))
            .value(":entities", text(String::from(new.entities.clone())))
            .value(":extras", text(String::from(new.extras.clone())))
            .value(":new", number(new.version))
            .value(":at", number(new.written_at()));
        let update = if old.version > 1 { update.value(":old", known) } else { update };
        let update = match tags.is_empty() {
            true => update,
            false => update.value(":tags", numbers(tags)),
        };
        let Version { number, text, entities, extras, written_at } = old.present();
        let (sk, v) = (sort_key(number), VersionItem::V);
        let row = VersionItem { sk, v, text, entities, extras, written_at };
        let mut transaction = Transaction::new(doing);
        transaction.add(EditWrite::Post, update);
        let row = self.table.put(write(doing, &versions_pk(old.id), &row)?);
        transaction.add(EditWrite::Version, row);
        transaction.add(EditWrite::Author, users.belongs_to(author));
        Ok(match transaction.commit().await? {
            CommitResult::Done => Edited::Done,
            outcome if outcome.refused(EditWrite::Author) => Edited::NoProfile,
            CommitResult::Refused(_) => Edited::Raced,
        })
    }

    /// The earlier versions of a post, newest first.
    pub async fn versions(&self, post: PostId) -> Result<Vec<Version>, StoreError> {
        let (doing, pk) = ("reading the versions of a post", versions_pk(post));
        let rows = self.table.rows(doing, &pk).newest_first().all(None).await?;
        let version = |row| {
            let VersionItem { sk, text, entities, extras, written_at, .. } = read(doing, row)?;
            let unread = |error: ParseIntError| StoreError::Item { doing, source: error.into() };
            let number = sk.parse().map_err(unread)?;
            Ok(Version { number, text, entities, extras, written_at })
        };
        rows.into_iter().map(version).collect()
    }

    /// Removes the earlier versions of a post.
    pub async fn forget_versions(&self, post: PostId) -> Result<(), StoreError> {
        let doing = "removing the versions of a post";
        let pk = versions_pk(post);
        let rows = self.table.rows(doing, &pk).only("pk, sk").all(None).await?;
        self.table.delete_all(doing, rows).await
    }
}

fn sort_key(number: u64) -> String {
    format!("{number:05}")
}

fn versions_pk(post: PostId) -> Pk {
    ItemKind::Version.pk(post)
}
