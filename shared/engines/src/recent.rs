//! What an environment of a function has read or done lately, in its memory.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fanfold_core::Time;

/// The most things that are remembered. All of them are forgotten when there are more.
const RECENT_MAX: usize = 10_000;

/// Things that are remembered for a while, each with a value.
#[derive(Clone)]
pub struct Recent<K, V = ()> {
    seen: Arc<Mutex<HashMap<K, (Time, V)>>>,
    kept: Duration,
}

impl<K: Eq + Hash, V: Clone> Recent<K, V> {
    /// Remembers things for this long.
    pub fn of(kept: Duration) -> Self {
        Self { seen: Arc::default(), kept }
    }

    /// Remembers a thing.
    pub fn note(&self, of: K, value: V, now: Time) {
        let mut seen = self.seen();
        if seen.len() >= RECENT_MAX {
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
