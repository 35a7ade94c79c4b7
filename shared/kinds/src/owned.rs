//! What each kind of data does where something works over all kinds: erasing a user, the export of a user, and the audit.
//!
//! A kind in the table of [`fanfold_core::kinds`] does not compile until it is here, and no method has a default: a kind that
//! has nothing to do says so with `nothing!`.

use std::str::FromStr;
use std::time::Duration;

use fanfold_core::content::Data;
use fanfold_core::{Bucket, Time, UserId};
use fanfold_engines::card::Wanted;
use fanfold_engines::valkey::CardId;
use fanfold_runtime::StoreError;
use futures::future::BoxFuture;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use self::erasing::{Erasing, Progress};
use crate::App;

pub mod erasing;

/// Times that the audit compares a feed that differs. Pushes that are under way arrive in between.
pub(crate) const AUDIT_LOOKS_MAX: u32 = 4;
/// The time between two comparisons of a feed.
pub(crate) const AUDIT_LOOK_EVERY: Duration = Duration::from_millis(500);

/// Rows that a page reads of a kind.
pub(crate) const EXPORT_PAGE: usize = 100;

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

    /// Reads what is stored about a user, in lines.
    fn export<'a>(&'a self, exporting: Exporting<'a>) -> ExportRead<'a>;

    /// Adds those of these cards that are of this kind and can be compared with DynamoDB.
    fn cards(&self, wanted: Wanted<App>, ids: &[CardId]) -> Wanted<App>;

    /// Compares what else Valkey or a counter of this kind has in a bucket with DynamoDB.
    fn audit<'a>(&'a self, auditing: Auditing<'a>) -> BoxFuture<'a, Result<(), StoreError>>;
}

/// What an export asks a kind for.
pub struct Exporting<'a> {
    pub app: &'a App,
    pub user: UserId,
    /// The place that an earlier call returned. `None`: from the beginning.
    pub after: Option<String>,
    pub now: Time,
}

/// What an export reads of a kind.
pub type ExportRead<'a> = BoxFuture<'a, Result<Lines, StoreError>>;

/// What the audit asks a kind for.
pub struct Auditing<'a> {
    pub app: &'a App,
    pub bucket: Bucket,
    /// Some cards of the bucket.
    pub ids: &'a [CardId],
    pub now: Time,
    pub audited: &'a mut Audited,
}

/// A line of an export: a JSON object.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub struct Line(Box<RawValue>);

impl Line {
    /// A line with data of an app, as it was sent.
    pub(crate) fn with_data(line: &Value, data: Option<&Data>) -> Self {
        let (line, data) = (line.to_string(), data.map_or("null", Data::as_str));
        let line = line.strip_suffix('}').map(|line| format!("{line},\"data\":{data}}}"));
        Self(line.and_then(|line| RawValue::from_string(line).ok()).unwrap_or_default())
    }

    /// The JSON text.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }
}

impl From<Value> for Line {
    fn from(line: Value) -> Self {
        Self(to_raw_value(&line).unwrap_or_default())
    }
}

impl PartialEq for Line {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

/// Some lines of a kind.
#[derive(Debug, Default, PartialEq)]
pub struct Lines {
    pub lines: Vec<Line>,
    /// The place after which the next lines begin. `None`: the kind has no more.
    pub next_after: Option<String>,
}

/// A place in a kind, from its text. After a text that is no place, the export of the kind begins again.
pub(crate) fn place<T: FromStr>(after: Option<String>) -> Option<T> {
    after?.parse().ok()
}

/// The result of one run of the audit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Audited {
    /// Live feeds that were compared.
    pub checked: u64,
    /// Feeds that differed from a pull. Each was dropped and rebuilt.
    pub differed: u64,
    /// Feeds that differed and equal a pull after the rebuild.
    pub repaired: u64,
    /// Authors whose number of followers was wrong in the profile, and was corrected.
    pub counted: u64,
    /// Posts whose number of likes was wrong or not counted yet, and was corrected.
    pub likes_counted: u64,
    /// Posts whose number of replies was wrong or not counted yet, and was corrected.
    pub replies_counted: u64,
    /// Posts that were not under exactly the tags of their texts, and were corrected.
    pub tags_corrected: u64,
    /// Authors whose heads were compared.
    pub heads: u64,
    /// Authors whose heads differed from the posts. The heads were removed.
    pub heads_differed: u64,
    /// Cards that were compared.
    pub cards: u64,
    /// Cards that differed from DynamoDB. Each was marked as stale.
    pub cards_differed: u64,
    /// Copies of boards that were compared.
    pub boards: u64,
    /// Copies of boards that differed from DynamoDB. Each was dropped, and is made again when it is needed.
    pub boards_differed: u64,
}

/// Methods of [`Owned`] that have nothing to do for a kind.
macro_rules! nothing {
    ($($method:ident)*) => { $($crate::owned::nothing!(@$method);)* };
    (@step $method:ident) => {
        fn $method<'a>(&'a self, _: &'a mut $crate::owned::erasing::Erasing<'_>) -> $crate::owned::Step<'a> {
            Box::pin(async { Ok($crate::owned::erasing::Progress::Done) })
        }
    };
    (@empty) => { $crate::owned::nothing!(@step empty); };
    (@forget) => { $crate::owned::nothing!(@step forget); };
    (@erase) => { $crate::owned::nothing!(@step erase); };
    (@is_left) => {
        fn is_left<'a>(
            &'a self,
            _: &'a $crate::owned::erasing::Erasing<'_>,
        ) -> futures::future::BoxFuture<'a, Result<bool, fanfold_runtime::StoreError>> {
            Box::pin(async { Ok(false) })
        }
    };
    (@export) => {
        fn export<'a>(&'a self, _: $crate::owned::Exporting<'a>) -> $crate::owned::ExportRead<'a> {
            Box::pin(async { Ok($crate::owned::Lines::default()) })
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
            _: $crate::owned::Auditing<'a>,
        ) -> futures::future::BoxFuture<'a, Result<(), fanfold_runtime::StoreError>> {
            Box::pin(async { Ok(()) })
        }
    };
}
pub(crate) use nothing;
