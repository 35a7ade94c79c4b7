//! The stores that feeds are read from.

use fanfold_core::message::RebuildOrder;
use fanfold_runtime::aws::SdkConfig;
use fanfold_runtime::config::{Config, ConfigError};
use fanfold_runtime::sqs::Queue;

use super::pulled::PulledStore;
use crate::follows::items::GraphStore;
use crate::people::items::UserStore;
use crate::posts::items::PostStore;
use fanfold_engines::valkey::{Valkey, WriteLimit};

/// The most followed authors with which a home feed is rebuilt within the request. With more, the page is
/// pulled, and the feed is rebuilt through a queue.
const REBUILD_INLINE_AUTHORS: usize = 64;

/// What pages below the floor of a home feed may cost.
#[derive(Clone)]
pub struct PullBudget {
    /// The profiles, which count the changes of relations.
    pub users: UserStore,
    /// The queries that a reader may make.
    pub limit: WriteLimit,
}

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
    /// What pages below the floor of a home feed may cost. `None`: they have no limit, and each is pulled.
    pub budget: Option<PullBudget>,
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
            budget: None,
            inline_authors: REBUILD_INLINE_AUTHORS,
        })
    }
}
