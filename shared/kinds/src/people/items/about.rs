//! The items with what users say about themselves.

use std::collections::HashMap;

use fanfold_core::UserId;
use fanfold_core::kinds::{ItemKind, Pk};
use fanfold_engines::table::{Stored, Write, number, pk_only, read, write};
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

    /// The write of what a user says.
    pub(super) fn put_about(
        &self,
        doing: &'static str,
        user: UserId,
        about: &About,
    ) -> Result<Write, StoreError> {
        if about.is_empty() {
            return Ok(self.table.delete(pk_only(&about_pk(user))));
        }
        let json = serde_json::to_string(about)
            .map_err(|source| StoreError::Item { doing, source: source.into() })?;
        let item = AboutItem { v: AboutItem::V, user, about: json };
        let put = self.table.put(write(doing, &about_pk(user), &item)?);
        Ok(put.condition("attribute_not_exists(pk) OR v <= :v").value(":v", number(AboutItem::V)))
    }

    /// Removes what a user said.
    pub async fn forget_about(&self, user: UserId) -> Result<(), StoreError> {
        self.table.delete(pk_only(&about_pk(user))).deleted("removing a profile").await
    }
}

fn about_of(item: fanfold_engines::table::Item) -> Result<(UserId, About), StoreError> {
    let doing = "reading a profile";
    let AboutItem { user, about, .. } = read(doing, item)?;
    let about = serde_json::from_str(&about)
        .map_err(|source| StoreError::Item { doing, source: source.into() })?;
    Ok((user, about))
}

fn about_pk(user: UserId) -> Pk {
    ItemKind::About.pk(user)
}
