//! Handles the events of the graph: applies a changed relation to the follower's home feed, and counts the author's
//! followers. `likes/events.rs` handles those of likes, and `boards/events.rs` those of boards.

use fanfold_core::kinds::KeyKind;
use fanfold_core::limits::{COMMIT_GRACE, LOOKS_MAX};
use fanfold_core::{PostId, Relation, RelationChange, Time, UserId};
use fanfold_engines::reading::ReadContext;
use fanfold_engines::valkey::{Backfill, CardId, Counted, RelationApplied};
use fanfold_runtime::StoreError;
use fanfold_runtime::retry::look_again;

use super::items::Counting;
use crate::App;
use crate::feeds::kept;
use crate::follows::messages::{CountFollowers, RelationChanged};

/// Handles a changed relation: applies it to the follower's home feed, and marks the cards that show it.
pub async fn relation_changed(
    app: &App,
    event: &RelationChanged,
    now: Time,
) -> Result<(), StoreError> {
    // mutation: late-relation
    kept::note_late(app, event.follower, event.changed_at, now).await?;
    apply(app, event, now).await?;
    // the relation, and the number of authors that the follower follows; the writer may have died before it did this
    let (follower, author) = (event.follower, event.author);
    // mutation: relation-card
    app.valkey.cards_changed(&[CardId::user(follower), CardId::relation(follower, author)]).await?;
    request_count(app, author).await
}

/// Makes sure that the author's followers are counted after now.
async fn request_count(app: &App, author: UserId) -> Result<(), StoreError> {
    let send = async |delay| app.outbox.send_after(&CountFollowers { author }, delay).await;
    app.counts.request(&app.valkey, &counted(author), send).await
}

/// What the count of an author's followers is called.
pub fn counted(author: UserId) -> Counted {
    Counted::new(KeyKind::CountLock, author, author)
}

/// Counts an author's followers and writes the number into the profile. A change from now on requests another count.
pub async fn count(app: &App, order: &CountFollowers) -> Result<Counting, StoreError> {
    let author = order.author;
    app.valkey.begin_count(&counted(author)).await?;
    let counting = app.graph.count_followers(&app.users, author).await?;
    // also if nothing changed now: an earlier count may have died after it wrote the number
    app.valkey.cards_changed(&[CardId::user(author)]).await?;
    tracing::info!(%author, ?counting, "counted followers");
    Ok(counting)
}

/// Applies the present relation to the follower's home feed. The event only says which relation to read.
///
/// Valkey names its memory before the relation is read. If Valkey loses its data after that, it may have forgotten a
/// later change; it then answers [`RelationApplied::Again`], and the relation is read again. A follow is recorded
/// before the author's posts are read: later pushes enter the feed, and earlier posts are among those that are read.
pub async fn apply(
    app: &App,
    event: &RelationChanged,
    now: Time,
) -> Result<RelationApplied, StoreError> {
    let (follower, author, valkey) = (event.follower, event.author, &app.valkey);
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
async fn backfill(app: &App, author: UserId, now: Time) -> Result<Backfill, StoreError> {
    // read before the posts: fan-out sends a pointer before it leaves out a later post
    let pulled = app.pulled.all().await?.contains_key(&author);
    let (reading, keep) = (ReadContext::new(now), app.valkey.keep());
    let slice = app.feeds().author_slice(author, PostId::MAX, keep, &reading).await?;
    Ok(Backfill { slice, pulled })
}

/// Reads the last change of the relation. The event goes out before the commit, so a change that is older than the
/// event is read again, and again when the event returns. After [`COMMIT_GRACE`], the commit has failed.
async fn present_change(
    app: &App,
    event: &RelationChanged,
    now: Time,
) -> Result<RelationChange, StoreError> {
    let mut looked = 0;
    loop {
        let change = app.graph.relation(event.follower, event.author).await?;
        let committed = change.is_some_and(|change| change.at >= event.changed_at);
        // mutation: relation-committed
        if committed || now > event.changed_at + COMMIT_GRACE {
            // no row: the tombstone of an unfollow has expired, or there never was a relation
            let none = RelationChange { relation: Relation::NotFollowing, at: event.changed_at };
            return Ok(change.unwrap_or(none));
        }
        look_again("the relation", &mut looked).await?;
    }
}
