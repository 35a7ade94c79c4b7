//! The messages of tags.

use fanfold_core::registry::CHUNKS;
use fanfold_core::{PostId, message};
use serde::{Deserialize, Serialize};

/// The order to put a post into the feeds of its tags, and to take it out of those of tags that it no longer has. Its handler reads
/// the post.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UpdateTagFeeds {
    /// The post.
    pub post: PostId,
}

message!(UpdateTagFeeds 1 on CHUNKS);
