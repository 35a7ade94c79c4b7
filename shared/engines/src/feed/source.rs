//! What the engine of feeds asks of the kinds of feeds.

use std::collections::HashMap;
use std::time::Duration;

use fanfold_core::{FeedId, PostId, Slice, UserId};
use fanfold_runtime::StoreError;
use futures::future::BoxFuture;

use crate::reading::ReadContext;
use crate::valkey::{CachedSlice, RateLimit, Valkey};

/// The feeds in Valkey, over a source of their posts.
pub struct Feeds<'a, S> {
    pub valkey: &'a Valkey,
    pub source: &'a S,
}

/// Where the posts of feeds come from.
pub trait PostSource: Sync {
    /// A copy of a feed of earlier, from which older posts of authors may come.
    type Copy: Sync;

    /// The next posts of an author that are older than `before`, from DynamoDB.
    fn by_author(
        &self,
        author: UserId,
        before: PostId,
        count: usize,
    ) -> impl Future<Output = Result<Slice, StoreError>> + Send;

    /// The newest posts of several authors, each down to a bound of its own, in few calls to DynamoDB. Authors whose bound is
    /// not below `before` are left out, and others may be: their posts are read one author after the other. `copy` is of the
    /// feed that is read.
    fn newest(
        &self,
        authors: &[UserId],
        before: PostId,
        copy: Option<&Self::Copy>,
        reading: &ReadContext,
    ) -> impl Future<Output = Result<HashMap<UserId, Slice>, StoreError>> + Send;

    /// Whether so many readers need the posts of this author that they come from the author feed in Valkey, if it answers.
    fn is_hot(&self, author: UserId, reading: &ReadContext) -> bool;

    /// What a rebuild of a feed reads, after the feed became live. If `passes_on`, the rebuild of very many authors is passed on
    /// through the queue, with the lease `token`. The future is boxed, because few reads of a feed need it.
    fn contents<'a>(
        &'a self,
        feed: FeedId,
        token: String,
        passes_on: bool,
        reading: &'a ReadContext,
    ) -> BoxFuture<'a, Result<Contents, StoreError>>;

    /// Computes the next posts of a feed that are older than `before`, without storing the feed.
    fn pull(
        &self,
        feed: FeedId,
        before: PostId,
        count: usize,
        reading: &ReadContext,
    ) -> impl Future<Output = Result<Slice, StoreError>> + Send;

    /// The next posts of a live feed that are older than `before`, which is below its floor.
    fn below_floor(
        &self,
        feed: FeedId,
        before: PostId,
        count: usize,
        reading: &ReadContext,
    ) -> impl Future<Output = Result<Slice, SliceError>> + Send;
}

/// What a rebuild read for a feed.
pub enum Contents {
    /// The newest posts, and the pulled authors that the feed points to.
    Read(CachedSlice),
    /// The feed has these authors. The rebuild was passed on with its lease.
    Queued(Vec<UserId>),
}

/// Why posts of a feed were not read.
#[derive(Debug)]
pub enum SliceError {
    /// A store did not answer.
    Store(StoreError),
    /// The reader has made too many queries, and must wait for this long.
    Limited { limit: RateLimit, wait: Duration },
}

impl From<StoreError> for SliceError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
