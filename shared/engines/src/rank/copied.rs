//! What is copied, and from where.

use std::time::Duration;

use fanfold_core::{Board, MemberName, RoundId, Scores, Time};
use fanfold_runtime::StoreError;
use futures::future::{BoxFuture, ready};

use crate::valkey::{BoardChange, Valkey};

/// The client of Valkey, the source `S` of rows, and how many rows a request may read.
pub struct Copier<'a, S> {
    /// The copies.
    pub valkey: &'a Valkey,
    /// Where rows are read, and orders are sent.
    pub source: &'a S,
    /// Rows of a part that a request reads to make a copy; see [`BOARD_ROWS_IN_REQUEST`](fanfold_core::limits::BOARD_ROWS_IN_REQUEST).
    pub rows_in_request: i32,
}

impl<S> Clone for Copier<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for Copier<'_, S> {}

/// What Valkey has a copy of.
pub trait Copied<S: Sync>: Send + Sync {
    /// The board in Valkey.
    fn board(&self) -> Board;
    /// How long Valkey keeps the copy after its last use.
    fn kept(&self) -> Duration;
    /// The name of the copy in the list of its bucket, for the audit. `None`: the audit does not compare it.
    fn named(&self) -> Option<String> {
        None
    }
    /// The version of a copy that is made again and again. `None`: the copy has every change.
    fn version(&self) -> Option<Version> {
        None
    }
    /// Another version of it.
    fn with_version(&self, version: u64) -> Self
    where
        Self: Sized;
    /// Sends the order to make the copy with a lease, from a place on.
    fn send_order<'a>(
        &'a self,
        source: &'a S,
        from: Place,
        lease: &'a str,
    ) -> BoxFuture<'a, Result<(), StoreError>>;
    /// What the copy is made from.
    fn rows<'a>(&'a self, source: &'a S, now: Time) -> RowsOf<'a, S>;
    /// Removes the rows of some members who fell out of the copy. Returns whether there are others.
    fn remove_out<'a>(&'a self, _: &'a S, _: Time) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(ready(Ok(false)))
    }
}

/// The rows of a copy, when they are known.
pub type RowsOf<'a, S> = BoxFuture<'a, Result<Box<dyn RowSource<S>>, StoreError>>;

/// What a copy is made from.
pub trait RowSource<S: Sync>: Send + Sync {
    /// The number of queries that read a part.
    fn queries(&self) -> usize {
        1
    }
    /// The rows of one part. `None`: it has more than `limit`.
    fn part<'a>(
        &'a self,
        source: &'a S,
        part: u8,
        limit: Option<i32>,
    ) -> BoxFuture<'a, Result<Option<Vec<BoardChange>>, StoreError>>;
    /// Some rows of a part from a place on, and the member after which the next ones begin. `None`: these are the last ones.
    fn page<'a>(
        &'a self,
        source: &'a S,
        from: &'a Place,
    ) -> BoxFuture<'a, Result<RowsPage, StoreError>> {
        Box::pin(async move {
            Ok((self.part(source, from.part, None).await?.unwrap_or_default(), None))
        })
    }
}

/// Some rows, and the member after which the next ones begin.
pub type RowsPage = (Vec<BoardChange>, Option<MemberName>);

/// Where a copy continues: in a part, after a member of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The part.
    pub part: u8,
    /// The member after which it continues. `None`: at the beginning of the part.
    pub after: Option<MemberName>,
}

impl Place {
    /// The beginning.
    pub const FIRST: Self = Self { part: 0, after: None };
}

/// A version of a copy that is made again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version {
    /// Names all versions together.
    pub of: RoundId,
    /// The number of this one. Later ones have greater numbers.
    pub number: u64,
}

/// Whether a copy was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Made {
    /// It is ready. If this call made it, these are the best ones of the members that fell out.
    Ready(Vec<(MemberName, Scores)>),
    /// A request is making it, so it is soon ready.
    Soon,
    /// Messages make it.
    Queued,
}
