//! Who reads.

use std::collections::HashSet;

use fanfold_core::UserId;

/// The user who reads, and what is hidden from that user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Viewer {
    pub user: UserId,
    /// Authors whose posts and profiles are hidden from this viewer.
    pub hidden: HashSet<UserId>,
}

impl Viewer {
    /// A viewer from whom nothing is hidden.
    pub fn of(user: UserId) -> Self {
        Self { user, hidden: HashSet::new() }
    }

    /// Whether this viewer may see a user, with the posts of that user.
    pub(crate) fn sees(&self, user: UserId) -> bool {
        !self.hidden.contains(&user)
    }
}
