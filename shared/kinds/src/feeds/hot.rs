//! The authors with very many followers.
//!
//! A partition of DynamoDB answers 3,000 reads a second, and the profile of an author is in one. So many followers of an
//! author may return at once that their reads of the heads would keep the author from posting. The newest posts of such an
//! author therefore come from the live author feed, and from the profile only if the feed cannot be shown. A function
//! learns who has so many followers from the profiles that it reads, and remembers it for [`HOT_KEPT`].

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fanfold_core::{Time, UserId};

/// How long a function remembers that an author has very many followers.
const HOT_KEPT: Duration = Duration::from_secs(600);
/// The most authors that a function remembers. All of them are forgotten when there are more.
const HOT_MAX: usize = 10_000;

/// The authors with very many followers that this environment of a function has seen, and when.
#[derive(Clone, Default)]
pub struct HotAuthors(Arc<Mutex<HashMap<UserId, Time>>>);

impl HotAuthors {
    /// Remembers an author.
    pub(super) fn note(&self, author: UserId, now: Time) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() >= HOT_MAX {
            seen.clear();
        }
        seen.insert(author, now);
    }

    /// Whether this author was seen with very many followers.
    pub fn contains(&self, author: UserId, now: Time) -> bool {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.get(&author).is_some_and(|seen| now < *seen + HOT_KEPT)
    }
}
