//! What each kind of data does where something works over all kinds: erasing a user, the export of a user, and the audit.
//!
//! A kind in the table of [`fanfold_core::kinds`] does not compile until it is here, and no method has a default: a kind that
//! has nothing to do says so with `nothing!`.

use fanfold_core::kinds::Kind;
use fanfold_core::{Bucket, Time, UserId};
use fanfold_engines::card::Wanted;
use fanfold_engines::valkey::CardId;
use fanfold_runtime::StoreError;
use futures::future::BoxFuture;

use crate::App;
use crate::audit::Audited;
use crate::erase::{Erasing, Progress};
use crate::export::Lines;

/// What a method returns that removes data of a user.
pub type Step<'a> = BoxFuture<'a, Result<Progress, StoreError>>;

/// A kind of data.
pub trait Owned: Sync {
    /// Removes what others see of a user, while other functions may still use earlier state.
    fn empty<'a>(&'a self, erasing: &'a mut Erasing<'_>) -> Step<'a>;

    /// Whether others have added data since [`Owned::empty`]. Then it is called again.
    fn is_left<'a>(&'a self, erasing: &'a Erasing<'_>) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Removes what Valkey keeps for a user, also for one who never had a profile.
    fn forget<'a>(&'a self, erasing: &'a mut Erasing<'_>) -> Step<'a>;

    /// Removes the rest, after all functions that had read earlier state have ended.
    fn erase<'a>(&'a self, erasing: &'a mut Erasing<'_>) -> Step<'a>;

    /// Reads what is stored about a user, in lines, after a place that an earlier call returned.
    fn export<'a>(
        &'a self,
        app: &'a App,
        user: UserId,
        after: Option<String>,
        now: Time,
    ) -> BoxFuture<'a, Result<Lines, StoreError>>;

    /// Adds those of these cards that are of this kind and can be compared with DynamoDB.
    fn cards(&self, wanted: Wanted<App>, ids: &[CardId]) -> Wanted<App>;

    /// Compares what else Valkey or a counter of this kind has in a bucket with DynamoDB. `ids` are some cards of the bucket.
    fn audit<'a>(
        &'a self,
        app: &'a App,
        bucket: Bucket,
        ids: &'a [CardId],
        now: Time,
        audited: &'a mut Audited,
    ) -> BoxFuture<'a, Result<(), StoreError>>;
}

/// What a kind does.
pub fn owned(kind: Kind) -> &'static dyn Owned {
    match kind {
        Kind::People => &crate::people::owned::People,
        Kind::Posts => &crate::posts::owned::Posts,
        Kind::Likes => &crate::likes::owned::Likes,
        Kind::Boards => &crate::boards::owned::Boards,
        Kind::Rankings => &crate::rankings::owned::Rankings,
        Kind::Scheduled => &crate::scheduled::owned::Scheduled,
        Kind::Timers => &crate::timers::owned::Timers,
        Kind::Follows => &crate::follows::owned::Follows,
        Kind::Feeds => &crate::feeds::owned::Feeds,
        Kind::Engines => &crate::limit::Engines,
    }
}

/// Methods of [`Owned`] that have nothing to do for a kind.
macro_rules! nothing {
    ($($method:ident)*) => { $($crate::owned::nothing!(@$method);)* };
    (@empty) => {
        fn empty<'a>(&'a self, _: &'a mut $crate::erase::Erasing<'_>) -> $crate::owned::Step<'a> {
            Box::pin(async { Ok($crate::erase::Progress::Done) })
        }
    };
    (@is_left) => {
        fn is_left<'a>(
            &'a self,
            _: &'a $crate::erase::Erasing<'_>,
        ) -> futures::future::BoxFuture<'a, Result<bool, fanfold_runtime::StoreError>> {
            Box::pin(async { Ok(false) })
        }
    };
    (@forget) => {
        fn forget<'a>(&'a self, _: &'a mut $crate::erase::Erasing<'_>) -> $crate::owned::Step<'a> {
            Box::pin(async { Ok($crate::erase::Progress::Done) })
        }
    };
    (@erase) => {
        fn erase<'a>(&'a self, _: &'a mut $crate::erase::Erasing<'_>) -> $crate::owned::Step<'a> {
            Box::pin(async { Ok($crate::erase::Progress::Done) })
        }
    };
    (@export) => {
        fn export<'a>(
            &'a self,
            _: &'a $crate::App,
            _: fanfold_core::UserId,
            _: Option<String>,
            _: fanfold_core::Time,
        ) -> futures::future::BoxFuture<'a, Result<$crate::export::Lines, fanfold_runtime::StoreError>> {
            Box::pin(async { Ok($crate::export::Lines::default()) })
        }
    };
    (@cards) => {
        fn cards(
            &self,
            wanted: fanfold_engines::card::Wanted<$crate::App>,
            _: &[fanfold_engines::valkey::CardId],
        ) -> fanfold_engines::card::Wanted<$crate::App> {
            wanted
        }
    };
    (@audit) => {
        fn audit<'a>(
            &'a self,
            _: &'a $crate::App,
            _: fanfold_core::Bucket,
            _: &'a [fanfold_engines::valkey::CardId],
            _: fanfold_core::Time,
            _: &'a mut $crate::audit::Audited,
        ) -> futures::future::BoxFuture<'a, Result<(), fanfold_runtime::StoreError>> {
            Box::pin(async { Ok(()) })
        }
    };
}
pub(crate) use nothing;
