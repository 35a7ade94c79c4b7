//! Users whom an environment of a function has seen.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fanfold_core::{Time, UserId};

/// The most users that are remembered. All of them are forgotten when there are more.
const RECENT_MAX: usize = 10_000;

/// The users that this environment of a function has seen, and when.
#[derive(Clone)]
pub struct Recent {
    seen: Arc<Mutex<HashMap<UserId, Time>>>,
    kept: Duration,
}

impl Recent {
    /// Remembers each user for this long.
    pub fn new(kept: Duration) -> Self {
        Self { seen: Arc::default(), kept }
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
