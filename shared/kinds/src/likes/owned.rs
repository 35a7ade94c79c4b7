//! The likes of a user who is erased or exported.

use fanfold_core::limits::{CONCURRENCY, DROP_PAGE};
use fanfold_core::{Bucket, PostId, Time, UserId};
use fanfold_engines::card::{Card as _, Wanted};
use fanfold_engines::outbox::announced;
use fanfold_engines::table::{time_and_id, timed};
use fanfold_engines::valkey::CardId;
use fanfold_runtime::StoreError;
use futures::future::BoxFuture;
use serde_json::json;

use super::cards::NewestLiked;
use super::items::Like;
use super::messages::LikeChanged;
use crate::App;
use crate::owned::Audited;
use crate::owned::erasing::{Erasing, Progress, ended};
use crate::owned::{EXPORT_PAGE, Lines};
use crate::owned::{Owned, Step, nothing};
use crate::posts::items::{LikesPut, PostState};

/// Likes.
pub(crate) struct Likes;

impl Owned for Likes {
    nothing!(is_left erase);

    /// Removes the likes that the user gave.
    fn empty<'a>(&'a self, erasing: &'a mut Erasing<'_>) -> Step<'a> {
        Box::pin(async move {
            loop {
                let likes = erasing.app.likes.of_user(erasing.user, DROP_PAGE as usize).await?;
                let some = !likes.is_empty();
                let ends = likes.into_iter().map(|like| remove(erasing, like));
                let removed = ended(ends.collect(), CONCURRENCY).await?;
                erasing.removed("likes", removed);
                if !some {
                    return Ok(Progress::Done);
                }
                if erasing.time_is_up() {
                    return Ok(Progress::NoTime);
                }
            }
        })
    }

    fn forget<'a>(&'a self, erasing: &'a mut Erasing<'_>) -> Step<'a> {
        Box::pin(async move {
            // mutation: dropped-likes-card
            erasing.forget_card_later(CardId::likes(erasing.user));
            Ok(Progress::Done)
        })
    }

    fn export<'a>(
        &'a self,
        app: &'a App,
        user: UserId,
        after: Option<String>,
        _: Time,
    ) -> BoxFuture<'a, Result<Lines, StoreError>> {
        Box::pin(async move {
            let after = after.and_then(|after| time_and_id(&after));
            let liked = app.likes.liked(user, after, EXPORT_PAGE).await?;
            let last = liked.last().filter(|_| liked.len() == EXPORT_PAGE);
            let next_after = last.map(|(at, post)| timed(*at, *post));
            let line = |(at, post): &(Time, PostId)| json!({"type": "like", "post": post, "liked_at": at.rfc3339()});
            Ok(Lines { lines: liked.iter().map(line).collect(), next_after })
        })
    }

    fn cards(&self, wanted: Wanted<App>, ids: &[CardId]) -> Wanted<App> {
        wanted.among::<NewestLiked>(ids)
    }

    /// Counts the likes of a post again. The last count may have been lost with Valkey's note that it was requested.
    fn audit<'a>(
        &'a self,
        app: &'a App,
        _: Bucket,
        ids: &'a [CardId],
        now: Time,
        audited: &'a mut Audited,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let Some(post) = ids.iter().find_map(|id| PostState::of(*id)) else { return Ok(()) };
            let counted = app.likes.counted(post).await?;
            // mutation: audit-likes
            if app.posts.put_likes(&app.boards, post, counted, now).await? == LikesPut::Written {
                app.valkey.cards_changed(&[CardId::post(post)]).await?;
                audited.likes_counted += 1;
            }
            Ok(())
        })
    }
}

/// Removes one like. Returns whether this call removed it.
async fn remove(erasing: &Erasing<'_>, like: Like) -> Result<bool, StoreError> {
    let event =
        LikeChanged { user: like.user, post: like.post, token: None, changed_at: erasing.time() };
    // mutation: dropped-like-event
    let commit = |sent| erasing.app.likes.remove_of_dropped(sent, like);
    announced(&erasing.app.outbox, &event, commit).await
}
