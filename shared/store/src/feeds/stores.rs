//! The stores that feeds are read from.

use aws_config::SdkConfig;
use fanfold_core::limits::REBUILD_INLINE_AUTHORS;
use fanfold_core::message::RebuildOrder;
use fanfold_runtime::config::{Config, ConfigError};
use fanfold_runtime::sqs::Queue;

use crate::dynamo::{GraphStore, PostStore, PulledStore};
use crate::valkey::Valkey;

/// The feeds, over both stores.
#[derive(Clone)]
pub struct Feeds {
    /// The feeds in Valkey.
    pub valkey: Valkey,
    /// The posts in DynamoDB.
    pub posts: PostStore,
    /// The relations in DynamoDB.
    pub graph: GraphStore,
    /// The pulled authors.
    pub pulled: PulledStore,
    /// The queue for rebuilds of home feeds of many authors. `None`: every feed is rebuilt at once.
    pub rebuilds: Option<Queue<RebuildOrder>>,
    /// The most followed authors with which a home feed is rebuilt at once.
    pub inline_authors: usize,
}

impl Feeds {
    /// Reads the settings of Valkey and of the tables, without a queue for rebuilds. An error names the setting.
    pub fn new(sdk: &SdkConfig, config: &Config) -> Result<Self, ConfigError> {
        Ok(Self {
            valkey: Valkey::new(sdk, config)?,
            posts: PostStore::new(sdk, config)?,
            graph: GraphStore::new(sdk, config)?,
            pulled: PulledStore::new(sdk, config)?,
            rebuilds: None,
            inline_authors: REBUILD_INLINE_AUTHORS,
        })
    }
}
