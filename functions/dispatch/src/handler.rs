//! Decides who gets a post, and how it is brought to them.

use std::error::Error;

use fanfold_core::limits::{COMMIT_GRACE_MS, FOLLOWERS_PER_QUERY, SEND_BATCH_MAX};
use fanfold_core::message::{DeliverChunk, PostPublished};
use fanfold_core::{PostId, UserId};
use fanfold_store::aws::SdkConfig;
use fanfold_store::dynamo::posts::{PostState, PostStore};
use fanfold_store::dynamo::{GraphStore, UserStore, look_again};
use fanfold_store::sqs::Queue;
use fanfold_store::valkey::{Feed, Valkey};
use fanfold_store::{Config, StoreError};

#[derive(Clone)]
pub struct App {
    pub posts: PostStore,
    pub users: UserStore,
    pub graph: GraphStore,
    pub valkey: Valkey,
    pub chunks: Queue<DeliverChunk>,
    /// Followers in a chunk; an audience up to this size is pushed here and now.
    pub chunk_followers: usize,
}

/// What became of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dispatched {
    /// The post is deleted, or was never committed.
    NothingToDo,
    /// Pushed to this many feeds of followers.
    Pushed { delivered: u64 },
    /// Handed on in chunks.
    Cut { chunks: usize },
}

impl App {
    pub fn new(sdk: &SdkConfig, config: &Config) -> Result<Self, Box<dyn Error + Send + Sync>> {
        Ok(Self {
            posts: PostStore::new(sdk, config)?,
            users: UserStore::new(sdk, config)?,
            graph: GraphStore::new(sdk, config)?,
            valkey: Valkey::new(&config.feeds()?)?,
            chunks: Queue::new(sdk, config, "CHUNKS_QUEUE_URL")?,
            chunk_followers: config.chunk_followers()?,
        })
    }
}

/// Brings one post to its author's own feeds and to the followers.
pub async fn dispatch(
    app: &App,
    event: &PostPublished,
    now_ms: u64,
) -> Result<Dispatched, StoreError> {
    let post = event.post;
    if !is_published(app, post, now_ms).await? {
        return Ok(Dispatched::NothingToDo);
    }
    // Before the followers are read: who follows after that reading is backfilled from the
    // author feed, and finds the post there.
    app.valkey.push(post, &Feed::own(post.author())).await?;
    let dispatched = to_followers(app, post, now_ms).await?;
    tracing::info!(%post, ?dispatched, lag_ms = now_ms.saturating_sub(post.time_ms()), "dispatched");
    Ok(dispatched)
}

/// The event goes out before the commit. What is not there yet is looked for a few times, and
/// then again when the event comes back; what is not there after the grace never will be.
async fn is_published(app: &App, post: PostId, now_ms: u64) -> Result<bool, StoreError> {
    let mut looked = 0;
    loop {
        match app.posts.state(post).await? {
            PostState::Published(_) => return Ok(true),
            PostState::Deleted => return Ok(false),
            PostState::Missing if now_ms > post.time_ms() + COMMIT_GRACE_MS => return Ok(false),
            PostState::Missing => look_again("the post", &mut looked).await?,
        }
    }
}

async fn to_followers(app: &App, post: PostId, now_ms: u64) -> Result<Dispatched, StoreError> {
    let Some(author) = app.users.profile(post.author()).await? else {
        return Ok(Dispatched::NothingToDo);
    };
    let (mut waiting, mut chunks): (Vec<UserId>, usize) = (Vec::new(), 0);
    for shard in 0..author.follower_shards {
        let mut after = None;
        loop {
            let page = app.graph.followers_page(author.id, shard, after, FOLLOWERS_PER_QUERY);
            let page = page.await?;
            waiting.extend(page.followers);
            // more than a batch of messages never waits: memory stays flat
            while waiting.len() > app.chunk_followers * SEND_BATCH_MAX {
                let rest = waiting.split_off(app.chunk_followers * SEND_BATCH_MAX);
                chunks += cut(app, post, &waiting, now_ms).await?;
                waiting = rest;
            }
            after = page.next;
            if after.is_none() {
                break;
            }
        }
    }
    if chunks == 0 && waiting.len() <= app.chunk_followers {
        let feeds: Vec<Feed> = waiting.into_iter().map(Feed::home).collect();
        let pushed = app.valkey.push(post, &feeds).await?;
        return Ok(Dispatched::Pushed { delivered: pushed.delivered });
    }
    chunks += cut(app, post, &waiting, now_ms).await?;
    Ok(Dispatched::Cut { chunks })
}

async fn cut(
    app: &App,
    post: PostId,
    followers: &[UserId],
    now_ms: u64,
) -> Result<usize, StoreError> {
    let chunks: Vec<DeliverChunk> = followers
        .chunks(app.chunk_followers.max(1))
        .map(|chunk| DeliverChunk::new(post, now_ms, chunk.to_vec()))
        .collect();
    app.chunks.send_all(&chunks).await?;
    Ok(chunks.len())
}
