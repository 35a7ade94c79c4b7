//! The messages of follows.

use fanfold_core::registry::CHANGE_EVENTS;
use fanfold_core::{Time, UserId, message};
use serde::{Deserialize, Serialize};

/// A user followed or unfollowed an author. It is sent before the change is committed. Its
/// handler reads the present relation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RelationChanged {
    /// The user who followed or unfollowed.
    pub follower: UserId,
    /// The followed or unfollowed author.
    pub author: UserId,
    /// The time of the change.
    #[serde(rename = "changed_at_ms")]
    pub changed_at: Time,
}

/// The order to count an author's followers. Its handler counts the present followers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountFollowers {
    /// The author.
    pub author: UserId,
}

message!(RelationChanged 1 on CHANGE_EVENTS; in groups by |event| event.author);
message!(CountFollowers 1 on CHANGE_EVENTS; in groups by |order| order.author);
