//! Marking a post, and removing the mark.

use fanfold_core::id::Identity;
use fanfold_core::kinds::LimitKind;
use fanfold_core::limits::TRIES_MAX;
use fanfold_core::{PostId, Time};
use fanfold_engines::card::changed;
use fanfold_engines::mark::{Mark, TokenMark};
use fanfold_engines::outbox::announced;
use fanfold_engines::reading::ReadContext;
use fanfold_runtime::retry::pause;
use fanfold_runtime::{StoreError, clock};

use super::items::MarkPut;
use super::kind::MarkKind;
use super::messages::MarkChanged;
use crate::limit::within_limit;
use crate::people::must_belong_to;
use crate::present::{self, Viewer};
use crate::{App, Error};

/// Marks a post for the caller, or removes the mark. A repeated call succeeds.
///
/// Fails with [`Error::NoSuchPost`] if the caller does not see the post, and with [`Error::ProfileMissing`],
/// [`Error::IdentityClash`] or [`Error::TooManyRequests`] because of the caller. A mark can be removed also if its post is gone or
/// hidden. The post is looked up by its card, because very many users may mark one post at the same time.
pub async fn put(
    app: &App,
    caller: &Identity,
    kind: MarkKind,
    post: PostId,
    marked: bool,
    now: Time,
) -> Result<(), Error> {
    let viewer = Viewer::of(caller.user());
    let (reading, marks) = (ReadContext::new(now), kind.of(app));
    let reads = async {
        futures::try_join!(
            present::sees(app, &viewer, post, &reading),
            app.users.profile(caller.user()),
            marks.mark(caller.user(), post),
        )
    };
    let limit = app.limits.of(LimitKind::Mark);
    let reads = within_limit(&app.valkey, limit, caller.user(), now, reads);
    let (sees, profile, old) = reads.await?;
    let profile = profile.ok_or(Error::ProfileMissing)?;
    must_belong_to(&profile, caller)?;
    if !sees && (marked || old.is_none()) {
        return Err(Error::NoSuchPost(post));
    }
    change(app, caller, kind, post, old, marked, now).await
}

/// Changes the caller's mark, from a mark that was read, and marks the caller's card.
async fn change(
    app: &App,
    caller: &Identity,
    kind: MarkKind,
    post: PostId,
    mut old: Option<TokenMark>,
    marked: bool,
    now: Time,
) -> Result<(), Error> {
    let user = caller.user();
    let event = |token| MarkChanged { kind, user, post, token, changed_at: now };
    for tried in 0..TRIES_MAX {
        if tried > 0 {
            old = kind.of(app).mark(user, post).await?;
        }
        let put = match &old {
            Some(TokenMark { mark, .. }) if !marked => {
                let commit = |sent| kind.remove(app, sent, Some(caller), *mark);
                announced(&app.outbox, &event(None), commit).await?
            }
            None if marked => {
                let token = format!("{:016x}", clock::random());
                let made = TokenMark { mark: Mark { user, post, at: now }, token: token.clone() };
                let commit = |sent| kind.add(app, sent, caller, made);
                announced(&app.outbox, &event(Some(token)), commit).await?
            }
            Some(_) | None => MarkPut::Done,
        };
        match put {
            MarkPut::Done => {
                // also if nothing changed now: an earlier request may have died before it did this
                changed(&app.valkey, &[kind.card(user)]).await;
                return Ok(());
            }
            MarkPut::NoProfile => return Err(Error::ProfileMissing),
            MarkPut::Raced => pause(tried).await,
        }
    }
    Err(StoreError::GaveUp { doing: "changing a mark", tries: TRIES_MAX }.into())
}
