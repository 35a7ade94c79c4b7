//! The messages of feeds.

use fanfold_core::registry::REBUILDS;
use fanfold_core::{UserId, message};
use serde::{Deserialize, Serialize};

/// The order to rebuild a user's home feed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RebuildFeed {
    /// The owner of the feed.
    pub user: UserId,
    /// The token of the lease that the sender took. The handler continues with it.
    pub lease: String,
}

message!(RebuildFeed 1 on REBUILDS; in groups by |order| order.user);
