//! What an environment of a function has read or done lately, in its memory.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fanfold_core::Time;

/// The most things that are remembered, if they are small.
const RECENT_MAX: usize = 10_000;

/// Things that are remembered for a while, each with a value.
#[derive(Clone)]
pub struct Recent<K, V = ()> {
    seen: Arc<Mutex<HashMap<K, (Time, V)>>>,
    kept: Duration,
    max: usize,
}

impl<K: Eq + Hash, V: Clone> Recent<K, V> {
    /// Remembers small things for this long.
    pub fn of(kept: Duration) -> Self {
        Self::at_most(RECENT_MAX, kept)
    }

    /// Remembers at most so many things for this long.
    pub fn at_most(max: usize, kept: Duration) -> Self {
        Self { seen: Arc::default(), kept, max }
    }

    /// The same of another environment, which remembers nothing yet.
    #[doc(hidden)]
    pub fn forgetful(&self) -> Self {
        Self::at_most(self.max, self.kept)
    }

    /// Remembers a thing. If there are too many, those that are no longer remembered go, or else all.
    pub fn note(&self, of: K, value: V, now: Time) {
        let mut seen = self.seen();
        if seen.len() >= self.max && !seen.contains_key(&of) {
            seen.retain(|_, (at, _)| now < *at + self.kept);
        }
        if seen.len() >= self.max && !seen.contains_key(&of) {
            seen.clear();
        }
        seen.insert(of, (now, value));
    }

    /// The value of a thing that is remembered.
    pub fn get<Q: Eq + Hash + ?Sized>(&self, of: &Q, now: Time) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let seen = self.seen();
        // mutation: recent-kept
        seen.get(of).filter(|(at, _)| now < *at + self.kept).map(|(_, value)| value.clone())
    }

    /// Whether a thing is remembered.
    pub fn contains<Q: Eq + Hash + ?Sized>(&self, of: &Q, now: Time) -> bool
    where
        K: Borrow<Q>,
    {
        self.get(of, now).is_some()
    }

    fn seen(&self) -> MutexGuard<'_, HashMap<K, (Time, V)>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_is_bounded() {
        let (recent, at) = (Recent::at_most(2, Duration::from_secs(1)), Time::from_ms);
        recent.note(1, 'a', at(0));
        recent.note(2, 'b', at(900));
        assert_eq!((recent.get(&1, at(999)), recent.get(&1, at(1_000))), (Some('a'), None));
        // the first one has expired, so the second stays
        recent.note(3, 'c', at(1_000));
        assert_eq!((recent.get(&2, at(1_000)), recent.get(&3, at(1_000))), (Some('b'), Some('c')));
        recent.note(3, 'd', at(1_100));
        assert_eq!((recent.get(&2, at(1_100)), recent.get(&3, at(1_100))), (Some('b'), Some('d')));
        recent.note(4, 'e', at(1_200));
        assert_eq!((recent.get(&2, at(1_200)), recent.get(&4, at(1_200))), (None, Some('e')));
    }
}
