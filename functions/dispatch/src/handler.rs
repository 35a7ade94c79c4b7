//! Decides who gets a post, and how it is brought to them.

use std::error::Error;

use fanfold_core::PostId;
use fanfold_core::fanout::Part;
use fanfold_core::limits::{COMMIT_GRACE_MS, FOLLOWERS_PER_QUERY, PULL_RELEASE_PERCENT};
use fanfold_core::message::{DeliverChunk, PostPublished};
use fanfold_store::aws::SdkConfig;
use fanfold_store::clock::Deadline;
use fanfold_store::config::FanOutSettings;
use fanfold_store::dynamo::posts::{PostState, PostStore};
use fanfold_store::dynamo::pulled::Standing;
use fanfold_store::dynamo::receipts::Plan;
use fanfold_store::dynamo::users::Profile;
use fanfold_store::dynamo::{GraphStore, PulledStore, ReceiptStore, UserStore, look_again};
use fanfold_store::feeds::Reached;
use fanfold_store::sqs::Queue;
use fanfold_store::valkey::Valkey;
use fanfold_store::{Config, StoreError, measure};

#[derive(Clone)]
pub struct App {
    pub posts: PostStore,
    pub users: UserStore,
    pub graph: GraphStore,
    pub receipts: ReceiptStore,
    pub pulled: PulledStore,
    pub valkey: Valkey,
    /// Chunks, and where a dispatch that runs out of time sends its rest: its own queue.
    pub lane: Lane,
    /// The same for large audiences, so that nobody else waits for them.
    pub bulk: Lane,
    pub fanout: FanOutSettings,
    /// Followers read at once.
    pub page_followers: i32,
}

/// The queues that a fan-out goes through.
#[derive(Clone)]
pub struct Lane {
    pub chunks: Queue<DeliverChunk>,
    pub events: Queue<PostPublished>,
}

/// What became of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dispatched {
    /// The post is deleted, or was never committed.
    NothingToDo,
    /// It was done before.
    Again,
    /// The author is pulled: readers find the post in the author feed.
    Pulled,
    /// Pushed to the followers at once.
    Pushed(Reached),
    /// Divided among so many dispatches.
    Divided { parts: usize },
    /// Handed on in chunks.
    Cut { chunks: usize },
    /// Handed on in chunks as far as time allowed, and the rest as events.
    Continued { chunks: usize, rest: Vec<Part> },
}

impl Dispatched {
    /// For the log: the way it went, and how many chunks and parts were sent.
    fn told(&self) -> (&'static str, Option<usize>, Option<usize>) {
        match self {
            Self::NothingToDo => ("none", None, None),
            Self::Again => ("again", None, None),
            Self::Pulled => ("pulled", None, None),
            Self::Pushed(_) => ("pushed", None, None),
            Self::Divided { parts } => ("divided", None, Some(*parts)),
            Self::Cut { chunks } => ("cut", Some(*chunks), None),
            Self::Continued { chunks, rest } => ("continued", Some(*chunks), Some(rest.len())),
        }
    }
}

impl App {
    pub fn new(sdk: &SdkConfig, config: &Config) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let lane = |chunks, events| {
            Ok::<_, Box<dyn Error + Send + Sync>>(Lane {
                chunks: Queue::new(sdk, config, chunks)?,
                events: Queue::new(sdk, config, events)?,
            })
        };
        Ok(Self {
            posts: PostStore::new(sdk, config)?,
            users: UserStore::new(sdk, config)?,
            graph: GraphStore::new(sdk, config)?,
            receipts: ReceiptStore::new(sdk, config)?,
            pulled: PulledStore::new(sdk, config)?,
            valkey: Valkey::new(sdk, &config.feeds()?)?,
            lane: lane("CHUNKS_QUEUE_URL", "POST_EVENTS_QUEUE_URL")?,
            bulk: lane("BULK_CHUNKS_QUEUE_URL", "BULK_EVENTS_QUEUE_URL")?,
            fanout: config.fanout()?,
            page_followers: FOLLOWERS_PER_QUERY,
        })
    }
}

/// Brings one post to its author's own feeds and to the followers, or does its part of that.
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
    let (dispatched, followers) = match event.part {
        Some(part) => (app.cut_part(event, part, now_ms, deadline).await?, None),
        None => whole(app, post, now_ms, deadline).await?,
    };
    let lag_ms = now_ms.saturating_sub(post.time_ms());
    let (way, chunks, parts) = dispatched.told();
    let is_part = event.part.is_some();
    tracing::info!(%post, way, followers, chunks, parts, is_part, lag_ms, "dispatched");
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

/// What became of all of it, and how many followers the author has.
async fn whole(
    app: &App,
    post: PostId,
    now_ms: u64,
    deadline: Deadline,
) -> Result<(Dispatched, Option<u64>), StoreError> {
    // Before anything of the followers is read: who follows after that, or rebuilds a feed, finds
    // the post in the author feed.
    app.valkey.push_own(post).await?;
    let Some(author) = app.users.profile(post.author()).await? else {
        return Ok((Dispatched::NothingToDo, None));
    };
    let way = way(app, post, &author).await?;
    let lag_ms = now_ms.saturating_sub(post.time_ms());
    let mark = match way {
        Way::Pull => {
            app.receipts.pulled(post, author.followers, now_ms).await?;
            return Ok((Dispatched::Pulled, Some(author.followers)));
        }
        Way::Push { mark } => mark,
    };
    if author.followers <= app.fanout.small {
        let reached = app.push_all(post, &author, mark.is_some(), now_ms).await?;
        if let Some(mark) = mark {
            app.pulled.promote(author.id, mark).await?;
        }
        if app.receipts.done_at_once(post, author.followers, reached, now_ms).await? {
            measure::deliveries(reached, lag_ms);
            measure::complete(lag_ms);
            reached.log(post, lag_ms);
            return Ok((Dispatched::Pushed(reached), Some(author.followers)));
        }
    }
    let plan = Plan { shards: author.follower_shards, followers: author.followers, mark };
    let dispatched = match app.receipts.plan(post, plan, now_ms).await? {
        Some(plan) => app.cut_whole(post, plan, now_ms, deadline).await?,
        None => Dispatched::Again,
    };
    Ok((dispatched, Some(author.followers)))
}

/// Whether a post is pushed, and with pointers that name their post.
enum Way {
    Push { mark: Option<PostId> },
    Pull,
}

/// An author who has grown large is pulled, once every follower has a pointer; one who has shrunk is
/// pushed again.
async fn way(app: &App, post: PostId, author: &Profile) -> Result<Way, StoreError> {
    let limit = app.fanout.pull;
    if limit == 0 {
        return Ok(Way::Push { mark: None });
    }
    let all = app.pulled.all().await?;
    let small = author.followers * 100 < limit * PULL_RELEASE_PERCENT;
    let mark = match all.get(&author.id) {
        Some(_) if small => {
            app.pulled.release(author.id).await?;
            None
        }
        Some(Standing::Pulled) => return Ok(Way::Pull),
        Some(Standing::Marking(since)) => Some(*since),
        None if author.followers >= limit => app.pulled.mark(author.id, post, &all).await?,
        None => None,
    };
    Ok(Way::Push { mark })
}
