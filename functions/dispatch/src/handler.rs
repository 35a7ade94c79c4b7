//! Decides who gets a post, and how it is brought to them.

use std::error::Error;

use fanfold_core::limits::{
    COMMIT_GRACE_MS, DISPATCH_TIME_LEFT_MIN_MS, FOLLOWERS_PER_QUERY, SEND_BATCH_MAX,
};
use fanfold_core::message::{DeliverChunk, FollowersFrom, PostPublished};
use fanfold_core::{PostId, UserId};
use fanfold_store::aws::SdkConfig;
use fanfold_store::clock::Deadline;
use fanfold_store::dynamo::posts::{PostState, PostStore};
use fanfold_store::dynamo::{GraphStore, UserStore, look_again};
use fanfold_store::feeds::push_to_followers;
use fanfold_store::sqs::Queue;
use fanfold_store::valkey::{Chosen, Feed, Valkey};
use fanfold_store::{Config, StoreError};

#[derive(Clone)]
pub struct App {
    pub posts: PostStore,
    pub users: UserStore,
    pub graph: GraphStore,
    pub valkey: Valkey,
    pub chunks: Queue<DeliverChunk>,
    /// Where a dispatch that runs out of time sends its rest: its own queue.
    pub events: Queue<PostPublished>,
    /// Followers in a chunk; an audience up to this size is pushed here and now.
    pub chunk_followers: usize,
    /// Followers read at once.
    pub page_followers: i32,
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
    /// Handed on in chunks as far as time allowed, and the rest as an event.
    Continued { chunks: usize, from: FollowersFrom },
}

impl App {
    pub fn new(sdk: &SdkConfig, config: &Config) -> Result<Self, Box<dyn Error + Send + Sync>> {
        Ok(Self {
            posts: PostStore::new(sdk, config)?,
            users: UserStore::new(sdk, config)?,
            graph: GraphStore::new(sdk, config)?,
            valkey: Valkey::new(&config.feeds()?)?,
            chunks: Queue::new(sdk, config, "CHUNKS_QUEUE_URL")?,
            events: Queue::new(sdk, config, "POST_EVENTS_QUEUE_URL")?,
            chunk_followers: config.chunk_followers()?,
            page_followers: FOLLOWERS_PER_QUERY,
        })
    }
}

/// Brings one post to its author's own feeds and to the followers.
pub async fn dispatch(
    app: &App,
    event: &PostPublished,
    now_ms: u64,
    deadline: Deadline,
) -> Result<Dispatched, StoreError> {
    let post = event.post;
    if !is_published(app, post, now_ms).await? {
        return Ok(Dispatched::NothingToDo);
    }
    // Before the followers are read: who follows after that reading is backfilled from the
    // author feed, and finds the post there.
    app.valkey.push(post, &Feed::own(post.author()), &Chosen::Own).await?;
    let dispatched = to_followers(app, event, now_ms, deadline).await?;
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

async fn to_followers(
    app: &App,
    event: &PostPublished,
    now_ms: u64,
    deadline: Deadline,
) -> Result<Dispatched, StoreError> {
    let post = event.post;
    let Some(author) = app.users.profile(post.author()).await? else {
        return Ok(Dispatched::NothingToDo);
    };
    let start = event.from.unwrap_or(FollowersFrom { shard: 0, after: None });
    let (mut waiting, mut chunks): (Vec<UserId>, usize) = (Vec::new(), 0);
    for shard in start.shard..author.follower_shards {
        let mut after = start.after.filter(|_| shard == start.shard);
        loop {
            let page = app.graph.followers_page(author.id, shard, after, app.page_followers);
            let page = page.await?;
            waiting.extend(page.followers);
            // more than a batch of messages never waits: memory stays flat
            while waiting.len() > app.chunk_followers * SEND_BATCH_MAX {
                let rest = waiting.split_off(app.chunk_followers * SEND_BATCH_MAX);
                chunks += cut(app, post, &waiting, now_ms).await?;
                waiting = rest;
            }
            after = page.next;
            let from = match after {
                Some(_) => FollowersFrom { shard, after },
                None => FollowersFrom { shard: shard + 1, after },
            };
            // after a page, so that each part of a dispatch gets somewhere
            let more = from.shard < author.follower_shards;
            if more && deadline.is_within_ms(DISPATCH_TIME_LEFT_MIN_MS) {
                chunks += cut(app, post, &waiting, now_ms).await?;
                app.events.send(&PostPublished::continued(post, from)).await?;
                return Ok(Dispatched::Continued { chunks, from });
            }
            if after.is_none() {
                break;
            }
        }
    }
    if chunks == 0 && waiting.len() <= app.chunk_followers {
        let (valkey, graph) = (&app.valkey, &app.graph);
        let pushed = push_to_followers(valkey, graph, post, &waiting, now_ms, now_ms).await?;
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
