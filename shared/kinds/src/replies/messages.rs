//! The message of replies.

use fanfold_core::registry::CHANGE_EVENTS;
use fanfold_core::{PostId, message};
use serde::{Deserialize, Serialize};

/// The order to count the replies to a post. Its handler counts the present replies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountReplies {
    /// The post.
    pub post: PostId,
}

message!(CountReplies 1 on CHANGE_EVENTS; in groups by |order| order.post.author());
