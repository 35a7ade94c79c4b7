//! Handles, and the users who have them.

use std::collections::{BTreeSet, HashMap};

use fanfold_core::{Handle, UserId, UserRef};
use fanfold_engines::table::{pk_only, read};
use fanfold_runtime::error::StoreError;

use super::{HandleItem, Profile, UserStore, handle_pk};

impl UserStore {
    /// The user who has a handle. `None` if no user has it.
    pub async fn owner(&self, handle: &Handle) -> Result<Option<UserId>, StoreError> {
        let doing = "looking up a handle";
        let Some(item) = self.get(doing, handle_pk(handle)).await? else { return Ok(None) };
        Ok(Some(read::<HandleItem>(doing, item)?.user))
    }

    /// The users who have these handles. Handles that belong to nobody are left out.
    pub async fn owners(
        &self,
        handles: BTreeSet<&Handle>,
    ) -> Result<HashMap<Handle, UserId>, StoreError> {
        let doing = "looking up handles";
        let keys: HashMap<String, &Handle> =
            handles.into_iter().map(|handle| (handle_pk(handle).to_string(), handle)).collect();
        let items = keys.values().map(|handle| pk_only(&handle_pk(handle))).collect();
        let mut owners = HashMap::new();
        for item in self.table.get_all(doing, items).await? {
            let handle = item.get("pk").and_then(|pk| keys.get(pk.as_s().ok()?));
            let user = read::<HandleItem>(doing, item.clone())?.user;
            owners.extend(handle.map(|handle| ((*handle).clone(), user)));
        }
        Ok(owners)
    }

    /// The profile with this handle. `None` if no user has it.
    pub async fn by_handle(&self, handle: &Handle) -> Result<Option<Profile>, StoreError> {
        let Some(owner) = self.owner(handle).await? else { return Ok(None) };
        let profile = self.profile(owner).await?;
        // the user may have changed the handle between the two reads
        Ok(profile.filter(|profile| profile.handle == *handle))
    }

    /// The profile of a user by id or handle. `None` if there is none.
    pub async fn find(&self, user: &UserRef) -> Result<Option<Profile>, StoreError> {
        match user {
            UserRef::Id(id) => self.profile(*id).await,
            UserRef::Handle(handle) => self.by_handle(handle).await,
        }
    }
}
