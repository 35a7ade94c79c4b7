//! Changing a mark: its rows, with what other kinds write in the same transaction.

use fanfold_core::Time;
use fanfold_core::id::Identity;
use fanfold_engines::mark::{Mark, TokenMark};
use fanfold_engines::outbox::announced;
use fanfold_engines::table::transact::{CommitResult, Transaction};
use fanfold_runtime::StoreError;
use fanfold_runtime::sqs::Announced;

use super::kind::MarkKind;
use super::messages::MarkChanged;
use super::writes::{MarkWrite, ROWS};
use crate::App;

/// The result of changing a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkPut {
    /// The mark was changed.
    Done,
    /// The user has no profile, or it belongs to another identity.
    NoProfile,
    /// The mark changed since it was read.
    Raced,
}

impl MarkKind {
    /// Adds a mark, all or nothing. The post is not checked, because all who mark it would meet on its item.
    pub async fn add(
        self,
        app: &App,
        sent: Announced<MarkChanged>,
        identity: &Identity,
        made: TokenMark,
    ) -> Result<MarkPut, StoreError> {
        let mut transaction = Transaction::new("marking a post");
        self.of(app).put(&mut transaction, ROWS, &made)?;
        if self.spec().is_public {
            app.likes.put_liker(&mut transaction, made.mark)?;
        }
        // mutation: mark-of-profile
        transaction.add(MarkWrite::Profile, app.users.belongs_to(identity));
        self.commit(app, sent, &transaction, made.mark).await
    }

    /// Removes a mark, all or nothing. Without an identity, the user may be without a profile.
    pub async fn remove(
        self,
        app: &App,
        sent: Announced<MarkChanged>,
        identity: Option<&Identity>,
        mark: Mark,
    ) -> Result<MarkPut, StoreError> {
        let mut transaction = Transaction::new("removing a mark");
        self.of(app).remove(&mut transaction, ROWS, mark);
        if self.spec().is_public {
            app.likes.remove_liker(&mut transaction, mark);
        }
        if let Some(identity) = identity {
            transaction.add(MarkWrite::Profile, app.users.belongs_to(identity));
        }
        self.commit(app, sent, &transaction, mark).await
    }

    async fn commit(
        self,
        app: &App,
        _sent: Announced<MarkChanged>,
        transaction: &Transaction<MarkWrite>,
        mark: Mark,
    ) -> Result<MarkPut, StoreError> {
        match transaction.commit().await? {
            CommitResult::Done => Ok(MarkPut::Done),
            outcome if outcome.refused(MarkWrite::Profile) => Ok(MarkPut::NoProfile),
            outcome => {
                // fails if the row has a newer version
                if outcome.refused(MarkWrite::Count) {
                    app.likes.check_count(mark).await?;
                }
                Ok(MarkPut::Raced)
            }
        }
    }
}

/// Removes a mark of a user who is erased, or of a post that is gone. Returns whether this call removed it.
pub async fn remove_announced(
    app: &App,
    kind: MarkKind,
    mark: Mark,
    now: Time,
) -> Result<bool, StoreError> {
    let Mark { user, post, .. } = mark;
    let event = MarkChanged { kind, user, post, token: None, changed_at: now };
    // mutation: dropped-mark-event
    let put = announced(&app.outbox, &event, |sent| kind.remove(app, sent, None, mark)).await?;
    if put == MarkPut::Done {
        return Ok(true);
    }
    // fails if the mark has a newer version
    kind.of(app).mark(user, post).await?;
    Ok(false)
}
