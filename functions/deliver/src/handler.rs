//! Decides which feeds of a chunk a post is pushed to.

use std::error::Error;

use fanfold_core::limits::REL_KEPT_MS;
use fanfold_core::message::DeliverChunk;
use fanfold_store::aws::SdkConfig;
use fanfold_store::dynamo::GraphStore;
use fanfold_store::valkey::{Feed, Pushed, Valkey};
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
    // Valkey knows who unfollowed since the chunk was cut, but not for ever. Half of that time is
    // left for this handler and for clocks that differ.
    let late = now_ms > chunk.cut_at_ms + REL_KEPT_MS / 2;
    let followers = match late {
        true => &app.graph.still_following(chunk.post.author(), &chunk.followers).await?,
        false => &chunk.followers,
    };
    let feeds: Vec<Feed> = followers.iter().copied().map(Feed::home).collect();
    let pushed = app.valkey.push(chunk.post, &feeds).await?;
    let lag_ms = now_ms.saturating_sub(chunk.post.time_ms());
    tracing::info!(post = %chunk.post, ?pushed, late, lag_ms, "delivered");
    Ok(pushed)
}
