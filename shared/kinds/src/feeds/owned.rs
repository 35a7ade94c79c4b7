//! What Valkey and the list of pulled authors have of a user who is erased, and the audit of heads.

use fanfold_core::UserId;
use fanfold_engines::card::Card as _;
use fanfold_runtime::{StoreError, clock, metrics};
use futures::future::BoxFuture;

use super::heads;
use crate::owned::erasing::{Erasing, Progress};
use crate::owned::{Auditing, Owned, Step, nothing};
use crate::people::cards::UserCard;

/// Feeds.
pub(crate) struct Feeds;

impl Owned for Feeds {
    nothing!(empty is_left erase export cards);

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
            app.kept.forget(user).await?;
            Ok(Progress::Done)
        })
    }

    /// Compares the heads of one author with the posts.
    fn audit<'a>(&'a self, auditing: Auditing<'a>) -> BoxFuture<'a, Result<(), StoreError>> {
        let Auditing { app, ids, now, audited, .. } = auditing;
        Box::pin(async move {
            let authors = ids.iter().filter_map(|id| <Option<UserCard>>::of(*id));
            let authors: Vec<UserId> = authors.collect();
            let chosen = (clock::random() as usize).checked_rem(authors.len());
            let Some(author) = chosen.and_then(|chosen| authors.get(chosen)) else {
                return Ok(());
            };
            let (differed, removed) = heads::audit(app, *author, now).await?;
            audited.heads += 1;
            audited.heads_differed += u64::from(differed);
            metrics::audited(1, differed.into(), removed.into());
            Ok(())
        })
    }
}
