use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::StoreError;
use crate::log::Chain;

/// One request's reading of feeds: when it is, and whether Valkey answers it. Once Valkey did not,
/// it is not asked again: a server that is slow would be waited for each time.
#[derive(Debug)]
pub struct Reading {
    pub now_ms: u64,
    valkey_answers: AtomicBool,
}

impl Reading {
    pub fn new(now_ms: u64) -> Self {
        Self { now_ms, valkey_answers: AtomicBool::new(true) }
    }

    /// From DynamoDB alone.
    pub fn without_valkey(now_ms: u64) -> Self {
        Self { now_ms, valkey_answers: AtomicBool::new(false) }
    }

    /// What Valkey has to say, if it answers. That it does not is no error: it is a cache.
    pub async fn ask<T>(
        &self,
        call: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<Option<T>, StoreError> {
        if !self.valkey_answers.load(Ordering::Relaxed) {
            return Ok(None);
        }
        match call.await {
            Ok(answer) => Ok(Some(answer)),
            Err(error) if error.is_valkey() => {
                tracing::warn!(error = %Chain(&error), "going on without Valkey");
                self.valkey_answers.store(false, Ordering::Relaxed);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}
