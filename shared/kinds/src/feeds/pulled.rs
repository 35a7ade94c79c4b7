//! The pulled authors, whose posts are not pushed. There are few of them, and every fan-out, rebuild and backfill
//! reads them.
//!
//! One item of the users table has an attribute for each pulled author. Before the first post of an author is left
//! out of fan-out, all followers get a pointer to the author, with a post that is still pushed. Until all
//! followers have it, the author is *marking*.

use std::collections::HashMap;

use fanfold_core::kinds::ItemKind;
use fanfold_core::limits::PULLED_AUTHORS_MAX;
use fanfold_core::{PostId, UserId};
use fanfold_engines::table::{Item, Table, Value, Write, check, pk_only, text};
use fanfold_runtime::error::StoreError;

const PULLED: &str = "pulled";
const V: u32 = 1;

/// The state of an author in the list of pulled authors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PulledState {
    /// Pointers are being pushed to all followers, with this post and later ones.
    Marking(PostId),
    /// Every follower has a pointer, and posts are not pushed.
    Pulled,
}

/// The list of pulled authors, in the users table.
#[derive(Clone)]
pub struct PulledStore {
    table: Table,
}

impl PulledStore {
    /// The store over its table.
    pub fn new(table: Table) -> Self {
        Self { table }
    }

    /// All listed authors with their states.
    pub async fn all(&self) -> Result<HashMap<UserId, PulledState>, StoreError> {
        let doing = "reading the pulled authors";
        let item = self.table.get(doing, item_key()).await?;
        let item = item.unwrap_or_default();
        check(doing, &item, V)?;
        let of = |(name, value): (String, Value)| {
            let (author, state) = (name.parse().ok()?, value.as_s().ok()?);
            let state = match state.parse() {
                Ok(post) => PulledState::Marking(post),
                Err(_) => PulledState::Pulled,
            };
            Some((author, state))
        };
        Ok(item.into_iter().filter_map(of).collect())
    }

    /// Adds an author as marking, from this post on. Returns the post. `None` if the author is listed already, or if
    /// [`PULLED_AUTHORS_MAX`] authors are listed in `all`, the result of [`PulledStore::all`].
    pub async fn mark(
        &self,
        author: UserId,
        post: PostId,
        all: &HashMap<UserId, PulledState>,
    ) -> Result<Option<PostId>, StoreError> {
        if all.len() >= PULLED_AUTHORS_MAX {
            return Ok(None);
        }
        let update = self
            .update(author)
            .expression("SET #author = :post, v = :v")
            .condition("attribute_not_exists(#author)")
            .value(":post", text(post));
        let marked = update.changed("marking an author as pulled", V).await?;
        Ok(marked.map(|_| post))
    }

    /// Changes an author from marking to pulled, because every follower has the pointer. Does nothing unless the
    /// author is marking since this post.
    pub async fn promote(&self, author: UserId, since: PostId) -> Result<(), StoreError> {
        let update = self
            .update(author)
            .expression("SET #author = :pulled")
            .condition("#author = :since")
            .value(":pulled", text(PULLED))
            .value(":since", text(since));
        update.changed("leaving an author out of fan-out", V).await.map(drop)
    }

    /// Removes an author from the list, so that later posts are pushed. Remaining pointers do no harm.
    pub async fn release(&self, author: UserId) -> Result<(), StoreError> {
        let update = self.update(author).expression("REMOVE #author");
        update.changed("taking an author back into fan-out", V).await.map(drop)
    }

    fn update(&self, author: UserId) -> Write {
        self.table.update(item_key()).name("#author", author.to_string())
    }
}

fn item_key() -> Item {
    pk_only(&ItemKind::PulledAuthors.pk(""))
}
