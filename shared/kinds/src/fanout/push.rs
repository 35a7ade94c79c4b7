//! Pushes posts to the home feeds of followers.

use std::collections::HashSet;
use std::time::Duration;

use fanfold_core::fanout::DeliveryCounts;
use fanfold_core::limits::{LOOKS_MAX, REL_KEPT};
use fanfold_core::time::millis;
use fanfold_core::{FeedId, PostId, Time, UserId};
use fanfold_engines::valkey::{Chosen, Forgotten, Push, Pushed, Valkey};
use fanfold_runtime::StoreError;
use futures::future::join_all;

use crate::App;
use crate::feeds::kept;
use crate::follows::items::GraphStore;

/// A post, and followers of its author who should see it.
#[derive(Debug, Clone, Copy)]
pub struct Audience<'a> {
    pub post: PostId,
    pub followers: &'a [UserId],
    /// The time at which the followers were read.
    pub read_at: Time,
    /// Whether the feeds also get a pointer to the author, whose posts will not be pushed any more.
    pub pointer: bool,
}

/// The result of pushing a post to an audience.
#[derive(Debug)]
pub struct Spread {
    /// The counts of the followers to whom the push is complete.
    pub reached: DeliveryCounts,
    /// The other followers: a store did not answer for them.
    pub left: Option<Left>,
}

/// Followers to whom the post must be pushed again, and the error.
#[derive(Debug)]
pub struct Left {
    /// In the order of the audience.
    pub followers: Vec<UserId>,
    pub error: StoreError,
}

impl Spread {
    /// The counts of all followers, or the error if some are left.
    pub fn whole(self) -> Result<DeliveryCounts, StoreError> {
        match self.left {
            None => Ok(self.reached),
            Some(left) => Err(left.error),
        }
    }
}

/// Logs the delivery of a post. `lag`: the time since its publication.
pub fn log_reached(post: PostId, reached: DeliveryCounts, lag: Duration) {
    let DeliveryCounts { delivered, not_live, unfollowed, late } = reached;
    tracing::info!(%post, delivered, not_live, unfollowed, late, lag_ms = millis(lag), "delivered");
}

/// Pushes posts to the home feeds of followers, with one script call per bucket for all audiences. Returns one result
/// per audience, in their order.
pub async fn push_to_followers(app: &App, audiences: &[Audience<'_>], now: Time) -> Vec<Spread> {
    let posts = audiences.iter().map(|audience| audience.post);
    // mutation: late-noted
    let notes = posts.map(|post| kept::note_late(app, post.author(), post.time(), now));
    let notes = join_all(notes).await;
    let (mut pushes, mut spreads) = (Vec::new(), Vec::new());
    for (audience, note) in audiences.iter().zip(notes) {
        let (mut push, mut spread) = (push_of(audience, now), Spreading::default());
        if let Err(error) = note {
            push.feeds.clear();
            spread.leave(audience.followers.iter().copied(), error);
        }
        pushes.push(push);
        spreads.push(spread);
    }
    let pushed = app.valkey.push_all(&pushes).await;
    let mut all = Vec::new();
    for (((audience, push), mut spread), pushed) in
        audiences.iter().zip(&pushes).zip(spreads).zip(pushed)
    {
        Box::pin(spread.settle(&app.valkey, &app.graph, push, pushed)).await;
        all.push(spread.end(audience));
    }
    all
}

fn push_of(audience: &Audience<'_>, now: Time) -> Push {
    let Audience { post, read_at, pointer, .. } = *audience;
    // half of the time that Valkey remembers is left for this handler and for differing clocks
    let late = now > read_at + REL_KEPT / 2;
    // mutation: late-chunk
    let chosen = Chosen::At(if late { Time::EPOCH } else { read_at });
    let feeds = audience.followers.iter().copied().map(FeedId::home).collect();
    Push { post, feeds, chosen, pointer }
}

/// A push that is under way.
#[derive(Default)]
struct Spreading {
    reached: DeliveryCounts,
    /// Followers whose relation was read again.
    late: HashSet<UserId>,
    /// Followers to whom the post must be pushed again.
    left: HashSet<UserId>,
    error: Option<StoreError>,
}

impl Spreading {
    /// Adds the counts of an answer. Returns the feeds for which the server cannot tell who has unfollowed.
    fn add(&mut self, pushed: Pushed) -> Vec<Forgotten> {
        self.reached.delivered += pushed.delivered;
        self.reached.not_live += pushed.not_live;
        self.reached.unfollowed += pushed.unfollowed;
        if let Some(failed) = pushed.failed {
            self.leave(failed.feeds.iter().map(|feed| feed.user()), failed.error);
        }
        pushed.forgotten
    }

    /// Leaves followers to the next try.
    fn leave(&mut self, followers: impl IntoIterator<Item = UserId>, error: StoreError) {
        self.left.extend(followers);
        // an error that may pass replaces a lasting one, so that the message is tried again
        if self.error.as_ref().is_none_or(|known| known.is_lasting()) {
            self.error = Some(error);
        }
    }

    /// Completes a push. Valkey remembers who has unfollowed since the followers were read, but only for a limited
    /// time, and not after it lost its data. Those relations are then read again from DynamoDB and pushed again. Valkey
    /// names its memory before the read, and accepts the push only if it still has that memory.
    async fn settle(&mut self, valkey: &Valkey, graph: &GraphStore, push: &Push, pushed: Pushed) {
        let mut forgotten = self.add(pushed);
        for _ in 0..=LOOKS_MAX {
            if forgotten.is_empty() {
                return;
            }
            let users: Vec<UserId> =
                forgotten.iter().flat_map(|f| f.feeds.iter().map(|feed| feed.user())).collect();
            self.late.extend(&users);
            let still = match graph.still_following(push.post.author(), users.clone()).await {
                Ok(still) => still.into_iter().collect::<HashSet<UserId>>(),
                Err(error) => return self.leave(users, error),
            };
            let Push { post, pointer, .. } = *push;
            let mut again = Vec::new();
            for Forgotten { memory, mut feeds } in forgotten {
                let all = feeds.len();
                feeds.retain(|feed| still.contains(&feed.user()));
                self.reached.unfollowed += (all - feeds.len()) as u64;
                again.push(Push { post, feeds, chosen: Chosen::Since(memory), pointer });
            }
            // all buckets at the same time
            forgotten = Vec::new();
            for pushed in valkey.push_all(&again).await {
                forgotten.extend(self.add(pushed));
            }
        }
        if !forgotten.is_empty() {
            let users = forgotten.iter().flat_map(|f| f.feeds.iter().map(|feed| feed.user()));
            let users: Vec<UserId> = users.collect();
            self.leave(users, StoreError::Unsettled { what: "the set of followers" });
        }
    }

    /// The result of the push.
    fn end(self, audience: &Audience<'_>) -> Spread {
        let Self { mut reached, late, left, error } = self;
        // followers who are left are counted by the next try
        reached.late = late.difference(&left).count() as u64;
        let left = error.map(|error| {
            let followers = audience.followers.iter().copied();
            Left { followers: followers.filter(|user| left.contains(user)).collect(), error }
        });
        Spread { reached, left }
    }
}
