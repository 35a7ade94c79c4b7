//! Handles the events of the graph: applies a changed relation to the follower's home feed, and counts the author's
//! followers. `likes/events.rs` handles those of likes, and `boards/events.rs` those of boards.

use super::items::Counting;
use crate::boards::items::BoardStore;
use crate::feeds::{Feeds, ReadContext};
use crate::likes::items::LikeStore;
use crate::people::items::UserStore;
use fanfold_core::limits::{COMMIT_GRACE, COUNT_DELAY, LOOKS_MAX};
use fanfold_core::message::{CountFollowers, GraphEvent, ProfileChanged, RelationChanged};
use fanfold_core::{Change, PostId, Relation, Time, UserId};
use fanfold_engines::valkey::{Backfill, CardId, Counted, RelationApplied};
use fanfold_runtime::aws::SdkConfig;
use fanfold_runtime::clock::Deadline;
use fanfold_runtime::retry::look_again;
use fanfold_runtime::sqs::Queue;
use fanfold_runtime::{Config, StartError, StoreError};

use crate::boards::events as boards;
use crate::boards::events::BoardEvents;
use crate::graph;
use crate::likes::events as likes;
use crate::likes::events::LikeEvents;
use fanfold_engines::tally::Counts;

/// The stores, the queue and the settings of the handler of relation events.
#[derive(Clone)]
pub struct RelationEvents {
    pub feeds: Feeds,
    pub users: UserStore,
    pub likes: LikeStore,
    pub boards: BoardStore,
    /// The queue that these events come from. Requests for a count go to it as well.
    pub events: Queue<GraphEvent>,
    pub counts: Counts,
}

impl RelationEvents {
    /// Makes the clients from the settings. An error names the setting that is missing or malformed.
    pub fn new(sdk: &SdkConfig, config: &Config) -> Result<Self, StartError> {
        Ok(Self {
            feeds: Feeds::new(sdk, config)?,
            users: UserStore::new(sdk, config)?,
            likes: LikeStore::new(sdk, config)?,
            boards: BoardStore::new(sdk, config)?,
            events: graph::events(sdk, config)?,
            counts: Counts::after(COUNT_DELAY),
        })
    }

    /// The stores and the queue of the events of likes.
    fn of_likes(&self) -> LikeEvents {
        LikeEvents {
            likes: self.likes.clone(),
            posts: self.feeds.posts.clone(),
            boards: self.boards.clone(),
            valkey: self.feeds.valkey.clone(),
            events: self.events.clone(),
            counts: self.counts.clone(),
        }
    }

    /// The stores and the queue of the events of boards.
    fn of_boards(&self) -> BoardEvents {
        BoardEvents {
            boards: self.boards.clone(),
            valkey: self.feeds.valkey.clone(),
            events: self.events.clone(),
        }
    }
}

/// Handles a message of the queue.
pub async fn handle(
    app: &RelationEvents,
    event: &GraphEvent,
    now: Time,
    deadline: Deadline,
) -> Result<(), StoreError> {
    match event {
        GraphEvent::Relation(event) => {
            apply(app, event, now).await?;
            // the relation, and the number of authors that the follower follows; the writer may have died before it
            // did this
            let (follower, author) = (event.follower, event.author);
            let cards = [CardId::User(follower), CardId::Relation(follower, author)];
            // mutation: relation-card
            app.feeds.valkey.cards_changed(&cards).await?;
            request_count(app, event.author).await
        }
        GraphEvent::Profile(event) => profile_changed(app, event, now).await,
        GraphEvent::Count(order) => count(app, order).await.map(drop),
        GraphEvent::Like(event) => likes::like_changed(&app.of_likes(), event, now).await,
        GraphEvent::CountLikes(order) => likes::count(&app.of_likes(), order, now, deadline).await,
        GraphEvent::PostDeleted(event) => {
            likes::post_deleted(&app.of_likes(), event, now, deadline).await
        }
        GraphEvent::Scores(event) => {
            boards::scores_changed(&app.of_boards(), event, now, deadline).await
        }
        GraphEvent::Board(event) => {
            boards::board_changed(&app.of_boards(), event, now, deadline).await
        }
    }
}

/// Marks the card of a changed profile as stale. The event goes out before the commit, so the profile is read until it
/// has as many changes as the event says. After [`COMMIT_GRACE`], the commit has failed, or the user was dropped since.
async fn profile_changed(
    app: &RelationEvents,
    event: &ProfileChanged,
    now: Time,
) -> Result<(), StoreError> {
    let mut looked = 0;
    loop {
        let profile = app.users.profile(event.user).await?;
        let is_committed = match (profile.map(|profile| profile.revision), event.revision) {
            (Some(present), Some(announced)) => present >= announced,
            (present, announced) => present == announced,
        };
        // mutation: profile-committed
        if is_committed || now > event.changed_at + COMMIT_GRACE {
            // mutation: profile-card
            return app.feeds.valkey.cards_changed(&[CardId::User(event.user)]).await;
        }
        look_again("the profile", &mut looked).await?;
    }
}

/// Makes sure that the author's followers are counted after now.
async fn request_count(app: &RelationEvents, author: UserId) -> Result<(), StoreError> {
    let send = async |delay| {
        let order = GraphEvent::Count(CountFollowers::new(author));
        app.events.send_after(&order, delay).await
    };
    app.counts.request(&app.feeds.valkey, Counted::Followers(author), send).await
}

/// Counts an author's followers and writes the number into the profile. A change from now on requests another count.
pub async fn count(app: &RelationEvents, order: &CountFollowers) -> Result<Counting, StoreError> {
    let author = order.author;
    // mutation: count-begins
    app.feeds.valkey.begin_count(Counted::Followers(author)).await?;
    let counting = app.feeds.graph.count_followers(&app.users, author).await?;
    // also if nothing changed now: an earlier count may have died after it wrote the number
    // mutation: count-card
    app.feeds.valkey.cards_changed(&[CardId::User(author)]).await?;
    tracing::info!(%author, ?counting, "counted followers");
    Ok(counting)
}

/// Applies the present relation to the follower's home feed. The event only says which relation to read.
///
/// Valkey names its memory before the relation is read. If Valkey loses its data after that, it may have forgotten a
/// later change; it then answers [`RelationApplied::Again`], and the relation is read again. A follow is recorded
/// before the author's posts are read: later pushes enter the feed, and earlier posts are among those that are read.
pub async fn apply(
    app: &RelationEvents,
    event: &RelationChanged,
    now: Time,
) -> Result<RelationApplied, StoreError> {
    let (follower, author, valkey) = (event.follower, event.author, &app.feeds.valkey);
    for _ in 0..LOOKS_MAX {
        let memory = valkey.memory(follower).await?;
        let change = present_change(app, event, now).await?;
        // mutation: follow-before-backfill
        let mut related = valkey.relate(follower, author, change, None, &memory).await?;
        if related == RelationApplied::Recorded {
            let backfill = backfill(app, author, now).await?;
            related = valkey.relate(follower, author, change, Some(backfill), &memory).await?;
        }
        if related != RelationApplied::Again {
            let relation = change.relation.name();
            tracing::info!(%follower, %author, relation, outcome = ?related, "related");
            return Ok(related);
        }
    }
    Err(StoreError::Unsettled { what: "the memory of Valkey" })
}

/// Reads the posts of an author for a new follower's feed.
async fn backfill(app: &RelationEvents, author: UserId, now: Time) -> Result<Backfill, StoreError> {
    // read before the posts: fan-out sends a pointer before it leaves out a later post
    let pulled = app.feeds.pulled.all().await?.contains_key(&author);
    let (reading, keep) = (ReadContext::new(now), app.feeds.valkey.keep());
    let slice = app.feeds.author_slice(author, PostId::MAX, keep, &reading).await?;
    Ok(Backfill { slice, pulled })
}

/// Reads the last change of the relation. The event goes out before the commit, so a change that is older than the
/// event is read again, and again when the event returns. After [`COMMIT_GRACE`], the commit has failed.
async fn present_change(
    app: &RelationEvents,
    event: &RelationChanged,
    now: Time,
) -> Result<Change, StoreError> {
    let mut looked = 0;
    loop {
        let change = app.feeds.graph.relation(event.follower, event.author).await?;
        let committed = change.is_some_and(|change| change.at >= event.changed_at);
        // mutation: relation-committed
        if committed || now > event.changed_at + COMMIT_GRACE {
            // no row: the tombstone of an unfollow has expired, or there never was a relation
            let none = Change { relation: Relation::NotFollowing, at: event.changed_at };
            return Ok(change.unwrap_or(none));
        }
        look_again("the relation", &mut looked).await?;
    }
}
