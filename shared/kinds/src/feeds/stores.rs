//! The stores that feeds are read from.

use fanfold_engines::valkey::{RateLimit, Valkey};
use fanfold_runtime::sqs::Outbox;

use super::pulled::PulledStore;
use crate::follows::items::GraphStore;
use crate::people::items::UserStore;
use crate::posts::items::PostStore;

/// The most followed authors with which a home feed is rebuilt within the request. With more, the page is
/// pulled, and the feed is rebuilt through a queue.
pub(crate) const REBUILD_INLINE_AUTHORS: usize = 64;

/// The feeds, over both stores.
#[derive(Clone)]
pub struct Feeds {
    /// The feeds in Valkey.
    pub valkey: Valkey,
    /// The posts in DynamoDB.
    pub posts: PostStore,
    /// The relations in DynamoDB.
    pub graph: GraphStore,
    /// The pulled authors.
    pub pulled: PulledStore,
    /// The profiles, which count the changes of relations.
    pub users: UserStore,
    /// Sends the rebuilds of home feeds of many authors.
    pub outbox: Outbox,
    /// The queries of pulls below the floor of a home feed that a reader may make.
    pub pulls: RateLimit,
    /// The most followed authors with which a home feed is rebuilt at once.
    pub inline_authors: usize,
}
