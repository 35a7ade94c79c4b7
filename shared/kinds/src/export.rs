//! The export of a user: everything that is stored about the user, as lines of JSON, each with a `type`.
//!
//! A page has the lines of one or several kinds. The place of a page names its kind and a place in it.

use std::fmt;
use std::future::ready;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use fanfold_core::kinds::{Kind, LimitKind};
use fanfold_core::limits::PULL_QUERIES_MIN;
use fanfold_core::{Time, UserId};
use fanfold_runtime::StoreError;
use serde::{Serialize, Serializer};

use crate::all::owned;
use crate::limit::all_within_limit;
use crate::owned::{EXPORT_PAGE, Exporting, Line};
use crate::{App, Error};

/// The number of times that a page asks kinds for lines, some of them several times. A kind answers with one query, or a few.
const EXPORT_READS: u64 = 24;
/// The greatest length of a place as a text.
pub const EXPORT_PLACE_CHARS_MAX: usize = 1_024;

/// A page of the export of a user. It may have no lines and not be the last one.
#[derive(Debug, Default, PartialEq, Serialize)]
pub struct Exported {
    pub lines: Vec<Line>,
    /// Where the next page begins. `None`: this is the last one.
    pub next: Option<ExportPlace>,
}

/// The place where a page of an export begins. As a text, it is the name of the kind, a space, and the place in the kind,
/// in URL-safe Base64.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportPlace {
    kind: Kind,
    after: Option<String>,
}

impl ExportPlace {
    /// The beginning of an export.
    pub const FIRST: Self = Self { kind: Kind::People, after: None };
}

impl fmt::Display for ExportPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, after } = self;
        let text = format!("{} {}", kind.name(), after.as_deref().unwrap_or_default());
        f.write_str(&URL_SAFE_NO_PAD.encode(text))
    }
}

impl Serialize for ExportPlace {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A text that names no place in an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a place in an export is what the page before it returned, unchanged")]
pub struct ExportPlaceError;

impl FromStr for ExportPlace {
    type Err = ExportPlaceError;

    fn from_str(text: &str) -> Result<Self, ExportPlaceError> {
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| ExportPlaceError)?;
        let text = String::from_utf8(bytes).map_err(|_| ExportPlaceError)?;
        let (kind, after) = text.split_once(' ').ok_or(ExportPlaceError)?;
        let kind = Kind::named(kind).ok_or(ExportPlaceError)?;
        Ok(Self { kind, after: Some(after.to_owned()).filter(|after| !after.is_empty()) })
    }
}

/// Reads a page of the export of a user.
pub async fn export(
    app: &App,
    user: UserId,
    from: ExportPlace,
    now: Time,
) -> Result<Exported, StoreError> {
    let (mut exported, mut next) = (Exported::default(), Some(from));
    for _ in 0..EXPORT_READS {
        let Some(ExportPlace { kind, after }) = next else { break };
        let read = owned(kind).export(Exporting { app, user, after, now }).await?;
        exported.lines.extend(read.lines);
        next = match read.next_after {
            Some(after) => Some(ExportPlace { kind, after: Some(after) }),
            None => following(kind).map(|kind| ExportPlace { kind, after: None }),
        };
        if exported.lines.len() >= EXPORT_PAGE {
            break;
        }
    }
    // mutation: export-next
    exported.next = next;
    Ok(exported)
}

/// Reads a page of the export of the caller. Fails with [`Error::TooManyRequests`] if the caller has read too many.
pub async fn of_caller(
    app: &App,
    caller: UserId,
    from: ExportPlace,
    now: Time,
) -> Result<Exported, Error> {
    let (limit, checked) = (app.limits.of(LimitKind::Pull), ready(Ok::<_, Error>(())));
    // before the page is read, so that a refusal costs nothing
    all_within_limit(&app.valkey, limit, caller, PULL_QUERIES_MIN, now, checked).await?;
    Ok(export(app, caller, from, now).await?)
}

fn following(kind: Kind) -> Option<Kind> {
    let mut later = Kind::ALL.iter().skip_while(|other| **other != kind);
    later.nth(1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_export_begins_with_the_first_kind() {
        assert_eq!(Kind::ALL.first(), Some(&ExportPlace::FIRST.kind));
    }

    #[test]
    fn a_place_is_read_as_it_was_written() {
        for kind in Kind::ALL {
            for after in [None, Some("a b \u{e9} ".to_owned())] {
                let place = ExportPlace { kind: *kind, after };
                assert_eq!(place.to_string().parse(), Ok(place));
            }
        }
        for wrong in ["", " ", "likes", "bGlrZXM", "bm9uZSBh", "bGlrZXMg=", "_w"] {
            assert_eq!(wrong.parse::<ExportPlace>(), Err(ExportPlaceError), "{wrong}");
        }
    }
}
