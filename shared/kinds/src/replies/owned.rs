//! The replies of a user who is erased or exported.

use fanfold_core::PostId;
use fanfold_engines::card::Card as _;
use fanfold_engines::valkey::CardId;
use fanfold_runtime::StoreError;
use futures::future::BoxFuture;

use crate::owned::{Auditing, Owned, nothing};
use crate::posts::items::{CountPut, PostState};

/// Replies. Those of a user who is erased leave their threads with the messages about the deleted posts; what no message has
/// done is done before the tombstones go.
pub(crate) struct Replies;

impl Owned for Replies {
    nothing!(empty is_left forget erase export cards);

    /// Counts the replies to a post again. The last count may have been lost with Valkey's note that it was requested.
    fn audit<'a>(&'a self, auditing: Auditing<'a>) -> BoxFuture<'a, Result<(), StoreError>> {
        let Auditing { app, ids, audited, .. } = auditing;
        Box::pin(async move {
            let post: Option<PostId> = ids.iter().find_map(|id| PostState::of(*id));
            let Some(post) = post else { return Ok(()) };
            let counted = app.replies.counted(post).await?;
            if app.posts.put_replies(post, counted).await? == CountPut::Written {
                app.valkey.cards_changed(&[CardId::post(post)]).await?;
                audited.replies_counted += 1;
            }
            Ok(())
        })
    }
}
