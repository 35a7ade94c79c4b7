//! Users whom an environment of a function has seen.
//!
//! **Hot authors.** A partition of DynamoDB answers 3,000 reads a second, and the profile of an author is in one. So many
//! followers of an author may return at once that their reads of the heads would keep the author from posting. The newest posts
//! of an author with [`HOT_FOLLOWERS`] therefore come from the live author feed, and from the profile only if the feed cannot be
//! shown. A function learns who has so many followers from the profiles that it reads.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fanfold_core::{Time, UserId};

/// The followers of an author with very many.
pub(crate) const HOT_FOLLOWERS: u64 = 10_000;
/// How long a function remembers that an author has very many followers.
const HOT_KEPT: Duration = Duration::from_secs(600);
/// How long a function remembers that it has noted a late message of a user.
const LATE_KEPT: Duration = Duration::from_secs(10);
/// The most users that are remembered. All of them are forgotten when there are more.
const RECENT_MAX: usize = 10_000;

/// The users that this environment of a function has seen, and when.
#[derive(Clone)]
pub struct Recent {
    seen: Arc<Mutex<HashMap<UserId, Time>>>,
    kept: Duration,
}

impl Recent {
    /// Authors with very many followers.
    pub fn hot() -> Self {
        Self { seen: Arc::default(), kept: HOT_KEPT }
    }

    /// Users of whom a late message was noted.
    pub fn late() -> Self {
        Self { seen: Arc::default(), kept: LATE_KEPT }
    }

    /// Remembers a user.
    pub(super) fn note(&self, user: UserId, now: Time) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() >= RECENT_MAX {
            seen.clear();
        }
        seen.insert(user, now);
    }

    /// Whether this user is remembered.
    pub fn contains(&self, user: UserId, now: Time) -> bool {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.get(&user).is_some_and(|seen| now < *seen + self.kept)
    }
}
