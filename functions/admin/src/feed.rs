//! Gives a user's feeds up and rebuilds them.

use fanfold_core::limits::{ADMIN_REBUILD_LOOK_EVERY_MS, ADMIN_REBUILD_LOOKS_MAX, FEED_CAP_MAX};
use fanfold_core::{Slice, UserId};
use fanfold_store::clock::{self, Stopwatch};
use fanfold_store::dynamo::users::Profile;
use fanfold_store::feeds::{Reading, Rebuilt};
use fanfold_store::valkey::{Feed, Held};
use serde::Serialize;

use crate::App;
use crate::order::Refusal;

#[derive(Debug, Serialize)]
pub struct RebuiltFeeds {
    pub user: UserId,
    pub handle: String,
    pub home: FeedNow,
    pub author: FeedNow,
}

/// What a feed holds in Valkey.
#[derive(Debug, Serialize)]
pub struct FeedNow {
    pub entries: usize,
    /// Down to this time, in ms, it is complete; 0: down to the first post.
    pub floor_ms: u64,
}

pub async fn rebuild(app: &App, user: Profile, now_ms: u64) -> Result<RebuiltFeeds, Refusal> {
    let [author, home] = Feed::own(user.id);
    // the home feed is merged from author feeds, this one among them
    let author = rebuild_one(app, author, now_ms).await?;
    let home = rebuild_one(app, home, now_ms).await?;
    Ok(RebuiltFeeds { user: user.id, handle: user.handle, home, author })
}

async fn rebuild_one(app: &App, feed: Feed, now_ms: u64) -> Result<FeedNow, Refusal> {
    let (valkey, stopwatch) = (&app.feeds.valkey, Stopwatch::start());
    for _ in 0..ADMIN_REBUILD_LOOKS_MAX {
        let reading = Reading::new(now_ms + stopwatch.ms());
        valkey.distrust(feed).await?;
        match app.feeds.rebuild(feed, None, &reading).await? {
            Rebuilt::Done(Some(Held { slice, .. })) => {
                // pushes and trims may have come since
                let now = valkey.peek(feed, FEED_CAP_MAX).await?.known();
                return Ok(FeedNow::of(&now.map_or(slice, |held| held.slice)));
            }
            // somebody else has the lease, or a reader was faster
            Rebuilt::Done(None) | Rebuilt::Elsewhere | Rebuilt::Queued(_) => {
                clock::sleep(ADMIN_REBUILD_LOOK_EVERY_MS).await;
            }
        }
    }
    Err(Refusal::Busy)
}

impl FeedNow {
    fn of(slice: &Slice) -> Self {
        Self { entries: slice.posts.len(), floor_ms: slice.floor_ms() }
    }
}
