//! The messages of people.

use fanfold_core::registry::CHANGE_EVENTS;
use fanfold_core::{Time, UserId, message};
use serde::{Deserialize, Serialize};

/// A user created, changed or lost a profile. It is sent before the change is committed. Its handler
/// reads the present profile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileChanged {
    /// The user.
    pub user: UserId,
    /// The time of the change.
    #[serde(rename = "changed_at_ms")]
    pub changed_at: Time,
    /// The number of changes that the profile will have. `None`: the profile is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u64>,
}

message!(ProfileChanged 1 on CHANGE_EVENTS; in groups by |event| event.user);
