//! What Valkey and the list of pulled authors have of a user who is erased.

use crate::owned::erasing::{Erasing, Progress};
use crate::owned::{Owned, Step, nothing};

/// Feeds.
pub(crate) struct Feeds;

impl Owned for Feeds {
    nothing!(empty is_left erase export cards audit);

    /// Removes the feeds, and the mark of a pulled author.
    fn forget<'a>(&'a self, erasing: &'a mut Erasing<'_>) -> Step<'a> {
        Box::pin(async move {
            let (app, user) = (erasing.app, erasing.user);
            if app.pulled.all().await?.contains_key(&user) {
                app.pulled.release(user).await?;
            }
            let feeds = app.valkey.drop_feeds(user).await?;
            erasing.removed("feeds", feeds);
            app.valkey.forget_older(user).await?;
            Ok(Progress::Done)
        })
    }
}
