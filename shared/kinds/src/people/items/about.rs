//! The items with what users say about themselves.

use std::collections::HashMap;

use fanfold_core::UserId;
use fanfold_core::kinds::{ItemKind, Pk};
use fanfold_engines::table::{Item, Stored, Write, pk_only, read, text, write};
use fanfold_runtime::error::StoreError;
use serde::{Deserialize, Serialize};

use super::UserStore;
use crate::people::about::About;

#[derive(Serialize, Deserialize)]
struct AboutItem {
    v: u32,
    user: UserId,
    /// In JSON.
    about: String,
}

impl Stored for AboutItem {
    const V: u32 = 1;
}

impl UserStore {
    /// What a user says about themselves.
    pub async fn about(&self, user: UserId) -> Result<About, StoreError> {
        let item = self.get("reading a profile", about_pk(user)).await?;
        Ok(item.map(about_of).transpose()?.map_or_else(About::default, |(_, about)| about))
    }

    /// What these users say about themselves. Users who say nothing are left out.
    pub async fn abouts(&self, users: &[UserId]) -> Result<HashMap<UserId, About>, StoreError> {
        let keys = users.iter().map(|user| pk_only(&about_pk(*user))).collect();
        let items = self.table.get_all("reading profiles", keys).await?;
        items.into_iter().map(about_of).collect()
    }

    /// The write of what a user says, if it is as it was read.
    pub(super) fn put_about(
        &self,
        doing: &'static str,
        user: UserId,
        (old, new): (&About, &About),
    ) -> Result<Write, StoreError> {
        let pk = about_pk(user);
        let write = match new.is_empty() {
            true => self.table.delete(pk_only(&pk)),
            false => {
                let item = AboutItem { v: AboutItem::V, user, about: json(doing, new)? };
                self.table.put(write(doing, &pk, &item)?)
            }
        };
        Ok(match old.is_empty() {
            true => write.condition("attribute_not_exists(pk)"),
            false => write.condition("about = :old").value(":old", text(json(doing, old)?)),
        })
    }

    /// Removes what a user said.
    pub async fn forget_about(&self, user: UserId) -> Result<(), StoreError> {
        self.table.delete(pk_only(&about_pk(user))).deleted("removing a profile").await
    }
}

fn json(doing: &'static str, about: &About) -> Result<String, StoreError> {
    let json = serde_json::to_string(about);
    json.map_err(|source| StoreError::Item { doing, source: source.into() })
}

fn about_of(item: Item) -> Result<(UserId, About), StoreError> {
    let doing = "reading a profile";
    let AboutItem { user, about, .. } = read(doing, item)?;
    let about = serde_json::from_str(&about)
        .map_err(|source| StoreError::Item { doing, source: source.into() })?;
    Ok((user, about))
}

fn about_pk(user: UserId) -> Pk {
    ItemKind::About.pk(user)
}
