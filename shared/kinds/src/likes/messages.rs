//! The messages of likes.

use fanfold_core::registry::CHANGE_EVENTS;
use fanfold_core::{PostId, Time, UserId, message};
use serde::{Deserialize, Serialize};

/// A user liked a post, or took the like back. It is sent before the change is committed. Its handler
/// reads the present state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LikeChanged {
    /// The user.
    pub user: UserId,
    /// The post.
    pub post: PostId,
    /// The token of the like that the commit adds. Another like of the same user and post has another token. `None`: a like
    /// is taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// The time of the change.
    #[serde(rename = "changed_at_ms")]
    pub changed_at: Time,
}

/// The order to count the likes of a post. Its handler counts the present likes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountLikes {
    /// The post.
    pub post: PostId,
}

// mutation: graph-group
message!(LikeChanged 1 on CHANGE_EVENTS; in groups by |event| event.post.author());
message!(CountLikes 1 on CHANGE_EVENTS; in groups by |order| order.post.author());
