//! Valkey: feeds as sorted sets. All writes go through the scripts in `lua/`, one function each.

pub mod keys;
mod read;
mod rebuild;
mod scripts;
mod sweep;
mod write;

use std::time::Duration;

use fanfold_core::limits::TOUCH_EVERY_MS;
use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::{Client, RedisError};

use crate::config::FeedSettings;
use crate::error::StoreError;
pub use keys::{Feed, FeedKind, Keys};
pub use read::Read;
pub use rebuild::Begun;
pub use write::{Backfill, Pushed, Related};

/// The feeds of a deployment.
#[derive(Clone)]
pub struct Valkey {
    connection: ConnectionManager,
    keys: Keys,
    cap: usize,
    touch_every_ms: u64,
}

impl Valkey {
    /// Connects when the first command needs it: a function starts, and reads are answered from
    /// DynamoDB, while Valkey is away.
    pub fn new(settings: &FeedSettings) -> Result<Self, StoreError> {
        let error = |source| StoreError::Valkey { doing: "reading REDIS_URL", source };
        let client = Client::open(settings.redis_url.as_str()).map_err(error)?;
        let config = ConnectionManagerConfig::new()
            .set_number_of_retries(1)
            .set_min_delay(Duration::from_millis(20))
            .set_max_delay(Duration::from_millis(100))
            .set_connection_timeout(Some(Duration::from_millis(700)))
            .set_response_timeout(Some(Duration::from_millis(1_500)));
        let connection = ConnectionManager::new_lazy_with_config(client, config).map_err(error)?;
        Ok(Self {
            connection,
            keys: Keys::new(settings.buckets),
            cap: settings.cap,
            // a feed that is being read must never look as if it were not
            touch_every_ms: TOUCH_EVERY_MS.min(settings.inactive_after_s * 100),
        })
    }

    pub fn keys(&self) -> Keys {
        self.keys
    }

    /// Where a trim cuts back to, and so how many entries a rebuild looks for.
    pub fn keep(&self) -> usize {
        fanfold_core::limits::trim_to(self.cap)
    }
}

fn failed(doing: &'static str) -> impl Fn(RedisError) -> StoreError {
    move |source| StoreError::Valkey { doing, source }
}
