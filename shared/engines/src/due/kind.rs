//! A kind of due items: what the engine asks of it.

use fanfold_core::{DueEntry, Time};
use fanfold_runtime::StoreError;
use futures::future::BoxFuture;

use super::message::ItemDue;
use crate::table::Write;

/// A kind of due items, over the stores `S`.
pub struct DueKind<S> {
    /// Names the kind in entries.
    pub tag: &'static str,
    /// Publishes or fires an item whose time has come. Reads the item: only the entry that it has now is due. The message may
    /// come before the commit of its item, twice, or late.
    pub handle: for<'a> fn(&'a S, &'a ItemDue, Time) -> Handling<'a>,
    /// The condition that an entry of the kind is a stray: its item is gone, or has another time, or was done.
    pub stray: fn(&S, &DueEntry) -> Result<Write, StoreError>,
}

/// The handling of an item. With the result comes what shows it in Valkey, if it must be shown.
pub type Handling<'a> = BoxFuture<'a, Result<(Handled, Option<Showing<'a>>), StoreError>>;

/// The calls of Valkey that show what was done.
pub type Showing<'a> = BoxFuture<'a, ()>;

/// The result of handling the message of a due item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handled {
    /// The post is published, or the timer fired.
    Done,
    /// The item is gone, or has another time, or was done before.
    NothingToDo,
    /// The message came before the item's time. It was sent again, or a look-ahead hands it on again.
    Early,
}
