//! Writes and reads of heads.

use std::collections::HashMap;

use fanfold_core::kinds::ItemKind;
use fanfold_core::limits::CLOCKS_DIFFER;
use fanfold_core::{PostId, Slice, Time, UserId};
use fanfold_engines::table::{Stored as _, Write, check, number, owner, pk_only, words};
use fanfold_runtime::error::StoreError;

use super::heads::{HeadChange, Heads};
use super::{
    Counter, HAS_PROFILE, Owner, ProfileItem, UserStore, counted, has_profile, profile_pk,
};

/// What a read of heads needs of a profile.
const ATTRIBUTES: &str = "pk, v, handle, heads, head_floor, followers, late_at_ms";

/// What a rebuild reads of an author's profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorHeads {
    /// The newest posts, down to the floor.
    pub newest: Slice,
    /// The number of followers at the last count.
    pub followers: u64,
    /// When a message about this user was last handled late ([`UserStore::late`]).
    pub late_at: Time,
}

impl UserStore {
    /// The write that adds to counters of an author's profile, on the conditions of [`Counter::add`], and changes the heads.
    pub(crate) fn count_posts(
        &self,
        changes: &[(Counter, i64)],
        heads: &HeadChange,
        owner: Owner<'_>,
    ) -> Write {
        let changes = changes.iter().map(|(counter, by)| (*counter, *by, counter.max()));
        let (update, adds, condition) = counted(&self.table, &changes.collect::<Vec<_>>(), owner);
        heads.in_write(update, adds, condition)
    }

    /// The heads of several authors. Authors without a profile are left out.
    pub async fn heads(
        &self,
        authors: &[UserId],
    ) -> Result<HashMap<UserId, AuthorHeads>, StoreError> {
        let doing = "reading the newest posts of authors";
        let keys = authors.iter().map(|author| pk_only(&profile_pk(*author))).collect();
        let mut heads = HashMap::new();
        for item in self.table.get_parts(doing, keys, Some(ATTRIBUTES)).await? {
            check(doing, &item, ProfileItem::V)?;
            let author = owner(ItemKind::User, &item).and_then(|author| author.parse().ok());
            let Some(author) = author.filter(|_| has_profile(&item)) else { continue };
            let number = |name: &str| item.get(name)?.as_n().ok()?.parse::<u64>().ok();
            let of = AuthorHeads {
                newest: Heads::of(doing, &item)?.newest(author),
                followers: number("followers").unwrap_or(0),
                late_at: number("late_at_ms").map_or(Time::EPOCH, Time::from_ms),
            };
            heads.insert(author, of);
        }
        Ok(heads)
    }

    /// Removes the heads of an author that differ from the posts, and raises the floor to the newest of all of them, and to
    /// `now`. A post that is published after the heads were read changes them, so that nothing is written. Returns whether the
    /// heads were removed.
    pub(crate) async fn forget_heads(
        &self,
        author: UserId,
        read: &Heads,
        newest: PostId,
        now: Time,
    ) -> Result<bool, StoreError> {
        let present = PostId::last_of(now + CLOCKS_DIFFER).head();
        let all = read.read.iter().copied().chain([newest.head(), read.floor]);
        let update = self.table.update(pk_only(&profile_pk(author)));
        let update = update
            .expression("SET head_floor = :floor REMOVE heads")
            .value(":floor", number(all.fold(present, u64::max)));
        let update = match read.read.is_empty() {
            true => update.condition(format!("{HAS_PROFILE} AND attribute_not_exists(heads)")),
            false => update
                .condition(format!("{HAS_PROFILE} AND heads = :read"))
                .value(":read", words(read.read.iter().copied())),
        };
        Ok(update.changed("removing heads that differ", ProfileItem::V).await?.is_some())
    }

    /// Notes that a post or a relation of this user is handled late: copies of feeds that were made up to now may lack it.
    pub async fn late(&self, user: UserId, now: Time) -> Result<(), StoreError> {
        let update = self.table.update(pk_only(&profile_pk(user)));
        let update = update
            .expression("SET late_at_ms = :late")
            .condition(format!(
                "{HAS_PROFILE} AND (attribute_not_exists(late_at_ms) OR late_at_ms < :late)"
            ))
            .value(":late", number(now));
        update.changed("noting a late message", ProfileItem::V).await.map(drop)
    }
}
