//! What a look-ahead reads.

use fanfold_core::{DueEntry, DuePart, Hour, Time};
use fanfold_runtime::StoreError;

use super::engine::Due;
use super::index::{Entries, EntryPlace};

/// What a look-ahead works with.
#[derive(Clone, Copy)]
pub(super) struct Look<'a> {
    pub due: Due<'a>,
    /// The tags of all kinds. Entries of others stay where they are: newer functions know them.
    pub tags: &'a [&'a str],
}

impl Look<'_> {
    pub fn knows(self, entry: &DueEntry) -> bool {
        self.tags.contains(&entry.item.tag.as_str())
    }

    /// A page of the entries of an hour that are known.
    pub async fn entries(
        self,
        (part, hour): (DuePart, Hour),
        times: (Time, Time),
        after: Option<EntryPlace>,
    ) -> Result<Entries, StoreError> {
        let mut page = self.due.index.entries(part, hour, times, after).await?;
        let all = page.entries.len();
        page.entries.retain(|row| self.knows(&row.entry));
        page.unknown += (all - page.entries.len()) as u64;
        if page.unknown > 0 {
            tracing::warn!(%part, %hour, unknown = page.unknown, "the index has unknown entries");
        }
        Ok(page)
    }
}
