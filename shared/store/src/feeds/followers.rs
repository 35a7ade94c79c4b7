use std::collections::HashSet;

use fanfold_core::limits::{LOOKS_MAX, REL_KEPT_MS};
use fanfold_core::{PostId, UserId};

use crate::dynamo::GraphStore;
use crate::error::StoreError;
use crate::valkey::{Chosen, Feed, Forgotten, Push, Pushed, Valkey};

/// A post, and followers of its author who should see it.
#[derive(Debug, Clone)]
pub struct Audience {
    pub post: PostId,
    pub followers: Vec<UserId>,
    pub read_at_ms: u64,
    /// Whether the followers are to be told that this author's posts will not be pushed any more.
    pub pointer: bool,
}

/// What became of a post among its followers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reached {
    /// Feeds that hold it now.
    pub delivered: u64,
    /// Followers who have not read for long: their feed is rebuilt when they come.
    pub not_live: u64,
    pub unfollowed: u64,
    /// Followers for whom the push came so late that it was asked whether they still follow.
    pub late: u64,
}

impl Reached {
    pub fn plus(self, other: Self) -> Self {
        Self {
            delivered: self.delivered + other.delivered,
            not_live: self.not_live + other.not_live,
            unfollowed: self.unfollowed + other.unfollowed,
            late: self.late + other.late,
        }
    }

    /// Says in the log that followers have a post.
    pub fn log(self, post: PostId, lag_ms: u64) {
        let Self { delivered, not_live, unfollowed, late } = self;
        tracing::info!(%post, delivered, not_live, unfollowed, late, lag_ms, "delivered");
    }
}

/// Pushes posts to the home feeds of followers. What comes of each is said in their order.
pub async fn push_to_followers(
    valkey: &Valkey,
    graph: &GraphStore,
    audiences: &[Audience],
    now_ms: u64,
) -> Vec<Result<Reached, StoreError>> {
    let pushes: Vec<Push> = audiences.iter().map(|audience| push_of(audience, now_ms)).collect();
    let mut reached = Vec::new();
    for (push, pushed) in pushes.iter().zip(valkey.push_all(&pushes).await) {
        reached.push(match pushed {
            Ok(pushed) => the_forgotten(valkey, graph, push, pushed).await,
            Err(error) => Err(error),
        });
    }
    reached
}

fn push_of(audience: &Audience, now_ms: u64) -> Push {
    let Audience { post, read_at_ms, pointer, .. } = *audience;
    // half of the time is left for this handler and for clocks that differ
    let late = now_ms > read_at_ms + REL_KEPT_MS / 2;
    let chosen = Chosen::AtMs(if late { 0 } else { read_at_ms });
    let feeds = audience.followers.iter().copied().map(Feed::home).collect();
    Push { post, feeds, chosen, pointer }
}

/// Valkey knows who has unfollowed since the followers were read, but not for ever, and not if it has
/// lost its data since: then those followers are read anew. Each time Valkey first names its memory,
/// and takes the push only if it still has that memory.
async fn the_forgotten(
    valkey: &Valkey,
    graph: &GraphStore,
    push: &Push,
    mut pushed: Pushed,
) -> Result<Reached, StoreError> {
    let mut reached = Reached::default();
    for looked in 0..=LOOKS_MAX {
        reached.delivered += pushed.delivered;
        reached.not_live += pushed.not_live;
        reached.unfollowed += pushed.unfollowed;
        let forgotten = std::mem::take(&mut pushed).forgotten;
        if forgotten.is_empty() {
            return Ok(reached);
        }
        let users: Vec<UserId> =
            forgotten.iter().flat_map(|f| f.feeds.iter().map(|feed| feed.user)).collect();
        if looked == 0 {
            reached.late = users.len() as u64;
        }
        let still: Vec<UserId> = graph.still_following(push.post.author(), users).await?;
        let still: HashSet<UserId> = still.into_iter().collect();
        let Push { post, pointer, .. } = *push;
        let mut again = Vec::new();
        for Forgotten { memory, mut feeds } in forgotten {
            let all = feeds.len();
            feeds.retain(|feed| still.contains(&feed.user));
            reached.unfollowed += (all - feeds.len()) as u64;
            again.push(Push { post, feeds, chosen: Chosen::Since(memory), pointer });
        }
        // there may be one for each bucket, so they go on at the same time
        for again in valkey.push_all(&again).await {
            let again = again?;
            pushed.delivered += again.delivered;
            pushed.not_live += again.not_live;
            pushed.unfollowed += again.unfollowed;
            pushed.forgotten.extend(again.forgotten);
        }
    }
    Err(StoreError::Unsettled { what: "who follows the author" })
}
