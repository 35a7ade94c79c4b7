//! The message of marks.

use fanfold_core::registry::CHANGE_EVENTS;
use fanfold_core::{PostId, Time, UserId, message};
use serde::{Deserialize, Serialize};

use super::kind::MarkKind;

/// A user marked a post, or removed the mark. It is sent before the change is committed. Its handler reads the present state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MarkChanged {
    /// The kind of mark.
    pub kind: MarkKind,
    /// The user.
    pub user: UserId,
    /// The post.
    pub post: PostId,
    /// The token of the mark that the commit adds. Another mark of the same user and post has another token. `None`: a mark is
    /// removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// The time of the change.
    #[serde(rename = "changed_at_ms")]
    pub changed_at: Time,
}

message!(MarkChanged 1 on CHANGE_EVENTS; in groups by |event| event.post.author());
