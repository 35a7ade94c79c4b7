//! Valkey: feeds as sorted sets. Each script in `lua/` has one function here. Single commands are used where no
//! script is needed.

use std::time::Duration;

mod address;
mod boards;
mod card_id;
mod cards;
mod count;
mod drop;
mod due;
pub mod iam;
pub mod keys;
mod limit;
mod link;
mod node;
mod older;
pub mod probe;
mod read;
mod rebuild;
mod relate;
mod scripts;
mod settings;
mod sweep;
mod write;

use aws_config::SdkConfig;
use fanfold_runtime::config::{Config, ConfigError};
use fanfold_runtime::error::StoreError;
use redis::RedisError;

pub use address::Address;
pub use boards::{
    BoardAnswer, BoardBegun, BoardChange, BoardCommit, BoardLoaded, BoardPage, PageOf, Placed,
    PutDone, Ranked, RankedMember, Standing, Standings, Versions,
};
pub use card_id::CardId;
pub use cards::{CardRead, Fill};
pub use count::{CountRequest, Counted};
pub use due::{DueLease, DueLoad, Lease, Loaded, Taken};
use iam::Tokens;
pub use keys::{Key, Keys};
pub use limit::RateLimit;
pub use link::{Access, Answers, Link};
pub use older::Older;
pub use read::{CachedSlice, Read};
pub use rebuild::RebuildStart;
pub use relate::{Backfill, RelationApplied};
pub use scripts::texts as script_texts;
pub use settings::FeedSettings;
pub use write::{Chosen, FailedPush, Forgotten, Push, Pushed};

/// The least time between two updates of the time at which a feed was last read.
const TOUCH_EVERY: Duration = Duration::from_secs(30);

/// The feeds of a deployment in Valkey.
#[derive(Clone)]
pub struct Valkey {
    link: Link,
    keys: Keys,
    cap: usize,
    touch_every: Duration,
    /// The most entries of the queue of cards of a bucket.
    card_entries: usize,
}

impl Valkey {
    /// Reads the settings and builds the client. An error names the setting that is missing or malformed.
    pub fn new(sdk: &SdkConfig, config: &Config) -> Result<Self, ConfigError> {
        Self::with_settings(sdk, &FeedSettings::read(config)?)
    }

    /// Builds the client. It connects with the first command. Fails if the login with IAM lacks a region or
    /// credentials, or if an address or a certificate cannot be used.
    pub fn with_settings(sdk: &SdkConfig, settings: &FeedSettings) -> Result<Self, ConfigError> {
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

    /// Builds the client over an existing connection.
    pub fn over(link: Link, settings: &FeedSettings) -> Self {
        Self {
            link,
            keys: Keys::new(settings.buckets),
            cap: settings.cap,
            card_entries: settings.card_entries(),
            // short enough that a feed which is read never looks unused
            touch_every: TOUCH_EVERY.min(settings.inactive_after / 10),
        }
    }

    /// The names of the keys.
    pub fn keys(&self) -> Keys {
        self.keys
    }

    /// The number of members above which a feed is trimmed.
    fn full(&self) -> usize {
        fanfold_core::limits::trim_above(self.cap)
    }

    /// The number of posts that a trim leaves and that a rebuild reads.
    pub fn keep(&self) -> usize {
        fanfold_core::limits::trim_to(self.cap)
    }
}

fn failed(doing: &'static str) -> impl Fn(RedisError) -> StoreError {
    move |source| StoreError::valkey(doing)(source)
}
