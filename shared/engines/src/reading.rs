//! The state of one request that reads feeds.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use fanfold_core::{Time, UserId};
use fanfold_runtime::clock::Stopwatch;
use fanfold_runtime::error::StoreError;
use fanfold_runtime::log::Chain;

/// The state of one request that reads feeds: its time, and whether Valkey answers. After one failed call, the
/// request does not use Valkey again, because each call to a slow server would take time.
#[derive(Debug)]
pub struct ReadContext {
    /// The time of the request.
    pub now: Time,
    stopwatch: Stopwatch,
    valkey_answers: AtomicBool,
    /// Whose request it is. Reads of old posts are charged to this user.
    pub reader: Option<UserId>,
    /// Whether the newest posts of authors may come from their heads.
    pub uses_heads: bool,
    queries: AtomicU64,
}

impl ReadContext {
    /// A request that uses Valkey.
    pub fn new(now: Time) -> Self {
        Self {
            now,
            stopwatch: Stopwatch::start(),
            valkey_answers: AtomicBool::new(true),
            reader: None,
            uses_heads: true,
            queries: AtomicU64::new(0),
        }
    }

    /// A request of this user.
    pub fn of(reader: UserId, now: Time) -> Self {
        Self { reader: Some(reader), ..Self::new(now) }
    }

    /// A request that reads from DynamoDB only.
    pub fn without_valkey(now: Time) -> Self {
        Self { valkey_answers: AtomicBool::new(false), ..Self::new(now) }
    }

    /// A request that reads the posts themselves, to compare what depends on them.
    pub fn from_posts(now: Time) -> Self {
        Self { uses_heads: false, ..Self::without_valkey(now) }
    }

    /// Whether the request uses Valkey.
    pub fn uses_valkey(&self) -> bool {
        self.valkey_answers.load(Ordering::Relaxed)
    }

    /// The number of queries for posts so far, from either store.
    pub fn queries(&self) -> u64 {
        self.queries.load(Ordering::Relaxed)
    }

    /// Counts a query for posts.
    pub fn count_query(&self) {
        self.count_queries(1);
    }

    /// Counts queries for posts.
    pub fn count_queries(&self, queries: u64) {
        self.queries.fetch_add(queries, Ordering::Relaxed);
    }

    /// The present time: that of the request and the time since then.
    pub fn time(&self) -> Time {
        self.now + self.stopwatch.elapsed()
    }

    /// Makes a call to Valkey. `None` if Valkey does not answer, now or earlier in this request: Valkey is a cache,
    /// so this is not an error. Other errors are returned.
    pub async fn ask<T>(
        &self,
        call: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<Option<T>, StoreError> {
        if !self.valkey_answers.load(Ordering::Relaxed) {
            return Ok(None);
        }
        match call.await {
            Ok(answer) => Ok(Some(answer)),
            // mutation: valkey-away
            Err(error) if error.is_valkey() => {
                tracing::warn!(error = %Chain(&error), "continuing without Valkey");
                self.valkey_answers.store(false, Ordering::Relaxed);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}
