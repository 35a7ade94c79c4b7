//! Decides which feeds of a chunk a post is pushed to.

use std::error::Error;

use fanfold_core::message::DeliverChunk;
use fanfold_store::aws::SdkConfig;
use fanfold_store::dynamo::GraphStore;
use fanfold_store::feeds::push_to_followers;
use fanfold_store::valkey::{Pushed, Valkey};
use fanfold_store::{Config, StoreError};

#[derive(Clone)]
pub struct App {
    pub graph: GraphStore,
    pub valkey: Valkey,
}

impl App {
    pub fn new(sdk: &SdkConfig, config: &Config) -> Result<Self, Box<dyn Error + Send + Sync>> {
        Ok(Self { graph: GraphStore::new(sdk, config)?, valkey: Valkey::new(&config.feeds()?)? })
    }
}

/// Pushes a chunk. Whether the post still exists is not asked: whoever reads the entry finds out.
pub async fn deliver(app: &App, chunk: &DeliverChunk, now_ms: u64) -> Result<Pushed, StoreError> {
    let (post, cut_at_ms) = (chunk.post, chunk.cut_at_ms);
    let push =
        push_to_followers(&app.valkey, &app.graph, post, &chunk.followers, cut_at_ms, now_ms);
    let pushed = push.await?;
    tracing::info!(%post, ?pushed, lag_ms = now_ms.saturating_sub(post.time_ms()), "delivered");
    Ok(pushed)
}
