//! Rebuilds a feed, a copy of a board or a ranking that a reader queued, or both feeds of a user by an operator's order.
//!
//! **Return.** A feed that is not live is rebuilt in the request. The call that finds no feed also takes the lease and
//! makes the feed live. Then the relations, the pulled authors and the newest posts of all authors are read, the commit
//! stores them, and the page shows them. The newest posts are the heads in the profiles of the authors, a hundred in each
//! call; an author is queried only below them. A feed of more than 1,000 authors would delay the page. The page is therefore
//! merged from the heads and answered as `pull`, and a `RebuildFeed` message passes the lease to `rebuild`. A reader that
//! finds the lease taken checks the feed a few times, 5 to 80 ms apart, and then pulls the page.
//!
//! **Rebuilds.** The same code rebuilds home feeds and author feeds. When many readers return at once, each feed is
//! rebuilt by one of them. The newest posts of an author with very many followers come from the live author feed, which
//! one of these readers rebuilds while the others wait. `RebuildsAtOnce` bounds the long rebuilds (`simulation::stampede`).

use std::time::Duration;

use fanfold_core::limits::FEED_CAP_MAX;
use fanfold_core::{FeedId, Handle, Slice, Time, UserId};
use fanfold_engines::feed::Rebuilt;
use fanfold_engines::reading::ReadContext;
use fanfold_engines::valkey::CachedSlice;
use fanfold_runtime::StoreError;
use fanfold_runtime::clock::{self, Stopwatch};
use serde::Serialize;

use crate::App;
use crate::feeds::kept;
use crate::feeds::messages::RebuildFeed;
use crate::people::items::Profile;

/// Times that an operator's rebuild looks at a feed that another caller is rebuilding. With
/// [`ADMIN_REBUILD_LOOK_EVERY`], this takes longer than a lease.
const ADMIN_REBUILD_LOOKS_MAX: u32 = 24;
/// The time between two of these looks.
const ADMIN_REBUILD_LOOK_EVERY: Duration = Duration::from_millis(500);

/// Rebuilds a home feed that a reader queued together with its lease. Returns [`Rebuilt::Elsewhere`] if another
/// function has the lease by now.
pub async fn rebuild(app: &App, order: &RebuildFeed, now: Time) -> Result<Rebuilt, StoreError> {
    let context = ReadContext::new(now);
    app.feeds().rebuild(FeedId::home(order.user), Some(&order.lease), &context).await
}

/// Both feeds of a user after a rebuild.
#[derive(Debug, Serialize)]
pub struct RebuiltFeeds {
    pub user: UserId,
    pub handle: Handle,
    pub home: FeedNow,
    pub author: FeedNow,
}

/// The extent of a feed in Valkey.
#[derive(Debug, Serialize)]
pub struct FeedNow {
    pub entries: usize,
    /// The feed is complete down to this time. [`Time::EPOCH`]: down to the first post.
    #[serde(rename = "floor_ms")]
    pub floor: Time,
}

/// Drops both feeds of a user and rebuilds them, each as [`rebuild_one`] does.
pub async fn rebuild_user(
    app: &App,
    user: Profile,
    now: Time,
) -> Result<Option<RebuiltFeeds>, StoreError> {
    let [author, home] = FeedId::own(user.id);
    let Some(author) = rebuild_one(app, author, now).await? else { return Ok(None) };
    let Some(home) = rebuild_one(app, home, now).await? else { return Ok(None) };
    Ok(Some(RebuiltFeeds { user: user.id, handle: user.handle, home, author }))
}

/// Drops a feed and rebuilds it. Returns `None` if other functions held its lease for all of `ADMIN_REBUILD_LOOKS_MAX` tries.
pub async fn rebuild_one(
    app: &App,
    feed: FeedId,
    now: Time,
) -> Result<Option<FeedNow>, StoreError> {
    let (valkey, stopwatch) = (&app.valkey, Stopwatch::start());
    kept::forget(app, feed).await?;
    for _ in 0..ADMIN_REBUILD_LOOKS_MAX {
        let context = ReadContext::from_posts(now + stopwatch.elapsed());
        valkey.invalidate(feed).await?;
        match app.feeds().rebuild(feed, None, &context).await? {
            Rebuilt::Done(Some(CachedSlice { slice, .. })) => {
                // pushes and trims may have changed the feed since the commit
                let now = valkey.peek(feed, FEED_CAP_MAX).await?.known();
                return Ok(Some(FeedNow::of(&now.map_or(slice, |cached| cached.slice))));
            }
            // another function has the lease, or a reader rebuilt the feed first
            Rebuilt::Done(None) | Rebuilt::Elsewhere | Rebuilt::Queued(_) => {
                clock::sleep(ADMIN_REBUILD_LOOK_EVERY).await;
            }
        }
    }
    Ok(None)
}

impl FeedNow {
    fn of(slice: &Slice) -> Self {
        Self { entries: slice.posts.len(), floor: slice.floor() }
    }
}
