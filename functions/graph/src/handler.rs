//! Decides what a changed relation means for the follower's feed.

use std::error::Error;

use fanfold_core::limits::COMMIT_GRACE_MS;
use fanfold_core::message::RelationChanged;
use fanfold_core::{Change, PostId, Relation, Slice};
use fanfold_store::aws::SdkConfig;
use fanfold_store::dynamo::{GraphStore, PostStore, look_again};
use fanfold_store::feeds::Feeds;
use fanfold_store::valkey::{Feed, Related, Valkey};
use fanfold_store::{Config, StoreError};

#[derive(Clone)]
pub struct App {
    pub feeds: Feeds,
}

impl App {
    pub fn new(sdk: &SdkConfig, config: &Config) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let valkey = Valkey::new(&config.feeds()?)?;
        let (posts, graph) = (PostStore::new(sdk, config)?, GraphStore::new(sdk, config)?);
        Ok(Self { feeds: Feeds::new(valkey, posts, graph) })
    }
}

/// Applies the relation as it is now, whatever the event says it became.
pub async fn bring_in_line(
    app: &App,
    event: &RelationChanged,
    now_ms: u64,
) -> Result<Related, StoreError> {
    let (follower, author) = (event.follower, event.author);
    let change = change_of_now(app, event, now_ms).await?;
    let backfill = match change.relation {
        Relation::NotFollowing => Slice::EMPTY,
        Relation::Following => backfill(app, event, now_ms).await?,
    };
    let related = app.feeds.valkey.relate(follower, author, change, &backfill).await?;
    tracing::info!(%follower, %author, ?change, ?related, "relation applied");
    Ok(related)
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

/// The author's newest posts. A feed that is not live needs none: whoever rebuilds it from now
/// on reads the relation, which is committed.
async fn backfill(app: &App, event: &RelationChanged, now_ms: u64) -> Result<Slice, StoreError> {
    if app.feeds.valkey.last_read_ms(Feed::home(event.follower)).await?.is_none() {
        return Ok(Slice::EMPTY);
    }
    let keep = app.feeds.valkey.keep();
    app.feeds.author_slice(event.author, PostId::MAX, keep, now_ms, true).await
}
