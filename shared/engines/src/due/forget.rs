//! What is removed with the owner of due items.

use fanfold_core::DueEntry;
use fanfold_core::limits::DROP_QUERIES_AT_ONCE;
use fanfold_runtime::StoreError;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};

/// What was removed of a page of a user's items of a kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ForgottenItems {
    /// Items that were found. 0: none is left.
    pub found: u64,
    /// Those that were removed.
    pub items: u64,
    /// Their entries in the index of due items.
    pub entries: Vec<DueEntry>,
    /// Uses of an `Idempotency-Key` that made some of them.
    pub keys: u64,
}

/// Runs removals. Each returns the entry of an item that it removed.
pub async fn forgotten(
    found: usize,
    removals: Vec<impl Future<Output = Result<Option<DueEntry>, StoreError>>>,
) -> Result<ForgottenItems, StoreError> {
    let removed = stream::iter(removals).buffer_unordered(DROP_QUERIES_AT_ONCE);
    let removed: Vec<Option<DueEntry>> = removed.try_collect().await?;
    let entries: Vec<DueEntry> = removed.into_iter().flatten().collect();
    Ok(ForgottenItems { found: found as u64, items: entries.len() as u64, entries, keys: 0 })
}
