//! Decides what a changed relation means for the follower's feed.

use std::error::Error;

use fanfold_core::limits::{COMMIT_GRACE_MS, LOOKS_MAX};
use fanfold_core::message::RelationChanged;
use fanfold_core::{Change, PostId, Relation, UserId};
use fanfold_store::aws::SdkConfig;
use fanfold_store::dynamo::look_again;
use fanfold_store::feeds::{Feeds, Reading};
use fanfold_store::valkey::{Backfill, Related};
use fanfold_store::{Config, StoreError};

#[derive(Clone)]
pub struct App {
    pub feeds: Feeds,
}

impl App {
    pub fn new(sdk: &SdkConfig, config: &Config) -> Result<Self, Box<dyn Error + Send + Sync>> {
        Ok(Self { feeds: Feeds::new(sdk, config)? })
    }
}

/// Applies the relation as it is now, whatever the event says it became.
///
/// Valkey names its memory first: if it loses its data after that, it may have forgotten a later
/// change than the one that is read here, and says so. And a follow is recorded before the author's
/// posts are read: whatever is pushed later lands, whatever was pushed earlier is among them.
pub async fn bring_in_line(
    app: &App,
    event: &RelationChanged,
    now_ms: u64,
) -> Result<Related, StoreError> {
    let (follower, author, valkey) = (event.follower, event.author, &app.feeds.valkey);
    for _ in 0..LOOKS_MAX {
        let memory = valkey.memory(follower).await?;
        let change = change_of_now(app, event, now_ms).await?;
        let mut related = valkey.relate(follower, author, change, None, &memory).await?;
        if related == Related::Recorded {
            let backfill = backfill(app, author, now_ms).await?;
            related = valkey.relate(follower, author, change, Some(backfill), &memory).await?;
        }
        if related != Related::Again {
            let relation = change.relation.name();
            tracing::info!(%follower, %author, relation, outcome = ?related, "related");
            return Ok(related);
        }
    }
    Err(StoreError::Unsettled { what: "what Valkey remembers" })
}

async fn backfill(app: &App, author: UserId, now_ms: u64) -> Result<Backfill, StoreError> {
    // before the posts: one that is left out of fan-out after this is preceded by a pointer
    let pulled = app.feeds.pulled.all().await?.contains_key(&author);
    let (reading, keep) = (Reading::new(now_ms), app.feeds.valkey.keep());
    let slice = app.feeds.author_slice(author, PostId::MAX, keep, &reading).await?;
    Ok(Backfill { slice, pulled })
}

/// The event goes out before the commit: what is older than it is looked at again, until it is
/// certain that the commit never came.
async fn change_of_now(
    app: &App,
    event: &RelationChanged,
    now_ms: u64,
) -> Result<Change, StoreError> {
    let mut looked = 0;
    loop {
        let change = app.feeds.graph.relation(event.follower, event.author).await?;
        let committed = change.is_some_and(|change| change.at_ms >= event.changed_at_ms);
        if committed || now_ms > event.changed_at_ms + COMMIT_GRACE_MS {
            // no row: the tombstone of an unfollow has gone, or there never was a relation
            let none = Change { relation: Relation::NotFollowing, at_ms: event.changed_at_ms };
            return Ok(change.unwrap_or(none));
        }
        look_again("the relation", &mut looked).await?;
    }
}
