//! Decides what becomes of a rebuild that was handed on.

use std::error::Error;

use fanfold_core::message::RebuildFeed;
use fanfold_store::aws::SdkConfig;
use fanfold_store::feeds::{Feeds, Reading, Rebuilt};
use fanfold_store::valkey::Feed;
use fanfold_store::{Config, StoreError};

#[derive(Clone)]
pub struct App {
    pub feeds: Feeds,
}

impl App {
    pub fn new(sdk: &SdkConfig, config: &Config) -> Result<Self, Box<dyn Error + Send + Sync>> {
        Ok(Self { feeds: Feeds::new(sdk, config)? })
    }
}

/// Rebuilds a feed, unless somebody else does by now: the next reader sees to it then.
pub async fn rebuild(app: &App, order: &RebuildFeed, now_ms: u64) -> Result<Rebuilt, StoreError> {
    let reading = Reading::new(now_ms);
    app.feeds.rebuild(Feed::home(order.user), Some(&order.lease), &reading).await
}
