//! Decides which feeds of a chunk a post is pushed to.

use std::error::Error;

use fanfold_core::limits::CONCURRENCY;
use fanfold_core::message::DeliverChunk;
use fanfold_store::aws::SdkConfig;
use fanfold_store::dynamo::{GraphStore, PulledStore, ReceiptStore};
use fanfold_store::feeds::{Audience, Reached, push_to_followers};
use fanfold_store::origin::Origin;
use fanfold_store::valkey::Valkey;
use fanfold_store::{Config, StoreError, measure};
use futures::stream::{self, StreamExt as _};

#[derive(Clone)]
pub struct App {
    pub graph: GraphStore,
    pub receipts: ReceiptStore,
    pub pulled: PulledStore,
    pub valkey: Valkey,
}

impl App {
    pub fn new(sdk: &SdkConfig, config: &Config) -> Result<Self, Box<dyn Error + Send + Sync>> {
        Ok(Self {
            graph: GraphStore::new(sdk, config)?,
            receipts: ReceiptStore::new(sdk, config)?,
            pulled: PulledStore::new(sdk, config)?,
            valkey: Valkey::new(sdk, &config.feeds()?)?,
        })
    }
}

/// Pushes chunks, all that are for one bucket in one call, and says of each what came of it. Whether
/// a post still exists is not asked: whoever reads the entry finds out.
pub async fn deliver(
    app: &App,
    chunks: &[DeliverChunk],
    now_ms: u64,
) -> Vec<Result<(), StoreError>> {
    deliver_from(app, chunks, &[], now_ms).await
}

/// The same for chunks of which it is known where they come from.
pub async fn deliver_from(
    app: &App,
    chunks: &[DeliverChunk],
    origins: &[Origin],
    now_ms: u64,
) -> Vec<Result<(), StoreError>> {
    let audiences: Vec<Audience> = chunks
        .iter()
        .map(|chunk| Audience {
            post: chunk.post,
            followers: chunk.followers.clone(),
            read_at_ms: chunk.cut_at_ms,
            pointer: chunk.pointer,
        })
        .collect();
    let reached = push_to_followers(&app.valkey, &app.graph, &audiences, now_ms).await;
    let origins = origins.iter().cloned().chain(std::iter::repeat_with(Origin::current));
    let noted: Vec<_> = chunks
        .iter()
        .zip(reached)
        .zip(origins)
        .map(|((chunk, reached), origin)| {
            origin.scope(async move { note(app, chunk, reached?, now_ms).await })
        })
        .collect();
    stream::iter(noted).buffered(CONCURRENCY).collect().await
}

/// Notes what was delivered. The last to do so knows that all followers have the post, and the
/// pointer that came with it.
async fn note(
    app: &App,
    chunk: &DeliverChunk,
    reached: Reached,
    now_ms: u64,
) -> Result<(), StoreError> {
    let post = chunk.post;
    let lag_ms = now_ms.saturating_sub(post.time_ms());
    reached.log(post, lag_ms);
    measure::deliveries(reached, lag_ms);
    let Some(share) = chunk.share else { return Ok(()) };
    let Some(plan) = app.receipts.done(post, share, reached, now_ms).await? else { return Ok(()) };
    tracing::info!(%post, plan.followers, lag_ms, "all followers have it");
    measure::complete(lag_ms);
    match plan.mark {
        Some(mark) => app.pulled.promote(post.author(), mark).await,
        None => Ok(()),
    }
}
