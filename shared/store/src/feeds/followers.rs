use std::collections::HashSet;

use fanfold_core::limits::{LOOKS_MAX, REL_KEPT_MS};
use fanfold_core::{PostId, UserId};

use crate::dynamo::GraphStore;
use crate::error::StoreError;
use crate::valkey::{Chosen, Feed, Forgotten, Pushed, Valkey};

/// Pushes a post to the home feeds of followers who were read at `read_at_ms`.
///
/// Valkey knows who has unfollowed since, but not for ever, and not if it has lost its data
/// since: then those followers are read anew. Each time Valkey first names its memory, and takes
/// the push only if it still has that memory.
pub async fn push_to_followers(
    valkey: &Valkey,
    graph: &GraphStore,
    post: PostId,
    followers: &[UserId],
    read_at_ms: u64,
    now_ms: u64,
) -> Result<Pushed, StoreError> {
    // half of the time is left for this handler and for clocks that differ
    let late = now_ms > read_at_ms + REL_KEPT_MS / 2;
    let chosen = Chosen::AtMs(if late { 0 } else { read_at_ms });
    let feeds: Vec<Feed> = followers.iter().copied().map(Feed::home).collect();
    let mut pushed = valkey.push(post, &feeds, &chosen).await?;
    for _ in 0..LOOKS_MAX {
        let forgotten = std::mem::take(&mut pushed.forgotten);
        if forgotten.is_empty() {
            return Ok(pushed);
        }
        let users = forgotten.iter().flat_map(|f| f.feeds.iter().map(|feed| feed.user)).collect();
        let still: Vec<UserId> = graph.still_following(post.author(), users).await?;
        let still: HashSet<UserId> = still.into_iter().collect();
        for Forgotten { memory, mut feeds } in forgotten {
            feeds.retain(|feed| still.contains(&feed.user));
            let again = valkey.push(post, &feeds, &Chosen::Since(memory)).await?;
            pushed.delivered += again.delivered;
            pushed.not_live += again.not_live;
            pushed.unfollowed += again.unfollowed;
            pushed.forgotten.extend(again.forgotten);
        }
    }
    match pushed.forgotten.is_empty() {
        true => Ok(pushed),
        false => Err(StoreError::Unsettled { what: "who follows the author" }),
    }
}
