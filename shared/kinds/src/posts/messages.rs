//! The messages of posts.

use fanfold_core::fanout::FanoutPart;
use fanfold_core::registry::{CHANGE_EVENTS, POST_EVENTS};
use fanfold_core::{PostId, Time, message};
use serde::{Deserialize, Serialize};

/// A post was published. It is sent before the post is committed, so its
/// handler reads the post first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PostPublished {
    /// The published post.
    pub post: PostId,
    /// The followers of this part of the fan-out. `None`: all followers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<FanoutPart>,
    /// Whether this part uses the bulk queues, which are for large audiences.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bulk: bool,
    /// Whether a pointer to the author is pushed with the post.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pointer: bool,
    /// When a scheduled post was published. The time in its id is the time for which it was scheduled, which can be
    /// long ago. `None`: the time in the id.
    #[serde(default, rename = "published_at_ms", skip_serializing_if = "Option::is_none")]
    pub published_at: Option<Time>,
}

/// A post was deleted. It is sent before the deletion is committed. Its handlers read
/// the post.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PostDeleted {
    /// The deleted post.
    pub post: PostId,
    /// The time of the deletion.
    #[serde(rename = "deleted_at_ms")]
    pub deleted_at: Time,
}

/// A post was edited. It is sent before the new version is committed. Its handler reads the post.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PostEdited {
    /// The post.
    pub post: PostId,
    /// The number of the new version.
    pub version: u64,
    /// The time of the edit.
    #[serde(rename = "edited_at_ms")]
    pub edited_at: Time,
}

impl PostPublished {
    /// The fan-out of a post to all followers.
    pub fn new(post: PostId) -> Self {
        Self { post, part: None, bulk: false, pointer: false, published_at: None }
    }

    /// The fan-out of a scheduled post to all followers, published at this time.
    pub fn scheduled(post: PostId, published_at: Time) -> Self {
        Self { published_at: Some(published_at), ..Self::new(post) }
    }

    /// When the post was published, by the clock of the function that published it.
    pub fn time(&self) -> Time {
        self.published_at.unwrap_or_else(|| self.post.time())
    }

    /// A part of the fan-out of a post, or the rest that a dispatch left.
    pub fn part(post: PostId, part: FanoutPart) -> Self {
        Self { part: Some(part), ..Self::new(post) }
    }
}

message!(PostPublished 1 on POST_EVENTS);
message!(PostEdited 1 on CHANGE_EVENTS; in groups by |event| event.post.author());
message!(PostDeleted 1 on CHANGE_EVENTS, POST_EVENTS; in groups by |event| event.post.author());
