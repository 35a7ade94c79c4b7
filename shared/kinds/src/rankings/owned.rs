//! The likes of an author who is erased, as rankings count them.

use crate::owned::erasing::{Erasing, Progress};
use crate::owned::{Owned, Step, nothing};

/// Rankings.
pub(crate) struct Rankings;

impl Owned for Rankings {
    nothing!(empty is_left forget export cards audit);

    /// Removes the sum of the likes of the user's posts. No count adds to it any more, because all posts are tombstones.
    fn erase<'a>(&'a self, erasing: &'a mut Erasing<'_>) -> Step<'a> {
        Box::pin(async move {
            erasing.app.boards.forget_received(erasing.user).await?;
            Ok(Progress::Done)
        })
    }
}
