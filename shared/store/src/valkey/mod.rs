//! Valkey: feeds as sorted sets. All writes go through the scripts in `lua/`, one function each.

mod address;
mod drop;
pub mod iam;
pub mod keys;
mod link;
mod node;
pub mod probe;
mod read;
mod rebuild;
mod relate;
mod scripts;
mod sweep;
mod write;

use aws_config::SdkConfig;
use fanfold_core::limits::TOUCH_EVERY_MS;
use redis::RedisError;

use crate::config::{ConfigError, FeedSettings};
use crate::error::StoreError;
pub use address::Address;
use iam::Tokens;
pub use keys::{Feed, FeedKind, Keys};
pub use link::{Access, Answers, Link};
pub use read::{Held, Read};
pub use rebuild::Begun;
pub use relate::{Backfill, Related};
pub use write::{Chosen, Forgotten, Push, Pushed};

/// The feeds of a deployment.
#[derive(Clone)]
pub struct Valkey {
    link: Link,
    keys: Keys,
    cap: usize,
    touch_every_ms: u64,
}

impl Valkey {
    /// Fetches no credentials and connects to nothing yet.
    pub fn new(sdk: &SdkConfig, settings: &FeedSettings) -> Result<Self, ConfigError> {
        let tokens = settings.iam.clone().map(|login| Tokens::new(login, sdk)).transpose()?;
        let access = Access { authority: settings.authority.clone(), tokens };
        let link = Link::to(settings.redis.clone(), access).map_err(|error| {
            let (name, takes) = match settings.authority {
                Some(_) => ("REDIS_CA_FILE", "a file of certificates in PEM form"),
                None => ("REDIS_URL", "the address of a Valkey server"),
            };
            ConfigError::Bad { name, value: error.to_string(), takes: takes.to_owned() }
        })?;
        Ok(Self::over(link, settings))
    }

    pub fn over(link: Link, settings: &FeedSettings) -> Self {
        Self {
            link,
            keys: Keys::new(settings.buckets),
            cap: settings.cap,
            // a feed that is being read must never look as if it were not
            touch_every_ms: TOUCH_EVERY_MS.min(settings.inactive_after_s * 100),
        }
    }

    pub fn keys(&self) -> Keys {
        self.keys
    }

    /// The members above which a feed is trimmed.
    fn full(&self) -> usize {
        fanfold_core::limits::trim_above(self.cap)
    }

    /// Where a trim cuts back to, and so how many entries a rebuild looks for.
    pub fn keep(&self) -> usize {
        fanfold_core::limits::trim_to(self.cap)
    }
}

fn failed(doing: &'static str) -> impl Fn(RedisError) -> StoreError {
    move |source| StoreError::Valkey { doing, source }
}
