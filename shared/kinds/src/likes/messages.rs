//! The message of likes.

use fanfold_core::registry::CHANGE_EVENTS;
use fanfold_core::{PostId, message};
use serde::{Deserialize, Serialize};

/// The order to count the likes of a post. Its handler counts the present likes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountLikes {
    /// The post.
    pub post: PostId,
}

message!(CountLikes 1 on CHANGE_EVENTS; in groups by |order| order.post.author());
